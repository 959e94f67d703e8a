#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

static bool reserve(afts__buffer *buffer, size_t size) {
    if (size > SIZE_MAX / 4 - buffer->size) return false;
    size_t needed = buffer->size + size;
    if (needed <= buffer->capacity) return true;
    size_t capacity = buffer->capacity * 2 > needed ? buffer->capacity * 2 : needed;
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void afts__buffer_append(afts__buffer *buffer, const void *bytes, size_t size) {
    if (buffer->is_invalid || size == 0) return;
    if (!reserve(buffer, size)) {
        buffer->is_invalid = true;
        return;
    }
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void afts__buffer_append_text(afts__buffer *buffer, const char *text) {
    afts__buffer_append(buffer, text, strlen(text));
}

void afts__buffer_clear(afts__buffer *buffer) {
    free(buffer->bytes);
    *buffer = (afts__buffer){0};
}

void *afts__copy(const void *bytes, size_t size) {
    uint8_t *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

char *afts__copy_text(const char *text) {
    return text != NULL ? afts__copy(text, strlen(text)) : NULL;
}
