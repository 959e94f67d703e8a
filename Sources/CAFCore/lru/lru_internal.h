/**
 * The internals of an LRU cache, for lru/ and its tests.
 */
#ifndef AFC_LRU_LRU_INTERNAL_H
#define AFC_LRU_LRU_INTERNAL_H

#include "base/failure.h"
#include "base/keyed_hash.h"
#include "lru/lock.h"
#include "lru/pressure.h"
#include "lru/table.h"

#include <afcore/lru.h>
#include <pthread.h>
#include <stdatomic.h>

/** A shard: a part of the entries, selected by their hash. Everything that a hit needs is in its first cache line. */
typedef struct afc__lru_shard {
    _Alignas(64) afc__lru_lock lock; /**< Protects the following fields. */
    uint64_t clock;                  /**< Stamp of the last use in this shard. */
    uint64_t hits;
    afc__lru_table table;
    uint64_t cost, memory;
    uint64_t misses, puts, evictions;
    /** Stamp of the oldest entry, readable without the lock; UINT64_MAX if the shard is empty. */
    _Atomic uint64_t oldest_stamp;
} afc__lru_shard;

_Static_assert(sizeof(void *) != 8 ||
                   offsetof(afc__lru_shard, table) + offsetof(afc__lru_table, block) <= 64,
               "a hit stays within the first line");

struct afc_lru {
    afc_lru_options options; /**< Effective limits; max_cost is never 0. */
    afc__hash_seed seed;
    int64_t ttl_us;
    uint64_t keep_under_pressure;
    afc__lru_shard *shards;
    void *block;
    uint32_t shard_count;
    uint32_t key_offset;     /**< Offset of the key in each entry. */
    afc__pressure *pressure; /**< NULL until memory pressure is watched; protected by `purging`. */
    pthread_mutex_t purging;
    char padding[64];       /**< Separates written fields from read-only ones (false sharing). */
    _Atomic uint64_t clock; /**< Approximate stamp of the last use in any shard. */
    _Atomic uint64_t cost;  /**< Sum of all shards. */
    _Atomic uint64_t count; /**< Sum of all shards if there is a max_count; otherwise 0. */
};

/** Watches a descriptor, and takes ownership of it; see afc_lru_watch_pressure(). Declared for tests. */
afc_status afc__lru_watch(afc_lru *cache, int descriptor, uint64_t keep, afc_failure *failure);

#endif
