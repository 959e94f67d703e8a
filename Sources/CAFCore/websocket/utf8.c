#include "websocket/utf8.h"

enum { TAIL_FIRST = 0x80, TAIL_LAST = 0xbf };

/**
 * Sets what must follow the first byte of a character (RFC 3629 section 4). Returns false if no character begins with
 * this byte.
 */
static bool begin_character(afc__utf8 *text, unsigned char first) {
    *text = (afc__utf8){0, TAIL_FIRST, TAIL_LAST};
    if (first >= 0xc2 && first <= 0xdf) {
        text->missing = 1;
    } else if (first >= 0xe0 && first <= 0xef) {
        text->missing = 2;
        if (first == 0xe0) text->lowest = 0xa0; /* Lower ones are overlong. */
        if (first == 0xed) text->last = 0x9f;   /* Surrogates. */
    } else if (first >= 0xf0 && first <= 0xf4) {
        text->missing = 3;
        if (first == 0xf0) text->lowest = 0x90;
        if (first == 0xf4) text->last = 0x8f; /* Up to U+10FFFF. */
    }
    return text->missing > 0;
}

/** Returns the number of ASCII bytes at the start; checks eight at a time if it can. */
static size_t count_ascii(const unsigned char *at, size_t size) {
    size_t count = 0;
    while (size - count >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at + count, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) != 0) break;
        count += sizeof word;
    }
    while (count < size && at[count] < 0x80) count++;
    return count;
}

bool afc__utf8_take(afc__utf8 *text, afc_slice bytes) {
    const unsigned char *at = (const unsigned char *)bytes.bytes;
    for (size_t i = 0; i < bytes.size; i++) {
        if (text->missing == 0) {
            i += count_ascii(at + i, bytes.size - i);
            if (i == bytes.size) return true;
            if (!begin_character(text, at[i])) return false;
        } else {
            if (at[i] < text->lowest || at[i] > text->last) return false;
            *text = (afc__utf8){(uint8_t)(text->missing - 1), TAIL_FIRST, TAIL_LAST};
        }
    }
    return true;
}

bool afc__is_utf8(afc_slice text) {
    afc__utf8 state = {0};
    return afc__utf8_take(&state, text) && afc__utf8_is_complete(&state);
}
