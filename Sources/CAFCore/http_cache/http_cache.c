/* The public functions that open, clear and measure an HTTP cache. */
#include "base/alloc.h"
#include "base/failure.h"
#include "base/random.h"
#include "base/sized.h"
#include "http_cache/disk/disk.h"
#include "http_cache/disk/disk_capacity.h"
#include "http_cache/disk/disk_removal.h"
#include "http_cache/disk/disk_scan.h"
#include "http_cache/memory/key.h"
#include "run/threads.h"
#include "run/waiter.h"

#include <sched.h>

/* ---- Opening and closing ------------------------------------------------------------------- */

static void retain_set(void *context, void *set) {
    (void)context;
    afc__response_set_retain(set);
}

static void release_set(void *context, void *set) {
    (void)context;
    afc__response_set_release(set);
}

static void make_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

static afc_status make_memory(afc_http_cache *cache, afc_failure *failure) {
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    /* Without a limit of its own: afc__cache_store_trim() enforces memory_bytes, which may change. */
    options.capacity = options.purge_to = UINT64_MAX;
    options.retain = retain_set;
    options.release = release_set;
    options.on_evict = afc__cache_store_on_evict;
    options.context = cache;
    return afc_lru_new(&cache->memory, &options, failure);
}

static bool make_seed(uint64_t seed[2]) {
    return afc__random(seed, 2 * sizeof *seed);
}

/** Frees a cache whose disk is closed. If the disk has a thread, it calls this last. */
static void free_cache(void *context) {
    afc_http_cache *cache = context;
    if (cache->disk != NULL) afc__disk_free(cache->disk);
    afc_lru_free(cache->memory);
    afc__entry_table_clear(&cache->table);
    pthread_mutex_destroy(&cache->lock);
    afc_free(cache);
}

static afc_status fill(afc_http_cache *cache, const afc_http_cache_options *options,
                       afc_failure *failure) {
    if (!make_seed(cache->key_seed) || !make_seed(cache->content_seed)) {
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    if (options->directory == NULL) return AFC_OK;
    return afc__disk_open(cache, options->directory, options->disk_bytes, free_cache, failure);
}

afc_status afc_http_cache_open(afc_http_cache **out, const afc_http_cache_options *options,
                               afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_http_cache_options, AFC_HTTP_CACHE_OPTIONS_INIT, max_entry_bytes, options,
                    failure);
    if (options->memory_bytes == 0 && options->directory == NULL) {
        return afc__fail(
            failure, AFC_EINVAL,
            "the cache can store nothing: memory_bytes is 0, and there is no directory");
    }
    afc_http_cache *cache = afc__zalloc(sizeof *cache);
    if (cache == NULL) return afc__fail_memory(failure);
    atomic_init(&cache->references, 1);
    cache->generation = afc__process_generation();
    cache->memory_bytes = options->memory_bytes;
    cache->max_entry_bytes = options->max_entry_bytes;
    afc_status status = make_memory(cache, failure);
    if (status != AFC_OK) {
        afc_free(cache);
        return status;
    }
    afc__threads_watch_forks();
    make_lock(&cache->lock);
    status = fill(cache, options, failure);
    if (status == AFC_OK) {
        *out = cache;
    } else {
        free_cache(cache);
    }
    return status;
}

afc_http_cache *afc_http_cache_retain(afc_http_cache *cache) {
    atomic_fetch_add_explicit(&cache->references, 1, memory_order_relaxed);
    return cache;
}

void afc_http_cache_release(afc_http_cache *cache) {
    if (cache == NULL || atomic_fetch_sub(&cache->references, 1) != 1) return;
    if (cache->disk != NULL && afc__cache_store_is_usable(cache)) {
        afc__disk_close(cache->disk);
    } else {
        free_cache(cache);
    }
}

/* ---- Removing ------------------------------------------------------------------------------ */

afc_status afc_http_cache_remove_url(afc_http_cache *cache, const char *partition, const char *url,
                                     afc_failure *failure) {
    afc__buffer key;
    afc__clear_failure(failure);
    afc__buffer_init(&key, AFC__HTTP_CACHE_KEY_MAX);
    afc_status status = afc__http_cache_key_parse(&key, partition, url, failure);
    if (status == AFC_OK) afc__http_cache_remove_key(cache, afc__buffer_slice(&key));
    afc__buffer_clear(&key);
    if (status != AFC_ETOOBIG) return status;
    /* A key that is too long was never stored: there is nothing to remove. */
    afc__clear_failure(failure);
    return AFC_OK;
}

/** Copies the names of the entries that match. Returns NULL if out of memory. Under the lock. */
static afc__cache_store_name *copy_matching(const afc_http_cache *cache,
                                            const afc__cache_store_filter *filter, size_t *count) {
    const afc__entry_table *table = &cache->table;
    afc__cache_store_name *names = afc__alloc((table->count + 1) * sizeof *names);
    *count = 0;
    for (size_t i = 0; names != NULL && i < table->capacity; i++) {
        const afc__entry_record *record = &table->slots[i];
        if (record->places == 0 || !afc__cache_store_matches(record, filter)) continue;
        names[(*count)++] = (afc__cache_store_name){record->primary, record->variant};
    }
    return names;
}

/**
 * Removes the entries that match without a copy of their names, and so without releasing the lock. For when memory is
 * out.
 */
