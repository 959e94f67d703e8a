/* The cache as a program sees it. */
#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "http_cache/key.h"
#include "http_cache/store_internal.h"
#include "message/url.h"
#include "run/threads.h"

#include <sys/random.h>

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

static afc_status make_memory(afc_http_cache *cache) {
    afc_cache_options options = AFC_CACHE_INIT;
    /* The capacity may change, so the store trims. */
    options.capacity = options.purge_to = UINT64_MAX;
    options.retain = retain_set;
    options.release = release_set;
    options.on_evict = afc__store_on_evict;
    options.context = cache;
    return afc_cache_new(&cache->memory, &options);
}

static bool make_seed(uint64_t seed[2]) {
    return getrandom(seed, 2 * sizeof *seed, 0) == (ssize_t)(2 * sizeof *seed);
}

afc_status afc_http_cache_open(afc_http_cache **out, const afc_http_cache_options *options,
                               afc_failure *failure) {
    static const afc_http_cache_options defaults = AFC_HTTP_CACHE_OPTIONS_INIT;
    afc_http_cache_options room;
    afc_failure ignored;
    if (failure == NULL) failure = &ignored;
    *out = NULL;
    options = afc__sized_read(&room, &defaults, options,
                              AFC__SIZED(afc_http_cache_options, max_entry_bytes),
                              "AFC_HTTP_CACHE_OPTIONS_INIT", failure);
    if (failure->status != AFC_OK) return failure->status;
    afc_http_cache *cache = afc__zalloc(sizeof *cache);
    if (cache == NULL) return afc__fail_memory(failure);
    atomic_init(&cache->references, 1);
    cache->generation = afc__process_generation();
    cache->memory_bytes = options->memory_bytes;
    cache->max_entry_bytes = options->max_entry_bytes;
    afc_status status = make_memory(cache);
    if (status == AFC_OK && !(make_seed(cache->key_seed) && make_seed(cache->content_seed))) {
        afc_cache_free(cache->memory);
        status = AFC_EINTERNAL;
    }
    if (status != AFC_OK) {
        afc_free(cache);
        if (status == AFC_ENOMEM) return afc__fail_memory(failure);
        return afc__fail(failure, status, "the system has no random bytes");
    }
    afc__threads_watch_forks();
    make_lock(&cache->lock);
    *out = cache;
    return AFC_OK;
}

afc_http_cache *afc_http_cache_retain(afc_http_cache *cache) {
    atomic_fetch_add_explicit(&cache->references, 1, memory_order_relaxed);
    return cache;
}

void afc_http_cache_release(afc_http_cache *cache) {
    if (cache == NULL || atomic_fetch_sub(&cache->references, 1) != 1) return;
    afc_cache_free(cache->memory);
    afc__entry_table_clear(&cache->table);
    pthread_mutex_destroy(&cache->lock);
    afc_free(cache);
}

/* ---- Removing ------------------------------------------------------------------------------ */

afc_status afc_http_cache_remove_url(afc_http_cache *cache, const char *partition, const char *url,
                                     afc_failure *failure) {
    afc__url parsed;
    afc__buffer key;
    afc_status status = afc__url_parse(&parsed, afc_slice_of(url), failure);
    if (status != AFC_OK) return status;
    afc__buffer_init(&key, AFC__CACHE_LONGEST_KEY);
    status = afc__cache_key_make(&key, afc_slice_of(partition), afc_slice_of(parsed.text));
    if (status == AFC_OK) afc__cache_remove_key(cache, (afc_slice){key.bytes, key.size});
    afc__buffer_clear(&key);
    afc__url_clear(&parsed);
    if (status == AFC_ENOMEM) return afc__fail_memory(failure);
    if (status == AFC_EINVAL) {
        return afc__fail(failure, status, "a partition must not contain a line feed");
    }
    /* Too long to be stored. */
    return AFC_OK;
}

typedef struct removal {
    uint32_t host;
    bool has_host;
    int64_t since;
} removal;

static bool matches(const afc__entry_record *record, const removal *which) {
    if (which->has_host && record->host != which->host) return false;
    return record->stored_s >= which->since;
}

static void remove_matching(afc_http_cache *cache, const removal *which) {
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < cache->table.capacity;) {
        const afc__entry_record *record = &cache->table.slots[i];
        if (record->places == 0 || !matches(record, which)) {
            i++;
        } else {
            /* Another record may have moved to this slot then. */
            afc__store_forget(cache, record->primary, record->variant);
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void afc_http_cache_remove_host(afc_http_cache *cache, const char *host) {
    removal which = {.has_host = true, .since = INT64_MIN};
    which.host = afc__store_hash_host(cache, afc_slice_of(host));
    remove_matching(cache, &which);
}

void afc_http_cache_remove_since(afc_http_cache *cache, int64_t unix_seconds) {
    removal which = {.since = unix_seconds};
    remove_matching(cache, &which);
}

void afc_http_cache_remove_all(afc_http_cache *cache) {
    removal which = {.since = INT64_MIN};
    remove_matching(cache, &which);
}

/* ---- Capacity and statistics --------------------------------------------------------------- */

void afc_http_cache_set_capacity(afc_http_cache *cache, uint64_t memory_bytes) {
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    cache->memory_bytes = memory_bytes;
    afc__store_trim(cache);
    pthread_mutex_unlock(&cache->lock);
}

static uint64_t count_of(const afc_http_cache *cache, afc__cache_event event) {
    return atomic_load_explicit(&cache->events[event], memory_order_relaxed);
}

void afc_http_cache_get_statistics(afc_http_cache *cache, afc_http_cache_statistics *out) {
    *out = (afc_http_cache_statistics){0};
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    out->entries = cache->table.count;
    out->memory_used = afc_cache_get_cost(cache->memory);
    out->memory_capacity = cache->memory_bytes;
    pthread_mutex_unlock(&cache->lock);
    out->hits = count_of(cache, AFC__CACHE_HIT);
    out->misses = count_of(cache, AFC__CACHE_MISS);
    out->revalidated = count_of(cache, AFC__CACHE_REVALIDATED);
    out->stale = count_of(cache, AFC__CACHE_STALE);
    out->stored = count_of(cache, AFC__CACHE_STORED);
    out->refused = count_of(cache, AFC__CACHE_REFUSED);
}
