/**
 * A growing run of bytes with a ceiling. There is none without.
 */
#ifndef AF_BASE_BUFFER_H
#define AF_BASE_BUFFER_H

#include <afcore/base.h>
#include <afcore/error.h>

/** Memory that somebody else owns, for what is usually small. Zeroed it is none. */
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

/** Empty, without memory; it will never hold more than `limit` bytes. */
void af__buffer_init(af__buffer *buffer, uint64_t limit);

/**
 * Let an empty buffer begin in `storage`, which must outlive it; what does not fit moves to memory of
 * its own.
 */
void af__buffer_use_storage(af__buffer *buffer, af__storage storage);

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
 * buffer is empty. Without a byte in it, `bytes` is NULL; also if there is no memory to copy bytes
 * to that lie in such storage, and then the buffer stays as it is.
 */
af_bytes af__buffer_take(af__buffer *buffer);

#endif
