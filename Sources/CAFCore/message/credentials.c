#include "message/credentials.h"

#include "base/alloc.h"

#include <string.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

size_t af__percent_decode(unsigned char *out, const char *text) {
    size_t size = 0;
    while (*text != '\0') {
        int high = text[0] == '%' ? hex_digit(text[1]) : -1;
        int low = high >= 0 ? hex_digit(text[2]) : -1;
        if (low >= 0) {
            out[size++] = (unsigned char)(high * 16 + low);
            text += 3;
        } else {
            out[size++] = (unsigned char)*text++;
        }
    }
    return size;
}

/** RFC 4648 section 4; `out` has room for 4 * ceil(size / 3) + 1. */
static void base64(char *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) group |= bytes[i + 2];
        *out++ = digits[group >> 18];
        *out++ = digits[(group >> 12) & 63];
        *out++ = left > 1 ? digits[(group >> 6) & 63] : '=';
        *out++ = left > 2 ? digits[group & 63] : '=';
    }
    *out = '\0';
}

char *af__basic_credentials(const char *userinfo) {
    static const char scheme[] = "Basic ";
    size_t room = strlen(userinfo) + 2;
    unsigned char *plain = af__alloc(room);
    char *credentials = af__alloc(sizeof scheme + 4 * ((room + 2) / 3) + 1);
    if (plain != NULL && credentials != NULL) {
        size_t size = af__percent_decode(plain, userinfo);
        if (strchr(userinfo, ':') == NULL) plain[size++] = ':';
        memcpy(credentials, scheme, sizeof scheme - 1);
        base64(credentials + sizeof scheme - 1, plain, size);
    } else {
        af_free(credentials);
        credentials = NULL;
    }
    if (plain != NULL) af__free_secret(plain, room);
    return credentials;
}
