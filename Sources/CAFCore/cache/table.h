/**
 * The hash table of one shard: from a key to its entry, and the entries themselves.
 *
 * Buckets are cache lines with room for five entries and the low halves of their hashes. A bucket
 * counts how many entries would have liked to be in it but lie behind it, so that a search knows
 * where to stop and a removal leaves no trace.
 */
#ifndef AF_CACHE_TABLE_H
#define AF_CACHE_TABLE_H

#include <afcore/base.h>
#include <stdatomic.h>

/** One block: this, in caches whose entries expire the time of that (int64_t, unaligned), and the key. */
typedef struct af__entry {
    struct af__entry *older, *newer; /**< In the order of use; `older` also links what has left. */
    void *value;
    uint64_t cost;
    uint64_t stamp;    /**< When it was last used, in the cache's own count. */
    uint32_t hash;     /**< The low half. */
    uint32_t readers;  /**< Those who came to retain the value; under the lock. */
    atomic_uint left;  /**< Those of them who have done so. */
    uint16_t key_size; /**< Of the key, at the table's `key_offset`. */
} af__entry;

enum {
    AF__BUCKET_SLOTS = 5,
    /** Where the last member ends, which is not where the structure does. */
    AF__ENTRY_END = offsetof(af__entry, key_size) + sizeof(uint16_t)
};

typedef struct af__bucket {
    uint32_t hash[AF__BUCKET_SLOTS];
    uint32_t passed_by; /**< Entries that lie further on than this, which comes first for them. */
    af__entry *slot[AF__BUCKET_SLOTS];
} af__bucket;

typedef struct af__table {
    af__bucket *buckets; /**< NULL while there are none; aligned to a cache line in `block`. */
    void *block;
    uint32_t bucket_count;
    uint32_t count;
    uint32_t key_offset; /**< In every entry, from its begin. */
} af__table;

static inline char *af__entry_key(af__entry *entry, uint32_t key_offset) {
    return (char *)entry + key_offset;
}

/** The entry of this key and hash, or NULL. */
af__entry *af__table_find(const af__table *table, uint32_t hash, af_slice key);

/** Room for one more; false when out of memory and full. The entry must then be added before all else. */
bool af__table_reserve(af__table *table);

/** Add an entry, by its `hash`, whose key is not in the table. There is room. */
void af__table_add(af__table *table, af__entry *entry);

/** Put another entry of the same key and hash into the place of one that is in the table. */
void af__table_replace(af__table *table, const af__entry *old, af__entry *entry);

/** Remove an entry that is in the table. */
void af__table_remove(af__table *table, const af__entry *entry);

/** Forget all entries and give the memory back. */
void af__table_clear(af__table *table);

/** Begin to load what a removal of this entry will look at. */
static inline void af__table_prefetch(const af__table *table, uint32_t hash) {
    __builtin_prefetch(&table->buckets[(uint64_t)hash * table->bucket_count >> 32]);
}

#endif
