#include "base/buffer.h"

#include "base/alloc.h"

enum {
    SMALLEST_CAPACITY = 256,
    /** Shrinking a block isn't worth it for less unused memory than this. */
    WORTH_SHRINKING = 4096
};

void af__buffer_init(af__buffer *buffer, uint64_t limit) {
    *buffer = (af__buffer){.limit = limit};
}

void af__buffer_use_storage(af__buffer *buffer, af__storage storage) {
    buffer->storage = storage;
    buffer->bytes = storage.bytes;
    buffer->capacity = storage.size < buffer->limit ? storage.size : (size_t)buffer->limit;
}

static bool is_in_room(const af__buffer *buffer) {
    return buffer->bytes != NULL && buffer->bytes == buffer->storage.bytes;
}

void af__buffer_clear(af__buffer *buffer) {
    if (!is_in_room(buffer)) af_free(buffer->bytes);
    af__storage storage = buffer->storage;
    af__buffer_init(buffer, buffer->limit);
    af__buffer_use_storage(buffer, storage);
}

static af_status set_capacity(af__buffer *buffer, size_t capacity) {
    bool moves_out = is_in_room(buffer);
    char *bytes = moves_out ? af__alloc(capacity) : af__realloc(buffer->bytes, capacity);
    if (bytes == NULL) return AF_ENOMEM;
    if (moves_out && buffer->size != 0) memcpy(bytes, buffer->bytes, buffer->size);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return AF_OK;
}

af_status af__buffer_reserve(af__buffer *buffer, uint64_t size) {
    if (size > buffer->limit) size = buffer->limit;
    if (size <= buffer->capacity) return AF_OK;
    if (size > SIZE_MAX) return AF_ENOMEM;
    return set_capacity(buffer, (size_t)size);
}

/** Doubles the capacity, up to the limit, so that appending takes amortised constant time. */
static size_t next_capacity(const af__buffer *buffer, size_t needed) {
    size_t doubled = buffer->capacity <= SIZE_MAX / 2 ? buffer->capacity * 2 : SIZE_MAX;
    size_t next = doubled > SMALLEST_CAPACITY ? doubled : SMALLEST_CAPACITY;
    if (next < needed) next = needed;
    return next > buffer->limit ? (size_t)buffer->limit : next;
}

static af_status make_room(af__buffer *buffer, size_t size) {
    if (size > buffer->limit - buffer->size) return AF_ETOOBIG;
    if (size > SIZE_MAX - buffer->size) return AF_ENOMEM;
    size_t needed = buffer->size + size;
    if (needed <= buffer->capacity) return AF_OK;
    return set_capacity(buffer, next_capacity(buffer, needed));
}

static void put(af__buffer *buffer, const void *bytes, size_t size) {
    if (size == 0) return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

af_status af__buffer_append(af__buffer *buffer, const void *bytes, size_t size) {
    if (size == 0) return AF_OK;
    af_status status = make_room(buffer, size);
    if (status == AF_OK) put(buffer, bytes, size);
    return status;
}

af_status af__buffer_append_two(af__buffer *buffer, af_slice first, af_slice second) {
    if (first.size > SIZE_MAX - second.size) return AF_ETOOBIG;
    af_status status = make_room(buffer, first.size + second.size);
    if (status != AF_OK) return status;
    put(buffer, first.bytes, first.size);
    put(buffer, second.bytes, second.size);
    return AF_OK;
}

af_bytes af__buffer_take(af__buffer *buffer) {
    if (buffer->size == 0) {
        af__buffer_clear(buffer);
        return (af_bytes){NULL, 0};
    }
    if (is_in_room(buffer)) {
        af_bytes copy = {af__alloc(buffer->size), buffer->size};
        if (copy.bytes == NULL) return (af_bytes){NULL, 0};
        memcpy(copy.bytes, buffer->bytes, buffer->size);
        buffer->size = 0;
        return copy;
    }
    size_t unused = buffer->capacity - buffer->size;
    if (unused > WORTH_SHRINKING && unused > buffer->capacity / 4) {
        /* Failing to shrink costs memory, not correctness. */
        (void)set_capacity(buffer, buffer->size);
    }
    af_bytes taken = {buffer->bytes, buffer->size};
    af__storage storage = buffer->storage;
    af__buffer_init(buffer, buffer->limit);
    af__buffer_use_storage(buffer, storage);
    return taken;
}
