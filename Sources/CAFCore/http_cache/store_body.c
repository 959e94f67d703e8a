/* Writes and reads bodies piece by piece. */
#include "http_cache/store_body.h"

#include "base/alloc.h"
#include "http_cache/disk/disk_body.h"
#include "http_cache/disk/entry_file.h"

/* ---- Writing ------------------------------------------------------------------------------- */

/*
 * A response that is being stored. Its body is collected in memory. If the cache has a disk, a body larger than
 * AFC__ENTRY_LOADED is written to the disk in pieces of that size, and isn't kept in memory.
 */
struct afc__http_cache_writing {
    afc_http_cache *cache;
    afc__http_cache_stored *stored;
    afc__disk_stream *stream;  /* NULL while all of the body is in memory. */
    afc__http_cache_mark mark; /* When the response was requested. */
    /* Bytes of the same variant that a lookup found before the request. */
    uint64_t seen;
    /** Bytes so far, and the most that the cache stores. */
    uint64_t size, largest;
    /** Bytes that are collected before they are passed to the disk. */
    size_t piece;
    afc__buffer body;
};

static uint64_t largest_body(afc_http_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    uint64_t capacity = cache->memory_bytes, disk_bytes = 0;
    if (cache->disk != NULL) disk_bytes = cache->disk->capacity * AFC__ENTRY_UNIT;
    if (capacity < disk_bytes) capacity = disk_bytes;
    uint64_t largest = cache->max_entry_bytes != 0 ? cache->max_entry_bytes : capacity / 20;
    pthread_mutex_unlock(&cache->lock);
    if (largest > capacity) largest = capacity;
    return largest < AFC__ENTRY_BODY_MAX ? largest : AFC__ENTRY_BODY_MAX;
}

static afc_status make_stored(afc__http_cache_stored **out, afc_http_cache *cache, afc_slice key,
                              const afc__http_cache_meta *meta) {
    if (afc__http_cache_encoded_size(key, meta) == 0) return AFC_ETOOBIG;
    afc__http_cache_stored *stored = *out = afc__http_cache_stored_new(key, meta);
    if (stored == NULL) return AFC_ENOMEM;
    stored->id.primary = afc__http_cache_hash_key(cache, key);
    stored->id.variant = afc__cache_store_hash_variant(cache, stored->id.primary, stored->block);
    stored->id.content = afc__cache_store_new_content(cache);
    stored->order = afc__cache_store_new_order(cache);
    return AFC_OK;
}

afc_status afc__http_cache_begin(afc__http_cache_writing **out, afc_http_cache *cache,
                                 afc_slice key, const afc__http_cache_meta *meta,
                                 int64_t expected) {
    *out = NULL;
    if (!afc__cache_store_is_usable(cache)) return AFC_EFILE;
    uint64_t largest = largest_body(cache);
    if (expected >= 0 && (uint64_t)expected > largest) return AFC_ETOOBIG;
    afc__http_cache_writing *writing = afc__zalloc(sizeof *writing);
    if (writing == NULL) return AFC_ENOMEM;
    afc_status status = make_stored(&writing->stored, cache, key, meta);
    if (status != AFC_OK) {
        afc_free(writing);
        return status;
    }
    writing->cache = afc_http_cache_retain(cache);
    writing->mark = afc__cache_store_take_mark(cache, writing->stored->id.primary);
    writing->largest = largest;
    bool is_memory_only = cache->disk == NULL || largest < AFC__ENTRY_LOADED;
    writing->piece = is_memory_only ? (size_t)largest : AFC__ENTRY_LOADED;
    afc__buffer_init(&writing->body, writing->piece);
    if (expected > 0 && (uint64_t)expected <= writing->piece) {
        afc__buffer_reserve(&writing->body, (uint64_t)expected);
    }
    *out = writing;
    return AFC_OK;
}

/** Passes the collected bytes to the disk. */
static afc_status flush(afc__http_cache_writing *writing, afc__http_cache_pace pace) {
    afc__disk *disk = writing->cache->disk;
    if (writing->stream == NULL) {
        writing->stream = afc__disk_stream_new(disk, writing->stored->id.content);
    }
    if (writing->stream == NULL) return AFC_ENOMEM;
    size_t size = writing->body.size;
    afc_bytes bytes = afc__buffer_take(&writing->body);
    if (bytes.size != size) return AFC_ENOMEM;
    return afc__disk_stream_append(writing->stream, bytes, pace);
}

