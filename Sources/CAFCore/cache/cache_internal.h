/**
 * What a cache is made of, for cache/ and its tests.
 */
#ifndef AF_CACHE_CACHE_INTERNAL_H
#define AF_CACHE_CACHE_INTERNAL_H

#include "base/failure.h"
#include "base/keyed_hash.h"
#include "cache/lock.h"
#include "cache/pressure.h"
#include "cache/table.h"

#include <afcore/cache.h>
#include <pthread.h>
#include <stdatomic.h>

/** A part of the cache: the entries whose hashes say so. What a hit touches is in its first cache line. */
typedef struct af__shard {
    _Alignas(64) af__lock lock; /**< Of all that follows. */
    uint64_t clock;             /**< The stamp of the last use. */
    uint64_t hits;
    af__table table;
    uint64_t cost, memory;
    uint64_t misses, puts, evictions;
    _Atomic uint64_t
        oldest_stamp; /**< Of the oldest entry, to be read without the lock. UINT64_MAX: none. */
} af__shard;

_Static_assert(sizeof(void *) != 8 || offsetof(af__shard, table) + offsetof(af__table, block) <= 64,
               "a hit stays within the first line");

struct af_cache {
    af_cache_options options; /**< With the limits that hold, never 0 for max_cost. */
    af__hash_seed seed;
    int64_t ttl_us;
    uint64_t keep_under_pressure;
    af__shard *shards;
    void *block;
    uint32_t shard_count;
    uint32_t key_offset;    /**< In every entry, from its begin. */
    af__pressure *pressure; /**< NULL until asked for; under `purging`. */
    pthread_mutex_t purging;
    char padding[64];       /**< What is written stays apart from what is only read. */
    _Atomic uint64_t clock; /**< About the stamp of the last use in any shard. */
    _Atomic uint64_t cost;  /**< Of all shards. */
    _Atomic uint64_t count; /**< Of all shards, with a max_count; else 0. */
};

/** Watch a descriptor, which is taken, as af_cache_watch_pressure() does. */
af_status af__cache_watch(af_cache *cache, int descriptor, uint64_t keep, af_failure *failure);

#endif
