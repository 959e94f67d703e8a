#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int afts__buf_append(afts__buf *buf, const void *bytes, size_t len) {
    if (len > SIZE_MAX / 4 - buf->len) {
        return -ENOMEM;
    }
    if (buf->len + len > buf->capacity) {
        size_t capacity = buf->capacity * 2 > buf->len + len ? buf->capacity * 2 : buf->len + len;
        uint8_t *data = realloc(buf->data, capacity);
        if (!data) {
            return -ENOMEM;
        }
        buf->data = data;
        buf->capacity = capacity;
    }
    if (len > 0) {
        memcpy(buf->data + buf->len, bytes, len);
        buf->len += len;
    }
    return 0;
}

int afts__buf_text(afts__buf *buf, const char *text) {
    return afts__buf_append(buf, text, strlen(text));
}

void afts__buf_free(afts__buf *buf) {
    free(buf->data);
    *buf = (afts__buf){0};
}

void *afts__copy(const void *bytes, size_t len) {
    uint8_t *copy = len < SIZE_MAX ? malloc(len + 1) : NULL;
    if (!copy) {
        return NULL;
    }
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    copy[len] = 0;
    return copy;
}
