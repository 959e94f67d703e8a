/**
 * A cache in memory: what was least recently used leaves first, by what it costs.
 *
 * Order of use. What one thread does, and what happens to entries of the same shard, is in its exact
 * order. Between threads and shards it is exact but for the last 64 reads before a put. With one
 * shard it is always exact.
 */
#ifndef AFCORE_CACHE_H
#define AFCORE_CACHE_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

typedef struct af_cache af_cache;

enum {
    AF_CACHE_KEY_MAX = 65535,  /**< Bytes of the longest key. */
    AF_CACHE_SHARDS_MAX = 64,  /**< Parts with a lock of their own. */
    AF_CACHE_OVERHEAD_MAX = 96 /**< Bytes an entry costs beside key and value, on average. */
};

/** Why an entry left on its own. */
typedef enum AF_OPEN_ENUM af_cache_reason {
    AF_CACHE_COST = 1,    /**< The capacity was passed, or af_cache_trim() asked for it. */
    AF_CACHE_COUNT = 2,   /**< There were more entries than `max_count`. */
    AF_CACHE_EXPIRED = 3, /**< Its time to live was over when it was asked for. */
    AF_CACHE_PRESSURE = 4 /**< The system was short of memory. */
} af_cache_reason;

/** Start from AF_CACHE_INIT. Everything is copied. The functions are called without any lock held. */
typedef struct af_cache_options {
    size_t size; /**< sizeof(af_cache_options), for growth. */
    /** With costs of more than this in all, the oldest leave until `purge_to` at most is left. */
    uint64_t capacity, purge_to;
    uint64_t max_cost;  /**< Of a single entry; what costs more is refused. 0: the capacity. */
    uint64_t max_count; /**< Entries at most; beyond it the oldest leaves. 0: any number. */
    int64_t ttl_ms;     /**< From put to the last moment of an entry. 0: no limit. */
    /** Parts with a lock of their own, a power of two; 1: exact order. 0: as many as this machine can use. */
    uint32_t shards;
    /** One more, one less reference to a value. NULL where values need none. */
    void (*retain)(void *context, void *value);
    void (*release)(void *context, void *value);
    /** An entry has left on its own; `value` is released after this call. May be NULL. */
    void (*on_evict)(void *context, af_slice key, void *value, af_cache_reason reason);
    /** Microseconds of a clock that never goes back, asked only with a time to live. NULL: the system's. */
    int64_t (*now_us)(void *context);
    void *context; /**< For the four functions. */
} af_cache_options;

/** 100 MiB, purged to 60 MiB. */
#define AF_CACHE_INIT                                                                              \
    {                                                                                              \
        sizeof(af_cache_options), UINT64_C(100) << 20, UINT64_C(60) << 20, 0, 0, 0, 0, NULL, NULL, \
            NULL, NULL, NULL                                                                       \
    }

/** Of a cache since it was made; `count`, `cost` and `memory` are of now. */
typedef struct af_cache_statistics {
    uint64_t hits, misses;
    uint64_t puts;      /**< Values that came in. */
    uint64_t evictions; /**< Entries that left on their own, expired ones included. */
    uint64_t count;     /**< Entries. */
    uint64_t cost;      /**< Of all entries. */
    uint64_t memory;    /**< Bytes asked of the heap: entries with their keys, and tables. */
} af_cache_statistics;

/**
 * Make a cache. `options` may be NULL for the defaults. In the child of a fork it may be used only
 * if no other thread was using it at that moment.
 *
 * Thread: any.    Owns: `*out` is yours, af_cache_free().
 * Fails: AF_ENOMEM, AF_EINVAL (purge_to above capacity, a number of shards that is no power of two),
 * AF_EINTERNAL (the system has no random bytes); `*out` is then NULL.
 */
AF_API af_status af_cache_new(af_cache **out, const af_cache_options *options);

/**
 * Free a cache and release every value; on_evict is not called. NULL is fine.
 *
 * Thread: any; no other call may be under way.    Owns: takes `cache`.    Fails: never.
 */
AF_API void af_cache_free(af_cache *cache);

/**
 * Keep a value under a key, instead of the one that is there. The key is copied. `value` must not
 * be NULL. If this passes the capacity, the oldest entries leave before it returns.
 *
 * Thread: any.    Owns: takes `value`, on failure too: it is then released.
 * Fails: AF_ENOMEM; AF_EINVAL (no value, a key longer than AF_CACHE_KEY_MAX); AF_ETOOBIG (costs
 * more than one entry may). Nothing is kept under the key then.
 */
AF_API af_status af_cache_put(af_cache *cache, af_slice key, void *value, uint64_t cost);

/**
 * The value of a key, which becomes the most recently used.
 *
 * Thread: any.    Owns: the value was retained for you.    Fails: never; NULL if there is none.
 */
AF_API void *af_cache_copy(af_cache *cache, af_slice key);

/**
 * Take the value of a key out. Expired ones count as none.
 *
 * Thread: any.    Owns: the returned value is yours.    Fails: never; NULL if there is none.
 */
AF_API void *af_cache_take(af_cache *cache, af_slice key);

/**
 * Remove a key and release its value; whether there was one. Expired ones count as none.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API bool af_cache_remove(af_cache *cache, af_slice key);

/**
 * Remove and release everything that was there when the call began; the number of entries.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API uint64_t af_cache_remove_all(af_cache *cache);

/**
 * Let the oldest leave until all costs together are at most `cost`; on_evict hears `reason`.
 * Returns how many have left.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API uint64_t af_cache_trim(af_cache *cache, uint64_t cost, af_cache_reason reason);

/**
 * The costs of all entries together.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API uint64_t af_cache_get_cost(const af_cache *cache);

/**
 * The counters as they are now; each is exact, together only while nobody uses the cache.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_cache_get_statistics(af_cache *cache, af_cache_statistics *out);

/** When memory counts as short, see the kernel's text on PSI. Start from AF_PRESSURE_INIT. */
typedef struct af_pressure_options {
    size_t size; /**< sizeof(af_pressure_options), for growth. */
    /** Some process waited for memory for so long within the window. Unprivileged: a window of whole 2 s. */
    uint32_t stall_us, window_us;
    const char *path; /**< A file of PSI; NULL: that of our control group, else the system's. */
    uint64_t
        keep; /**< Costs that may stay. 0: everything leaves, as on AFNetworking's memory warning. */
} af_pressure_options;

#define AF_PRESSURE_INIT                                                                           \
    { sizeof(af_pressure_options), 150000, 2000000, NULL, 0 }

/**
 * From now on let entries leave, with AF_CACHE_PRESSURE, whenever the kernel says that memory is
 * short. The first call starts a thread, which sleeps until then and ends with the cache; on_evict
 * and release are called there, and must not free the cache. `options` may be NULL.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AF_EUNSUPPORTED (a kernel without PSI), AF_EFILE (we may not watch it), AF_EINVAL, AF_EAGAIN
 * (it is watched already), AF_ENOMEM, AF_EINTERNAL (no thread or descriptor). `failure` may be NULL.
 */
AF_API af_status af_cache_watch_pressure(af_cache *cache, const af_pressure_options *options,
                                         af_failure *failure);

AF_END_DECLS

#endif
