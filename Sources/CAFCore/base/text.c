#include "base/text.h"

void af__hex_write(char *out, const unsigned char *octets, size_t size) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[octets[i] >> 4];
        *out++ = digits[octets[i] & 15];
    }
    *out = '\0';
}

bool af__is_ascii(af_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.bytes[i] > 127) return false;
    }
    return true;
}

bool af__has_control(af_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (af__is_control(text.bytes[i])) return true;
    }
    return false;
}

bool af__same_text(const char *a, const char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i] && af__lower(a[i]) != af__lower(b[i])) return false;
    }
    return true;
}