afc_status afc__http_cache_append(afc__http_cache_writing *writing, afc_slice bytes,
                                  afc__http_cache_pace pace) {
    if (bytes.size > writing->largest - writing->size) return AFC_ETOOBIG;
    writing->size += bytes.size;
    while (bytes.size > 0) {
        afc_status status = AFC_OK;
        size_t available = writing->piece - writing->body.size;
        if (available == 0) {
            status = flush(writing, pace);
            available = writing->piece;
        }
        size_t size = bytes.size < available ? bytes.size : available;
        if (status == AFC_OK) status = afc__buffer_append(&writing->body, bytes.bytes, size);
        if (status != AFC_OK) return status;
        bytes = (afc_slice){bytes.bytes + size, bytes.size - size};
    }
    return AFC_OK;
}

uint64_t afc__http_cache_writing_content(const afc__http_cache_writing *writing) {
    return writing->stored->id.content;
}

void afc__http_cache_set_mark(afc__http_cache_writing *writing, afc__http_cache_mark mark) {
    writing->mark = mark;
}

void afc__http_cache_set_seen(afc__http_cache_writing *writing, const afc__http_cache_seen *seen,
                              size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (seen[i].id.variant == writing->stored->id.variant) writing->seen = seen[i].extent;
    }
}

/**
 * Returns why the response must not be stored, or COMMITTED. Call it under the same lock as the put: a removal then
 * either comes first, and is noticed here, or finds the entry.
 */
static afc__http_cache_outcome check(const afc__http_cache_writing *writing) {
    const afc__http_cache_stored *stored = writing->stored;
    if (!afc__cache_store_is_current(writing->cache, stored->id.primary, writing->mark)) {
        return AFC__HTTP_CACHE_OUTDATED;
    }
    if (afc__cache_store_is_older(writing->cache, stored, writing->mark)) {
        return AFC__HTTP_CACHE_OLDER;
    }
    bool is_part = afc__http_cache_stored_extent(stored) != UINT64_MAX;
    return is_part &&
                   afc__cache_store_has_more(writing->cache, stored, writing->mark, writing->seen)
               ? AFC__HTTP_CACHE_SHORTER
               : AFC__HTTP_CACHE_COMMITTED;
}

/** Takes the cache's lock; with AFC__HTTP_CACHE_WAIT, once the disk has room for the body. */
static void lock_with_room(const afc__http_cache_writing *writing, afc__http_cache_pace pace) {
    afc_http_cache *cache = writing->cache;
    bool may_wait = pace == AFC__HTTP_CACHE_WAIT && cache->disk != NULL;
    pthread_mutex_lock(&cache->lock);
    while (may_wait && !afc__disk_has_room(cache->disk, writing->size)) {
        pthread_mutex_unlock(&cache->lock);
        may_wait = afc__disk_wait(cache->disk);
        pthread_mutex_lock(&cache->lock);
    }
}

/** Stores a body that is in memory. */
static afc__http_cache_outcome commit_memory(afc__http_cache_writing *writing,
                                             afc__http_cache_pace pace) {
    afc_http_cache *cache = writing->cache;
    afc_bytes bytes = afc__buffer_take(&writing->body);
    if (bytes.size == writing->size) {
        writing->stored->body = afc__http_cache_body_new(bytes);
    }
    if (writing->stored->body == NULL) return AFC__HTTP_CACHE_NO_ROOM;
    lock_with_room(writing, pace);
    afc__http_cache_outcome outcome = check(writing);
    if (outcome == AFC__HTTP_CACHE_COMMITTED && !afc__cache_store_put(cache, writing->stored)) {
        outcome = AFC__HTTP_CACHE_NO_ROOM;
    }
    pthread_mutex_unlock(&cache->lock);
    return outcome;
}

