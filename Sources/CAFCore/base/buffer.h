/**
 * A growing buffer of bytes. Every buffer has a limit.
 */
#ifndef AFC_BASE_BUFFER_H
#define AFC_BASE_BUFFER_H

#include <afcore/base.h>
#include <afcore/error.h>

/** Memory that the caller owns, such as a small array in a struct. Zeroed without it. */
typedef struct afc__storage {
    void *bytes;
    size_t size;
} afc__storage;

typedef struct afc__buffer {
    char *bytes;
    size_t size;
    size_t capacity;
    uint64_t limit;
    afc__storage storage;
} afc__buffer;

/** Returns what is in a buffer, valid until it changes. */
static inline afc_slice afc__buffer_slice(const afc__buffer *buffer) {
    return (afc_slice){buffer->bytes, buffer->size};
}

/** Makes an empty buffer without memory that holds at most `limit` bytes. */
void afc__buffer_init(afc__buffer *buffer, uint64_t limit);

/**
 * Makes an empty buffer use `storage` at first, which must outlive the buffer. Contents that don't fit move to the
 * heap.
 */
void afc__buffer_use_storage(afc__buffer *buffer, afc__storage storage);

/** Frees the memory. The buffer is then empty and can be used again, with the same limit. */
void afc__buffer_clear(afc__buffer *buffer);

/** Overwrites the contents, which are secret, and empties the buffer, which keeps its memory. */
void afc__buffer_wipe(afc__buffer *buffer);

/**
 * Reserves capacity for `size` bytes in total, at most the limit. That is only a hint: appending also works without it.
 * Fails with AFC_ENOMEM only.
 */
afc_status afc__buffer_reserve(afc__buffer *buffer, uint64_t size);

/**
 * Appends `size` bytes, which must not be part of the buffer. On AFC_ETOOBIG and AFC_ENOMEM nothing is appended.
 */
afc_status afc__buffer_append(afc__buffer *buffer, const void *bytes, size_t size);

/** Appends `size` bytes, which the caller then writes at `*out`. On AFC_ETOOBIG and AFC_ENOMEM nothing is appended. */
afc_status afc__buffer_extend(afc__buffer *buffer, size_t size, char **out);

/** Appends both or none; see afc__buffer_append(). */
afc_status afc__buffer_append_two(afc__buffer *buffer, afc_slice first, afc_slice second);

/** Frees unused memory if that is more than a quarter, and more than 4 KiB. */
void afc__buffer_shrink(afc__buffer *buffer);

/**
 * Moves the memory to the caller (afc_free()), shrunk as by afc__buffer_shrink(), and empties the buffer. `bytes` is
 * NULL if the buffer is empty, or if contents in its storage can't be copied because memory is out; the buffer is then
 * unchanged.
 */
afc_bytes afc__buffer_take(afc__buffer *buffer);

#endif
