/**
 * The entries of one shard: by their keys, and in the order of use.
 *
 * The table is open: buckets are cache lines with room for three entries, their values and the low
 * halves of their hashes, so that entry and value are on their way from memory at once. A bucket
 * counts how many entries would have liked to be in it but lie behind it: a search knows where to
 * stop, and a removal leaves no trace. The order is a list through a second array with two
 * places and a time for every slot: an entry comes and goes within it without a look at its neighbours, which
 * have long left the processor's cache where this array is still in it.
 *
 * Benchmarks/cache justifies the table, the lock and the hash together: a lookup takes 159 ns with one thread and
 * 563 ns with two, and 377 and 928 ns with GLib's chained table, its list and a mutex (best of four rounds, on a
 * machine with two processors, both busy).
 */
#ifndef AF_CACHE_TABLE_H
#define AF_CACHE_TABLE_H

#include <afcore/base.h>
#include <stdatomic.h>

/** One block: this, in caches whose entries expire the time of that (int64_t, unaligned), and the key. */
typedef struct af__entry {
    union {
        uint64_t cost;
        void *value; /**< Once it has left; until then it lies in the bucket. */
    };
    uint32_t readers;  /**< Those who came to retain the value; under the lock. */
    atomic_uint left;  /**< Those of them who have done so. */
    uint16_t key_size; /**< Of the key, at the table's `key_offset`. */
} af__entry;

enum {
    AF__BUCKET_SLOTS = 3,
    /** Where the last member ends, which is not where the structure does. */
    AF__ENTRY_END = offsetof(af__entry, key_size) + sizeof(uint16_t)
};

typedef struct af__bucket {
    uint32_t hash[AF__BUCKET_SLOTS];
    uint32_t passed_by; /**< Entries that lie further on than this, which comes first for them. */
    af__entry *slot[AF__BUCKET_SLOTS];
    void *value[AF__BUCKET_SLOTS];
} af__bucket;

/** Where an entry is, until the table grows: the number of its slot, from 1. 0: nowhere. */
typedef uint32_t af__place;

/** What is at a place, in the order of use. */
typedef struct af__links {
    af__place newer, older; /**< 0 behind the newest and before the oldest. */
    uint64_t stamp;         /**< When it was last used, in the cache's own count. */
} af__links;

typedef struct af__table {
    af__bucket *buckets; /**< NULL while there are none; aligned to a cache line in `block`. */
    af__links *links;    /**< By place; in the same block. */
    uint32_t bucket_count;
    uint32_t count;
    af__place newest, oldest; /**< By use; 0: the table is empty. */
    uint32_t key_offset;      /**< In every entry, from its begin. */
    void *block;
} af__table;

static inline char *af__entry_key(af__entry *entry, uint32_t key_offset) {
    return (char *)entry + key_offset;
}

static inline af__bucket *af__table_bucket(const af__table *table, af__place place) {
    return &table->buckets[(place - 1) / AF__BUCKET_SLOTS];
}

/** The entry at a place where there is one. */
static inline af__entry *af__table_entry(const af__table *table, af__place place) {
    return af__table_bucket(table, place)->slot[(place - 1) % AF__BUCKET_SLOTS];
}

/** Its value. */
static inline void *af__table_value(const af__table *table, af__place place) {
    return af__table_bucket(table, place)->value[(place - 1) % AF__BUCKET_SLOTS];
}

/** The place of the entry of this key and hash, or 0. */
af__place af__table_find(const af__table *table, uint32_t hash, af_slice key);

/** Room for one more; false when out of memory and full. The entry must then be added before all else. */
bool af__table_reserve(af__table *table);

/** Add an entry whose key is not in the table, as used last, at `stamp`. There is room. */
void af__table_add(af__table *table, uint32_t hash, af__entry *entry, void *value, uint64_t stamp);

/** Put another entry of the same key there. */
void af__table_replace(af__table *table, af__place place, af__entry *entry, void *value);

/** Make what is there the most recently used, at `stamp`. */
void af__table_use(af__table *table, af__place place, uint64_t stamp);

/** Take out what is there. */
void af__table_remove(af__table *table, af__place place);

/** Forget all entries and give the memory back. */
void af__table_clear(af__table *table);

/** The bytes that a table takes beside its entries. */
size_t af__table_size(const af__table *table);

#endif
