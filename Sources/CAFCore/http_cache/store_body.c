/* Bodies that are written and read piece by piece. */
#include "base/alloc.h"
#include "http_cache/store_internal.h"

/* ---- Writing ------------------------------------------------------------------------------- */

struct afc__cache_writing {
    afc_http_cache *cache;
    afc__cache_stored *stored;
    afc__buffer body;
};

static uint64_t largest_body(afc_http_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    uint64_t largest = cache->max_entry_bytes != 0 ? cache->max_entry_bytes
                                                   : cache->memory_bytes / 20;
    pthread_mutex_unlock(&cache->lock);
    return largest;
}

static afc__cache_stored *encode(afc_http_cache *cache, afc_slice key,
                                 const afc__cache_meta *meta) {
    afc__buffer block;
    afc__buffer_init(&block, AFC__CACHE_LONGEST_META);
    afc__cache_stored *stored = NULL;
    if (afc__cache_encode(&block, key, meta) == AFC_OK) {
        stored = afc__cache_stored_new((afc_slice){block.bytes, block.size});
    }
    afc__buffer_clear(&block);
    if (stored == NULL) return NULL;
    stored->id.primary = afc__store_hash_key(cache, key);
    stored->id.variant = afc__store_hash_variant(cache, stored->id.primary, stored->block);
    stored->id.content = afc__store_new_content(cache);
    return stored;
}

afc__cache_writing *afc__cache_begin(afc_http_cache *cache, afc_slice key,
                                     const afc__cache_meta *meta, int64_t expected) {
    if (!afc__store_is_usable(cache)) return NULL;
    uint64_t largest = largest_body(cache);
    if (expected >= 0 && (uint64_t)expected > largest) return NULL;
    afc__cache_writing *writing = afc__zalloc(sizeof *writing);
    if (writing == NULL) return NULL;
    writing->stored = encode(cache, key, meta);
    if (writing->stored == NULL) {
        afc_free(writing);
        return NULL;
    }
    writing->cache = afc_http_cache_retain(cache);
    afc__buffer_init(&writing->body, largest);
    if (expected > 0) afc__buffer_reserve(&writing->body, (uint64_t)expected);
    return writing;
}

bool afc__cache_append(afc__cache_writing *writing, afc_slice bytes) {
    return afc__buffer_append(&writing->body, bytes.bytes, bytes.size) == AFC_OK;
}

void afc__cache_commit(afc__cache_writing *writing) {
    afc__cache_stored *stored = writing->stored;
    size_t size = writing->body.size;
    afc_bytes bytes = afc__buffer_take(&writing->body);
    stored->body_size = size;
    if (bytes.size == size) stored->body = afc__cache_body_new(bytes);
    if (stored->body != NULL) {
        afc__store_put(writing->cache, stored);
        afc__cache_count(writing->cache, AFC__CACHE_STORED);
    } else {
        /* Out of memory: the previous response must not be used any more. */
        pthread_mutex_lock(&writing->cache->lock);
        afc__store_forget(writing->cache, stored->id.primary, stored->id.variant);
        pthread_mutex_unlock(&writing->cache->lock);
    }
    afc__cache_abandon(writing);
}

void afc__cache_abandon(afc__cache_writing *writing) {
    if (writing == NULL) return;
    afc__buffer_clear(&writing->body);
    afc__cache_stored_release(writing->stored);
    afc_http_cache_release(writing->cache);
    afc_free(writing);
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct afc__cache_reader {
    afc__cache_stored *stored;
    uint64_t offset;
};

afc__cache_reader *afc__cache_reader_open(afc_http_cache *cache, afc__cache_stored *stored,
                                          uint64_t offset, afc__cache_wake wake) {
    (void)cache;
    (void)wake;
    afc__cache_reader *reader = afc__alloc(sizeof *reader);
    if (reader == NULL) return NULL;
    reader->stored = afc__cache_stored_retain(stored);
    reader->offset = offset;
    return reader;
}

afc__cache_step afc__cache_read(afc__cache_reader *reader, afc_slice *piece) {
    afc_bytes bytes = reader->stored->body->bytes;
    if (reader->offset >= bytes.size) return AFC__CACHE_END;
    size_t start = (size_t)reader->offset;
    *piece = (afc_slice){(const char *)bytes.bytes + start, bytes.size - start};
    reader->offset = bytes.size;
    return AFC__CACHE_READY;
}

void afc__cache_reader_close(afc__cache_reader *reader) {
    if (reader == NULL) return;
    afc__cache_stored_release(reader->stored);
    afc_free(reader);
}
