/**
 * The internals of a cache, for cache/ and its tests.
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

/** A shard: the entries with some of the hashes. Everything that a hit needs is in its first cache line. */
typedef struct af__shard {
    _Alignas(64) af__lock lock; /**< Protects the following fields. */
    uint64_t clock;             /**< Stamp of the last use. */
    uint64_t hits;
    af__table table;
    uint64_t cost, memory;
    uint64_t misses, puts, evictions;
    _Atomic uint64_t
        oldest_stamp; /**< Stamp of the oldest entry, readable without the lock. UINT64_MAX: none. */
} af__shard;

_Static_assert(sizeof(void *) != 8 || offsetof(af__shard, table) + offsetof(af__table, block) <= 64,
               "a hit stays within the first line");

struct af_cache {
    af_cache_options options; /**< Effective limits; max_cost is never 0. */
    af__hash_seed seed;
    int64_t ttl_us;
    uint64_t keep_under_pressure;
    af__shard *shards;
    void *block;
    uint32_t shard_count;
    uint32_t key_offset;    /**< Offset of the key in each entry. */
    af__pressure *pressure; /**< NULL until it is watched; protected by `purging`. */
    pthread_mutex_t purging;
    char padding[64];       /**< Separates written fields from read-only ones (false sharing). */
    _Atomic uint64_t clock; /**< Approximate stamp of the last use in any shard. */
    _Atomic uint64_t cost;  /**< Sum of all shards. */
    _Atomic uint64_t count; /**< Sum of all shards if there is a max_count; else 0. */
};

/** Watches a descriptor, which it takes; see af_cache_watch_pressure(). */
af_status af__cache_watch(af_cache *cache, int descriptor, uint64_t keep, af_failure *failure);

#endif
