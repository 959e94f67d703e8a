/**
 * A growing run of bytes with a ceiling. There is none without.
 */
#ifndef AF_BASE_BUFFER_H
#define AF_BASE_BUFFER_H

#include <afcore/base.h>
#include <afcore/error.h>

typedef struct af__buffer {
    char *bytes;
    size_t size;
    size_t capacity;
    uint64_t limit;
} af__buffer;

/** Empty, without memory; it will never hold more than `limit` bytes. */
void af__buffer_init(af__buffer *buffer, uint64_t limit);

/** Free the memory; the buffer is empty and can be used again, with the same limit. */
void af__buffer_clear(af__buffer *buffer);

/** Room for `size` bytes in all, at most the limit; a hint that fails with AF_ENOMEM only. */
af_status af__buffer_reserve(af__buffer *buffer, uint64_t size);

/**
 * Add `size` bytes, which must not lie in the buffer. AF_ETOOBIG, AF_ENOMEM: nothing was added.
 */
af_status af__buffer_append(af__buffer *buffer, const void *bytes, size_t size);

/** Both, or none. As af__buffer_append(). */
af_status af__buffer_append_two(af__buffer *buffer, af_slice first, af_slice second);

/**
 * The memory moves to the caller (af_free()), shrunk if more than a quarter of it is unused; the
 * buffer is empty. Without a byte in it, `bytes` is NULL.
 */
af_bytes af__buffer_take(af__buffer *buffer);

#endif
