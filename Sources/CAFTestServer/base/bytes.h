/** Bytes that grow, and copies. */
#ifndef AFTS_BASE_BYTES_H
#define AFTS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All zero is an empty one. */
typedef struct afts__buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool is_invalid; /**< An append ran out of memory; those after it do nothing. */
} afts__buffer;

/** Appends, or marks the buffer invalid: one check at the end is enough. */
void afts__buffer_append(afts__buffer *buffer, const void *bytes, size_t size);
void afts__buffer_append_text(afts__buffer *buffer, const char *text);
void afts__buffer_clear(afts__buffer *buffer);

/** Copies `size` bytes and adds a NUL; NULL when out of memory. */
void *afts__copy(const void *bytes, size_t size);
/** Copies a string; NULL when out of memory, and for NULL. */
char *afts__copy_text(const char *text);

#endif
