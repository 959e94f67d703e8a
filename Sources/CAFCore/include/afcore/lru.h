/**
 * An in-memory cache that evicts the least recently used entries when their total cost exceeds its
 * capacity.
 *
 * Order of use: exact for the calls of one thread, and for the entries of one shard. Across threads and
 * shards, the order may be off by up to 64 reads before a put. With one shard it is always exact.
 */
#ifndef AFCORE_LRU_H
#define AFCORE_LRU_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** A cache. Every function may be called from any thread, unless it says otherwise. */
typedef struct afc_lru afc_lru;

enum {
    AFC_LRU_KEY_MAX = 65535, /**< Maximum length of a key, in bytes. */
    AFC_LRU_SHARDS_MAX = 64, /**< Maximum number of shards. */
    /** Maximum overhead of an entry in bytes, on average, without key and value. */
    AFC_LRU_OVERHEAD_MAX = 96
};

/** Why an entry was evicted. */
typedef enum AFC_OPEN_ENUM afc_lru_reason {
    AFC_LRU_COST = 1,    /**< The cost exceeded the capacity, or the limit of afc_lru_trim(). */
    AFC_LRU_COUNT = 2,   /**< The number of entries exceeded `max_count`. */
    AFC_LRU_EXPIRED = 3, /**< Its time to live had expired when it was looked up. */
    AFC_LRU_PRESSURE = 4 /**< The system was low on memory. */
} afc_lru_reason;

/** Options of a cache. Start from AFC_LRU_OPTIONS_INIT. All are copied. Callbacks run without a lock held. */
typedef struct afc_lru_options {
    size_t size; /**< sizeof(afc_lru_options). */
    /**
     * When the total cost exceeds `capacity`, the least recently used entries are evicted until it is at most
     * `purge_to`.
     */
    uint64_t capacity, purge_to;
    /** Maximum cost of an entry; higher ones are refused. 0 means the capacity. */
    uint64_t max_cost;
    /** Maximum number of entries; the least recently used one is evicted. 0 means no limit. */
    uint64_t max_count;
    /** Time to live of an entry after its put, in milliseconds. 0 means no limit. */
    int64_t ttl_ms;
    /**
     * Number of shards, each with its own lock: a power of two. 1 makes the order of use exact; 0 means about four per
     * processor.
     */
    uint32_t shards;
    /** Add and remove a reference to a value. NULL if values have no reference count. */
    void (*retain)(void *context, void *value);
    void (*release)(void *context, void *value);
    /** Reports an evicted entry; `value` is released after this call. May be NULL. */
    void (*on_evict)(void *context, afc_slice key, void *value, afc_lru_reason reason);
    /** Returns monotonic time in microseconds; used only with `ttl_ms`. NULL means CLOCK_MONOTONIC. */
    int64_t (*now_us)(void *context);
    void *context; /**< Passed to the four callbacks. */
} afc_lru_options;

/** A capacity of 100 MiB, purged to 60 MiB; no other limits. */
#define AFC_LRU_OPTIONS_INIT                                                                       \
    {                                                                                              \
        sizeof(afc_lru_options), UINT64_C(100) << 20, UINT64_C(60) << 20, 0, 0, 0, 0, NULL, NULL,  \
            NULL, NULL, NULL                                                                       \
    }

/** Counters since the cache was created; `count`, `cost` and `memory` are current values. */
typedef struct afc_lru_statistics {
    uint64_t hits, misses;
    uint64_t puts;        /**< Values stored. */
    uint64_t evictions;   /**< Entries evicted, expired ones included. */
    uint64_t count;       /**< Number of entries. */
    uint64_t cost;        /**< Total cost of all entries. */
    uint64_t memory;      /**< Bytes allocated for entries, keys and tables, without values. */
    uint64_t reserved[4]; /**< 0. */
} afc_lru_statistics;

/**
 * Creates a cache. `options` may be NULL for the defaults. In the child of a fork the cache may be used
 * only if no other thread was using it when the process was forked.
 *
 * Thread: any.    Owns: `*out` is yours, afc_lru_free().
 * Fails: AFC_ENOMEM; AFC_EINVAL (options without their INIT, `purge_to` exceeds `capacity`, `ttl_ms` is negative, or
 * `shards` isn't a power of two up to AFC_LRU_SHARDS_MAX); AFC_EUNSUPPORTED (an option that this version doesn't have);
 * AFC_EINTERNAL (the system has no random bytes). `*out` is then NULL.
 */
