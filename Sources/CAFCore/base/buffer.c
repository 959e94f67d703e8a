#include "base/buffer.h"

#include "base/alloc.h"

enum {
    SMALLEST_CAPACITY = 256,
    /** Shrinking a block isn't worth it for less unused memory than this. */
    WORTH_SHRINKING = 4096
};

void afc__buffer_init(afc__buffer *buffer, uint64_t limit) {
    *buffer = (afc__buffer){.limit = limit};
}

void afc__buffer_use_storage(afc__buffer *buffer, afc__storage storage) {
    buffer->storage = storage;
    buffer->bytes = storage.bytes;
    buffer->capacity = storage.size < buffer->limit ? storage.size : (size_t)buffer->limit;
}

static bool uses_storage(const afc__buffer *buffer) {
    return buffer->bytes != NULL && buffer->bytes == buffer->storage.bytes;
}

void afc__buffer_clear(afc__buffer *buffer) {
    if (!uses_storage(buffer)) afc_free(buffer->bytes);
    afc__storage storage = buffer->storage;
    afc__buffer_init(buffer, buffer->limit);
    afc__buffer_use_storage(buffer, storage);
}

void afc__buffer_wipe(afc__buffer *buffer) {
    if (buffer->size != 0) explicit_bzero(buffer->bytes, buffer->size);
    buffer->size = 0;
}

static afc_status set_capacity(afc__buffer *buffer, size_t capacity) {
    bool moves_out = uses_storage(buffer);
    char *bytes = moves_out ? afc__alloc(capacity) : afc__realloc(buffer->bytes, capacity);
    if (bytes == NULL) return AFC_ENOMEM;
    if (moves_out && buffer->size != 0) memcpy(bytes, buffer->bytes, buffer->size);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return AFC_OK;
}

afc_status afc__buffer_reserve(afc__buffer *buffer, uint64_t size) {
    if (size > buffer->limit) size = buffer->limit;
    if (size <= buffer->capacity) return AFC_OK;
    if (size > SIZE_MAX) return AFC_ENOMEM;
    return set_capacity(buffer, (size_t)size);
}

/** Doubles the capacity, up to the limit, so that appending takes amortised constant time. */
static size_t next_capacity(const afc__buffer *buffer, size_t needed) {
    size_t doubled = buffer->capacity <= SIZE_MAX / 2 ? buffer->capacity * 2 : SIZE_MAX;
    size_t next = doubled > SMALLEST_CAPACITY ? doubled : SMALLEST_CAPACITY;
    if (next < needed) next = needed;
    return next > buffer->limit ? (size_t)buffer->limit : next;
}

static afc_status ensure_capacity(afc__buffer *buffer, size_t size) {
    if (size > buffer->limit - buffer->size) return AFC_ETOOBIG;
    if (size > SIZE_MAX - buffer->size) return AFC_ENOMEM;
    size_t needed = buffer->size + size;
    if (needed <= buffer->capacity) return AFC_OK;
    return set_capacity(buffer, next_capacity(buffer, needed));
}

static void put(afc__buffer *buffer, const void *bytes, size_t size) {
    if (size == 0) return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

afc_status afc__buffer_append(afc__buffer *buffer, const void *bytes, size_t size) {
    if (size == 0) return AFC_OK;
    afc_status status = ensure_capacity(buffer, size);
    if (status == AFC_OK) put(buffer, bytes, size);
    return status;
}

afc_status afc__buffer_extend(afc__buffer *buffer, size_t size, char **out) {
    afc_status status = ensure_capacity(buffer, size);
    if (status != AFC_OK) return status;
    *out = buffer->bytes + buffer->size;
    buffer->size += size;
    return AFC_OK;
}

afc_status afc__buffer_append_two(afc__buffer *buffer, afc_slice first, afc_slice second) {
    if (first.size > SIZE_MAX - second.size) return AFC_ETOOBIG;
    afc_status status = ensure_capacity(buffer, first.size + second.size);
    if (status != AFC_OK) return status;
    put(buffer, first.bytes, first.size);
    put(buffer, second.bytes, second.size);
    return AFC_OK;
}

void afc__buffer_shrink(afc__buffer *buffer) {
    size_t unused = buffer->capacity - buffer->size;
    if (uses_storage(buffer) || unused <= WORTH_SHRINKING || unused <= buffer->capacity / 4) return;
    if (buffer->size == 0) {
        afc__buffer_clear(buffer);
        return;
    }
    /* Failing to shrink costs memory, not correctness. */
    (void)set_capacity(buffer, buffer->size);
}

afc_bytes afc__buffer_take(afc__buffer *buffer) {
    if (buffer->size == 0) {
        afc__buffer_clear(buffer);
        return (afc_bytes){NULL, 0};
    }
    if (uses_storage(buffer)) {
        afc_bytes copy = {afc__alloc(buffer->size), buffer->size};
        if (copy.bytes == NULL) return (afc_bytes){NULL, 0};
        memcpy(copy.bytes, buffer->bytes, buffer->size);
        buffer->size = 0;
        return copy;
    }
    afc__buffer_shrink(buffer);
    afc_bytes taken = {buffer->bytes, buffer->size};
    afc__storage storage = buffer->storage;
    afc__buffer_init(buffer, buffer->limit);
    afc__buffer_use_storage(buffer, storage);
    return taken;
}
