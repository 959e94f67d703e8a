/** ASCII text in any locale: kinds of characters, case, comparison, hexadecimal digits. Pure functions. */
#ifndef AFC_BASE_TEXT_H
#define AFC_BASE_TEXT_H

#include <afcore/base.h>

/** Returns whether a text has a size but no bytes, which is an error of the caller. */
static inline bool afc__lacks_bytes(afc_slice text) {
    return text.bytes == NULL && text.size > 0;
}

static inline bool afc__is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool afc__is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/** Returns whether this is a space or a tab. */
static inline bool afc__is_blank(char c) {
    return c == ' ' || c == '\t';
}

/** Returns whether this is a C0 control character or DEL. */
static inline bool afc__is_control(char c) {
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/** Converts A to Z to lower case. Other bytes are unchanged. */
static inline char afc__lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/** Returns the value of a hexadecimal digit, or -1. */
static inline int afc__hex_value(char c) {
    if (afc__is_digit(c)) return c - '0';
    c = afc__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** Writes two lower-case digits for each byte, and a NUL. */
void afc__hex_write(char *out, const unsigned char *bytes, size_t size);

/** Returns whether no byte exceeds 127. */
bool afc__is_ascii(afc_slice text);

/** Returns whether the text has a control character (C0 or DEL). */
bool afc__has_control(afc_slice text);

/**
 * Returns whether `is_among` finds one of its bytes in a text. For speed, it is only called for eight bytes at a time
 * if `may_have` returns true for them, which must never miss one, and for the rest. Inline, so that both functions are
 * inlined.
 */
static inline bool afc__has_any(afc_slice text, bool (*may_have)(uint64_t bytes),
                                bool (*is_among)(const char *bytes, size_t size)) {
    const char *at = text.bytes;
    size_t left = text.size;
    for (uint64_t bytes; left >= sizeof bytes; at += sizeof bytes, left -= sizeof bytes) {
        memcpy(&bytes, at, sizeof bytes);
        if (may_have(bytes) && is_among(at, sizeof bytes)) return true;
    }
    return is_among(at, left);
}

/** Returns whether the bytes are equal. */
static inline bool afc__is_same(afc_slice a, afc_slice b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

static inline bool afc__begins_with(afc_slice text, const char *prefix) {
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.bytes, prefix, size) == 0;
}

static inline bool afc__ends_with(afc_slice text, const char *suffix) {
    size_t size = strlen(suffix);
    return text.size >= size && memcmp(text.bytes + text.size - size, suffix, size) == 0;
}

/** Writes a colon and the number of a port, without a NUL: at most 6 bytes. Returns their end. */
char *afc__write_port(char *at, uint16_t port);

/** Returns the number of bytes before the first `stop`, or the whole size. */
size_t afc__span_until(afc_slice text, char stop);

/** Compares bytes, ignoring ASCII case. */
bool afc__same_text(const char *a, const char *b, size_t size);

/** Compares with a literal, ignoring ASCII case. Inline, so that a different size is decided at the call. */
static inline bool afc__same_name(afc_slice a, const char *b) {
    size_t size = strlen(b);
    return a.size == size && afc__same_text(a.bytes, b, size);
}

static inline bool afc__same_names(afc_slice a, afc_slice b) {
    return a.size == b.size && afc__same_text(a.bytes, b.bytes, a.size);
}

/** Compares without ASCII case. */
static inline bool afc__begins_with_name(afc_slice text, const char *prefix) {
    size_t size = strlen(prefix);
    return text.size >= size && afc__same_text(text.bytes, prefix, size);
}

#endif