static afc__http_cache_outcome commit_stream(afc__http_cache_writing *writing,
                                             afc__http_cache_pace pace) {
    afc_http_cache *cache = writing->cache;
    if (writing->body.size != 0 && flush(writing, pace) != AFC_OK) return AFC__HTTP_CACHE_NO_ROOM;
    pthread_mutex_lock(&cache->lock);
    afc__http_cache_outcome outcome = check(writing);
    if (outcome == AFC__HTTP_CACHE_COMMITTED &&
        !afc__cache_store_put_record(cache, writing->stored)) {
        outcome = AFC__HTTP_CACHE_NO_ROOM;
    }
    if (outcome == AFC__HTTP_CACHE_COMMITTED) {
        afc__cache_store_leave_memory(cache, writing->stored->id.primary);
        afc__disk_stream_commit(writing->stream, writing->stored);
        writing->stream = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return outcome;
}

afc__http_cache_outcome afc__http_cache_commit(afc__http_cache_writing *writing,
                                               afc__http_cache_pace pace) {
    afc_http_cache *cache = writing->cache;
    afc__http_cache_stored *stored = writing->stored;
    stored->body_size = writing->size;
    afc__http_cache_outcome outcome = writing->stream != NULL ? commit_stream(writing, pace)
                                                              : commit_memory(writing, pace);
    if (outcome == AFC__HTTP_CACHE_COMMITTED) afc__http_cache_count(cache, AFC__HTTP_CACHE_STORED);
    if (outcome == AFC__HTTP_CACHE_NO_ROOM) {
        afc__http_cache_count(cache, AFC__HTTP_CACHE_REFUSED);
        /* The previous response must no longer be used. */
        afc__cache_store_name name = {stored->id.primary, stored->id.variant};
        pthread_mutex_lock(&cache->lock);
        afc__cache_store_remove(cache, &name, 1);
        pthread_mutex_unlock(&cache->lock);
    }
    afc__http_cache_abandon(writing);
    return outcome;
}

afc__http_cache_outcome afc__http_cache_commit_beginning(afc__http_cache_writing *writing,
                                                         int64_t total) {
    afc__http_cache_stored_cut(writing->stored, total);
    return afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP);
}

void afc__http_cache_abandon(afc__http_cache_writing *writing) {
    if (writing == NULL) return;
    afc__disk_stream_abandon(writing->stream);
    afc__buffer_clear(&writing->body);
    afc__http_cache_stored_release(writing->stored);
    afc_http_cache_release(writing->cache);
    afc_free(writing);
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct afc__http_cache_reader {
    afc_http_cache *cache;
    afc__http_cache_stored *stored;
    afc__disk_reader *disk; /* NULL if the body is in memory. */
    uint64_t offset;
};

afc__http_cache_reader *afc__http_cache_reader_open(afc_http_cache *cache,
                                                    afc__http_cache_stored *stored, uint64_t offset,
                                                    afc__http_cache_wake wake) {
    afc__http_cache_reader *reader = afc__alloc(sizeof *reader);
    if (reader == NULL) return NULL;
    *reader = (afc__http_cache_reader){.cache = cache, .stored = stored, .offset = offset};
    if (stored->body == NULL) {
        reader->disk = afc__disk_reader_new(cache->disk, stored, offset, wake);
        if (reader->disk == NULL) {
            afc_free(reader);
            return NULL;
        }
    }
    return reader;
}

afc__http_cache_step afc__http_cache_read(afc__http_cache_reader *reader, afc_slice *piece) {
    if (reader->disk != NULL) {
        afc__http_cache_step step = afc__disk_reader_read(reader->disk, piece);
        if (step == AFC__HTTP_CACHE_BROKEN) afc__http_cache_drop(reader->cache, reader->stored);
        return step;
    }
    afc_bytes bytes = reader->stored->body->bytes;
    if (reader->offset >= bytes.size) return AFC__HTTP_CACHE_END;
    size_t start = (size_t)reader->offset;
    *piece = (afc_slice){(const char *)bytes.bytes + start, bytes.size - start};
    reader->offset = bytes.size;
    return AFC__HTTP_CACHE_READY;
}

void afc__http_cache_reader_close(afc__http_cache_reader *reader) {
    if (reader == NULL) return;
    if (reader->disk != NULL) afc__disk_reader_close(reader->disk);
    afc_free(reader);
}