AFC_API afc_status afc_lru_new(afc_lru **out, const afc_lru_options *options, afc_failure *failure);

/**
 * Frees a cache and releases every value; on_evict is not called. NULL is allowed.
 *
 * Thread: any; no other call on `cache` may be in progress.    Owns: takes `cache`.    Fails: never.
 */
AFC_API void afc_lru_free(afc_lru *cache);

/**
 * Stores a value under a key and replaces the one that is there. The key is copied. `value` must not be
 * NULL. If the total cost then exceeds the capacity, the least recently used entries are evicted before it returns.
 *
 * Thread: any.    Owns: takes `value`; on failure it is released.
 * Fails: AFC_ENOMEM; AFC_EINVAL (`value` is NULL, or the key is longer than AFC_LRU_KEY_MAX); AFC_ETOOBIG
 * (`cost` exceeds `max_cost`). Unless `value` is NULL, the key then has no value.
 */
AFC_API afc_status afc_lru_put(afc_lru *cache, afc_slice key, void *value, uint64_t cost);

/**
 * Returns the value of a key and makes its entry the most recently used.
 *
 * Thread: any.    Owns: the value was retained for the caller.    Fails: never; NULL without one.
 */
AFC_API void *afc_lru_copy(afc_lru *cache, afc_slice key);

/**
 * Removes an entry and returns its value. An expired entry counts as missing.
 *
 * Thread: any.    Owns: the returned value is yours.    Fails: never; NULL without one.
 */
AFC_API void *afc_lru_take(afc_lru *cache, afc_slice key);

/**
 * Removes an entry and releases its value. Returns whether there was one; an expired entry counts as
 * missing.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_lru_remove(afc_lru *cache, afc_slice key);

/**
 * Removes and releases every entry that existed when the call began. Returns their number.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_lru_remove_all(afc_lru *cache);

/**
 * Evicts the least recently used entries until the total cost is at most `cost`; on_evict receives `reason`.
 * Returns the number of evicted entries.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_lru_trim(afc_lru *cache, uint64_t cost, afc_lru_reason reason);

/**
 * Returns the total cost of all entries.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_lru_get_cost(const afc_lru *cache);

/**
 * Reads the counters. Each one is exact; they are consistent with each other only if no other thread is
 * using the cache.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_lru_get_statistics(afc_lru *cache, afc_lru_statistics *out);

/** When memory counts as low, by Linux's pressure stall information (PSI). Start from AFC_PRESSURE_OPTIONS_INIT. */
typedef struct afc_pressure_options {
    size_t size; /**< sizeof(afc_pressure_options). */
    /**
     * Memory counts as low if processes have waited for it for `stall_us` microseconds within `window_us`. Without
     * privileges, the window must be a multiple of 2 s.
     */
    uint32_t stall_us, window_us;
    /** A PSI file; NULL means that of the process's control group, else the system's. */
    const char *path;
    /** Maximum total cost of the entries that stay. 0, the default, evicts every entry, as AFNetworking does. */
    uint64_t keep;
} afc_pressure_options;

#define AFC_PRESSURE_OPTIONS_INIT                                                                  \
    { sizeof(afc_pressure_options), 150000, 2000000, NULL, 0 }

/**
 * Evicts entries, with AFC_LRU_PRESSURE, whenever the kernel reports that memory is low. Starts a thread that sleeps
 * until then and ends with the cache. on_evict and release are called on that thread and must not free the cache.
 * `options` may be NULL. In the child of a fork the cache isn't watched, and watching can't be started again; freeing
 * it there doesn't affect the parent.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EUNSUPPORTED (the kernel has no PSI, or `path` doesn't exist), AFC_EFILE (the file can't be opened for
 * watching, such as without permission; or `path` isn't a PSI file, which is then not changed), AFC_EINVAL, AFC_EAGAIN
 * (already watching), AFC_ENOMEM, AFC_EINTERNAL (no thread or descriptor).
 */
AFC_API afc_status afc_lru_watch_pressure(afc_lru *cache, const afc_pressure_options *options,
                                          afc_failure *failure);

AFC_END_DECLS

#endif