static void remove_in_place(afc_http_cache *cache, const afc__cache_store_filter *filter) {
    for (size_t i = 0; i < cache->table.capacity;) {
        const afc__entry_record *record = &cache->table.slots[i];
        if (record->places == 0 || !afc__cache_store_matches(record, filter)) {
            i++;
            continue;
        }
        /* The next iteration looks at this slot again, as the removal may move another record to it. */
        afc__cache_store_name name = {record->primary, record->variant};
        afc__cache_store_remove(cache, &name, 1);
    }
}

/** Removes entries in slices, and releases the lock in between: loops wait for it when they store or use a response. */
static void remove_named(afc_http_cache *cache, const afc__cache_store_name *names, size_t count) {
    enum { SLICE = 128 };
    afc__disk_removal *removal = cache->disk != NULL ? afc__disk_removal_new(cache->disk, count)
                                                     : NULL;
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && i % SLICE == 0) {
            pthread_mutex_unlock(&cache->lock);
            sched_yield();
            pthread_mutex_lock(&cache->lock);
        }
        if (removal == NULL) {
            afc__cache_store_remove(cache, &names[i], 1);
        } else {
            afc__cache_store_forget(cache, names[i].primary, names[i].variant);
            afc__disk_removal_add(removal, names[i]);
        }
    }
    if (removal != NULL) afc__disk_removal_order(removal);
}

/** Removes all entries that match. The disk's thread removes later those that only the disk knows of. */
static void remove_matching(afc_http_cache *cache, const afc__cache_store_filter *filter) {
    size_t count;
    if (!afc__cache_store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    atomic_fetch_add(&cache->removals, 1);
    cache->removing++;
    if (cache->disk != NULL) afc__disk_remove_unknown(cache->disk, filter);
    afc__cache_store_name *names = copy_matching(cache, filter, &count);
    if (names != NULL) {
        remove_named(cache, names, count);
    } else {
        remove_in_place(cache, filter);
    }
    /* Another scan may have begun while the lock was released: it must ignore the removed entries, too. */
    if (cache->disk != NULL) afc__disk_scan_without(cache->disk, NULL);
    cache->removing--;
    pthread_mutex_unlock(&cache->lock);
    afc_free(names);
}

void afc_http_cache_remove_host(afc_http_cache *cache, const char *host) {
    afc__cache_store_filter filter = {.has_host = true, .since = INT64_MIN};
    filter.host = afc__cache_store_hash_host(cache, afc_slice_of(host));
    remove_matching(cache, &filter);
}

void afc_http_cache_remove_since(afc_http_cache *cache, int64_t unix_seconds) {
    afc__cache_store_filter filter = {.since = unix_seconds};
    remove_matching(cache, &filter);
}

void afc_http_cache_remove_all(afc_http_cache *cache) {
    afc__cache_store_filter filter = {.since = INT64_MIN};
    remove_matching(cache, &filter);
}

/* ---- Capacity and statistics --------------------------------------------------------------- */

void afc_http_cache_set_capacity(afc_http_cache *cache, uint64_t memory_bytes,
                                 uint64_t disk_bytes) {
    if (!afc__cache_store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    cache->memory_bytes = memory_bytes;
    afc__cache_store_trim(cache);
    if (cache->disk != NULL) afc__disk_set_capacity(cache->disk, disk_bytes);
    pthread_mutex_unlock(&cache->lock);
}

typedef struct flush_job {
    afc__disk_job job;
    afc__waiter waiter;
} flush_job;

static bool work_flush(afc__disk_job *work) {
    flush_job *job = AFC__OWNER(work, flush_job, job);
    afc__disk_tidy(work->disk);
    afc__disk_catch_up(work->disk);
    /** Runs again, after other jobs, until removals, scans and evictions in slices are done. */
    if (afc__disk_has_long_work(work->disk)) return true;
    afc__waiter_wake(&job->waiter);
    return false;
}

void afc_http_cache_flush(afc_http_cache *cache) {
    if (!afc__cache_store_is_usable(cache) || cache->disk == NULL) return;
    flush_job job = {.waiter = AFC__WAITER_INIT};
    if (afc__disk_order(cache->disk, &job.job, work_flush)) afc__waiter_wait(&job.waiter);
}

static uint64_t count_of(const afc_http_cache *cache, afc__http_cache_event event) {
    return atomic_load_explicit(&cache->events[event], memory_order_relaxed);
}

void afc_http_cache_get_statistics(afc_http_cache *cache, afc_http_cache_statistics *out) {
    *out = (afc_http_cache_statistics){0};
    if (!afc__cache_store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    out->entries = cache->table.count;
    out->memory_used = afc_lru_get_cost(cache->memory);
    out->memory_capacity = cache->memory_bytes;
    out->disk_used = cache->table.units * AFC__ENTRY_UNIT;
    if (cache->disk != NULL) out->disk_capacity = cache->disk->capacity * AFC__ENTRY_UNIT;
    pthread_mutex_unlock(&cache->lock);
    out->hits = count_of(cache, AFC__HTTP_CACHE_HIT);
    out->misses = count_of(cache, AFC__HTTP_CACHE_MISS);
    out->revalidated = count_of(cache, AFC__HTTP_CACHE_REVALIDATED);
    out->stale = count_of(cache, AFC__HTTP_CACHE_STALE);
    out->stored = count_of(cache, AFC__HTTP_CACHE_STORED);
    out->refused = count_of(cache, AFC__HTTP_CACHE_REFUSED);
}
