#include "support/stored_blocks.h"

#include "support/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t adler32(const char *bytes, size_t size) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + (unsigned char)bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static uint32_t crc32(const char *bytes, size_t size) {
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

char *stored_blocks(stored_format format, const char *bytes, size_t size, size_t block,
                    size_t *encoded_size) {
    static const char heads[][11] = {"\x78\x01", "\x1F\x8B\x08\0\0\0\0\0\0\xFF"};
    static const size_t head_sizes[] = {2, 10};
    enum { HEAD = 5, END = 8 };
    char *encoded = malloc(head_sizes[format] + size + (size / block + 1) * HEAD + END);
    assert_non_null(encoded);
    char *at = encoded;
    memcpy(at, heads[format], head_sizes[format]);
    at += head_sizes[format];
    size_t done = 0, length;
    do {
        length = size - done < block ? size - done : block;
        const unsigned char head[HEAD] = {done + length == size, length & 0xFF,
                                          (unsigned char)(length >> 8), ~length & 0xFF,
                                          (unsigned char)(~length >> 8)};
        memcpy(at, head, HEAD);
        memcpy(at + HEAD, bytes + done, length);
        at += HEAD + length;
        done += length;
    } while (done < size);
    if (format == STORED_ZLIB) {
        uint32_t sum = adler32(bytes, size);
        for (int shift = 24; shift >= 0; shift -= 8) *at++ = (char)(sum >> shift);
    } else {
        uint64_t end = (uint64_t)size << 32 | crc32(bytes, size);
        for (int shift = 0; shift < 64; shift += 8) *at++ = (char)(end >> shift);
    }
    *encoded_size = (size_t)(at - encoded);
    return encoded;
}
