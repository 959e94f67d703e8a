#include "message/encoding.h"

#include "base/text.h"

#include <string.h>

/* ---- Percent-encoding ---------------------------------------------------------------------- */

int afc__percent_octet(afc_slice text) {
    if (text.size < 3 || text.bytes[0] != '%') return -1;
    int high = afc__hex_value(text.bytes[1]), low = afc__hex_value(text.bytes[2]);
    return high >= 0 && low >= 0 ? high << 4 | low : -1;
}

char *afc__percent_put(char *out, char octet) {
    static const char digits[] = "0123456789ABCDEF";
    *out++ = '%';
    *out++ = digits[(unsigned char)octet >> 4];
    *out++ = digits[(unsigned char)octet & 15];
    return out;
}

size_t afc__percent_decode(unsigned char *out, const char *text) {
    const char *end = text + strlen(text);
    size_t size = 0;
    while (text < end) {
        int octet = afc__percent_octet((afc_slice){text, (size_t)(end - text)});
        out[size++] = (unsigned char)(octet >= 0 ? octet : *text);
        text += octet >= 0 ? 3 : 1;
    }
    return size;
}

/* ---- Base64 -------------------------------------------------------------------------------- */

void afc__base64_encode(char *out, const unsigned char *octets, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)octets[i] << 16;
        if (left > 1) group |= (uint32_t)octets[i + 1] << 8;
        if (left > 2) group |= octets[i + 2];
        *out++ = digits[group >> 18];
        *out++ = digits[group >> 12 & 63];
        *out++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[group & 63] : '=';
    }
    *out = '\0';
}

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

bool afc__base64_decode(unsigned char *out, size_t size, afc_slice text) {
    size_t digits = (size * 8 + 5) / 6, padded = AFC__BASE64_SIZE(size);
    if (text.size != digits && text.size != padded) return false;
    uint32_t bits = 0;
    unsigned held = 0;
    size_t count = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = base64_value(text.bytes[i]);
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out[count++] = (unsigned char)(bits >> held);
        bits &= (1u << held) - 1;
    }
    for (size_t i = digits; i < text.size; i++) {
        if (text.bytes[i] != '=') return false;
    }
    return bits == 0 && count == size;
}
