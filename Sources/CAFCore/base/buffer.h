/**
 * A growing buffer of bytes. Every buffer has a limit.
 */
#ifndef AF_BASE_BUFFER_H
#define AF_BASE_BUFFER_H

#include <afcore/base.h>
#include <afcore/error.h>

/** Memory that the caller owns, such as a small array in a struct. Zeroed: none. */
typedef struct af__storage {
    void *bytes;
    size_t size;
} af__storage;

typedef struct af__buffer {
    char *bytes;
    size_t size;
    size_t capacity;
    uint64_t limit;
    af__storage storage;
} af__buffer;

/** Makes an empty buffer without memory that holds at most `limit` bytes. */
void af__buffer_init(af__buffer *buffer, uint64_t limit);

/**
 * Makes an empty buffer use `storage` first, which must outlive the buffer. Larger contents move to the heap.
 */
void af__buffer_use_storage(af__buffer *buffer, af__storage storage);

/** Frees the memory. The buffer is then empty and can be used again, with the same limit. */
void af__buffer_clear(af__buffer *buffer);

/** Reserves capacity for `size` bytes in total, at most the limit. A hint; fails with AF_ENOMEM only. */
af_status af__buffer_reserve(af__buffer *buffer, uint64_t size);

/**
 * Appends `size` bytes, which must not be part of the buffer. On AF_ETOOBIG and AF_ENOMEM nothing is appended.
 */
af_status af__buffer_append(af__buffer *buffer, const void *bytes, size_t size);

/** Appends both or none; see af__buffer_append(). */
af_status af__buffer_append_two(af__buffer *buffer, af_slice first, af_slice second);

/**
 * Moves the memory to the caller (af_free()) and empties the buffer. It is shrunk if more than a quarter is
 * unused. `bytes` is NULL if the buffer is empty, or if contents in its storage can't be copied because memory is
 * out; the buffer is then unchanged.
 */
af_bytes af__buffer_take(af__buffer *buffer);

#endif
