/**
 * The entries of one shard: a hash table by key, and a list by use.
 *
 * The table uses open addressing. A bucket is a cache line with three entries: pointers to the entry and its value, and
 * the low half of its hash, so that both can be prefetched. A bucket counts the entries that were stored in a later
 * bucket because it was full (`passed_by`), so that a search knows where to stop, and removal needs no tombstones. The
 * list is a second array with two links and a stamp per slot: relinking an entry doesn't touch its neighbours, which
 * are seldom in the processor's cache, while this array is.
 *
 * Benchmarks/cache justifies the table, the lock and the hash together: a lookup takes 159 ns with one thread and 563
 * ns with two, and 377 and 928 ns with GLib's chained table, its list and a mutex (best of four rounds, on a machine
 * with two processors, both busy).
 */
#ifndef AFC_LRU_TABLE_H
#define AFC_LRU_TABLE_H

#include <afcore/base.h>
#include <stdatomic.h>

/**
 * An entry is one block: this struct, then the key. In a cache with a time to live, the expiry time (int64_t,
 * unaligned) is between the two.
 */
typedef struct afc__lru_entry {
    union {
        uint64_t cost;
        /** The value, after the entry was removed from the table; before that it is in the bucket. */
        void *value;
    };
    uint32_t readers; /**< Number of readers that found the entry; under the lock. */
    /** Number of readers that have retained the value; see begin_reading() in lru.c. */
    atomic_uint left;
    uint16_t key_size; /**< Size of the key, which is at the table's `key_offset`. */
} afc__lru_entry;

enum {
    AFC__LRU_BUCKET_SLOTS = 3,
    /** End of the last member, without the struct's padding. */
    AFC__LRU_ENTRY_END = offsetof(afc__lru_entry, key_size) + sizeof(uint16_t)
};

typedef struct afc__lru_bucket {
    uint32_t hash[AFC__LRU_BUCKET_SLOTS];
    /** Number of entries for which a search passes this bucket, as they are stored in a later one. */
    uint32_t passed_by;
    afc__lru_entry *slot[AFC__LRU_BUCKET_SLOTS];
    void *value[AFC__LRU_BUCKET_SLOTS];
} afc__lru_bucket;

/** A slot, numbered from 1 across all buckets, valid until the table grows; 0 if there is none. */
typedef uint32_t afc__lru_place;

/** The links of a slot in the order of use. */
typedef struct afc__lru_links {
    afc__lru_place newer, older; /**< 0 after the newest and before the oldest. */
    uint64_t stamp;              /**< Stamp of the last use, in the cache's own count. */
} afc__lru_links;

typedef struct afc__lru_table {
    /** NULL if there are none; aligned to a cache line within `block`. */
    afc__lru_bucket *buckets;
    afc__lru_links *links; /**< Indexed by place; in the same block. */
    uint32_t bucket_count;
    uint32_t count;
    afc__lru_place newest, oldest; /**< Most and least recently used; 0 if the table is empty. */
    uint32_t key_offset;           /**< Offset of the key in each entry. */
    void *block;
} afc__lru_table;

static inline char *afc__lru_entry_key(afc__lru_entry *entry, uint32_t key_offset) {
    return (char *)entry + key_offset;
}

static inline afc__lru_bucket *afc__lru_table_bucket(const afc__lru_table *table,
                                                     afc__lru_place place) {
    return &table->buckets[(place - 1) / AFC__LRU_BUCKET_SLOTS];
}

/** Returns the entry at an occupied place. */
static inline afc__lru_entry *afc__lru_table_entry(const afc__lru_table *table,
                                                   afc__lru_place place) {
    return afc__lru_table_bucket(table, place)->slot[(place - 1) % AFC__LRU_BUCKET_SLOTS];
}

/** Returns the value of the entry at an occupied place. */
static inline void *afc__lru_table_value(const afc__lru_table *table, afc__lru_place place) {
    return afc__lru_table_bucket(table, place)->value[(place - 1) % AFC__LRU_BUCKET_SLOTS];
}

/** Returns the place of the entry with this key and hash, or 0. */
afc__lru_place afc__lru_table_find(const afc__lru_table *table, uint32_t hash, afc_slice key);

/**
 * Reserves capacity for one more entry. Returns false if out of memory while the table is full. Add the entry before
 * any other change.
 */
bool afc__lru_table_reserve(afc__lru_table *table);

/**
 * Adds an entry as the most recently used, at `stamp`. Its key must not be in the table, and there must be capacity.
 */
void afc__lru_table_add(afc__lru_table *table, uint32_t hash, afc__lru_entry *entry, void *value,
                        uint64_t stamp);

/** Replaces an entry by one with the same key. */
void afc__lru_table_replace(afc__lru_table *table, afc__lru_place place, afc__lru_entry *entry,
                            void *value);

/** Makes an entry the most recently used, at `stamp`. */
void afc__lru_table_use(afc__lru_table *table, afc__lru_place place, uint64_t stamp);

/** Removes the entry at a place. */
void afc__lru_table_remove(afc__lru_table *table, afc__lru_place place);

/** Removes all entries and frees the memory. */
void afc__lru_table_clear(afc__lru_table *table);

/** Returns the size of a table in bytes, without its entries. */
size_t afc__lru_table_size(const afc__lru_table *table);

#endif
