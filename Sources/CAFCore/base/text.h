/** ASCII text in any locale: kinds of characters, case, comparison, hexadecimal digits. Pure. */
#ifndef AF_BASE_TEXT_H
#define AF_BASE_TEXT_H

#include <afcore/base.h>

static inline bool af__is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool af__is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/** Space or tab. */
static inline bool af__is_blank(char c) {
    return c == ' ' || c == '\t';
}

/** C0 controls and DEL. */
static inline bool af__is_control(char c) {
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/** Changes A to Z only. */
static inline char af__lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/** -1: not a hexadecimal digit. */
static inline int af__hex_value(char c) {
    if (af__is_digit(c)) return c - '0';
    c = af__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** Writes two lower-case digits for each octet, and a NUL. */
void af__hex_write(char *out, const unsigned char *octets, size_t size);

/** Returns whether no octet exceeds 127. */
bool af__is_ascii(af_slice text);

bool af__has_control(af_slice text);

/** Returns whether the bytes are equal. */
static inline bool af__is_same(af_slice a, af_slice b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

static inline bool af__begins_with(af_slice text, const char *prefix) {
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.bytes, prefix, size) == 0;
}

/** Compares bytes, ignoring ASCII case. */
bool af__same_text(const char *a, const char *b, size_t size);

/** Compares with a literal, ignoring ASCII case. Inline, so that a different size is decided at the call. */
static inline bool af__same_name(af_slice a, const char *b) {
    size_t size = strlen(b);
    return a.size == size && af__same_text(a.bytes, b, size);
}

static inline bool af__same_names(af_slice a, af_slice b) {
    return a.size == b.size && af__same_text(a.bytes, b.bytes, a.size);
}

/** Ignoring case. */
static inline bool af__begins_with_name(af_slice text, const char *prefix) {
    size_t size = strlen(prefix);
    return text.size >= size && af__same_text(text.bytes, prefix, size);
}

#endif
