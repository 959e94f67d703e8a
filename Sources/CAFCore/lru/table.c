#include "lru/table.h"

#include "base/alloc.h"

enum { LINE = 64, FIRST_BUCKETS = 2 };

/** Limit of the number of buckets: places have 32 bits, and 0 is reserved. */
static const uint32_t MAX_BUCKETS = UINT32_MAX / AFC__LRU_BUCKET_SLOTS - 1;

_Static_assert(sizeof(void *) != 8 || sizeof(afc__lru_bucket) == LINE, "a bucket is a cache line");

/** Returns the bucket where a search for a hash begins. The number of buckets needn't be a power of two. */
static inline uint32_t home(const afc__lru_table *table, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * table->bucket_count >> 32);
}

static inline uint32_t next(const afc__lru_table *table, uint32_t index) {
    return index + 1 == table->bucket_count ? 0 : index + 1;
}

static inline afc__lru_place place_of(uint32_t bucket, int slot) {
    return bucket * AFC__LRU_BUCKET_SLOTS + (uint32_t)slot + 1;
}

/** Returns how many entries are allowed: seven eighths of the slots. */
static uint64_t capacity_of(uint32_t bucket_count) {
    return (uint64_t)bucket_count * AFC__LRU_BUCKET_SLOTS * 7 / 8;
}

/* ---- The order of use ---------------------------------------------------------------------- */

static inline void unlink_place(afc__lru_table *table, afc__lru_place place) {
    afc__lru_links links = table->links[place];
    if (links.newer != 0) {
        table->links[links.newer].older = links.older;
    } else {
        table->newest = links.older;
    }
    if (links.older != 0) {
        table->links[links.older].newer = links.newer;
    } else {
        table->oldest = links.newer;
    }
}

static inline void link_newest(afc__lru_table *table, afc__lru_place place, uint64_t stamp) {
    afc__lru_place before = table->newest;
    table->links[place] = (afc__lru_links){.newer = 0, .older = before, .stamp = stamp};
    if (before != 0) {
        table->links[before].newer = place;
    } else {
        table->oldest = place;
    }
    table->newest = place;
}

void afc__lru_table_use(afc__lru_table *table, afc__lru_place place, uint64_t stamp) {
    if (table->newest == place) {
        table->links[place].stamp = stamp;
        return;
    }
    unlink_place(table, place);
    link_newest(table, place, stamp);
}

/* ---- By key -------------------------------------------------------------------------------- */

afc__lru_place afc__lru_table_find(const afc__lru_table *table, uint32_t hash, afc_slice key) {
    if (table->count == 0) return 0;
    uint32_t index = home(table, hash);
    for (uint32_t left = table->bucket_count; left != 0; left--, index = next(table, index)) {
        const afc__lru_bucket *bucket = &table->buckets[index];
        for (int i = 0; i < AFC__LRU_BUCKET_SLOTS; i++) {
            afc__lru_entry *entry = bucket->slot[i];
            if (bucket->hash[i] != hash || entry == NULL) continue;
            /* Prefetches everything that a hit needs next. */
            afc__lru_place place = place_of(index, i);
            __builtin_prefetch((const char *)entry + LINE);
            __builtin_prefetch(bucket->value[i]);
            const afc__lru_links *links = &table->links[place];
            __builtin_prefetch(&table->links[links->older], 1);
            __builtin_prefetch(&table->links[links->newer], 1);
            if (entry->key_size != key.size) continue;
            if (key.size == 0) return place;
            if (memcmp(afc__lru_entry_key(entry, table->key_offset), key.bytes, key.size) == 0)
                return place;
        }
        if (bucket->passed_by == 0) break;
    }
    return 0;
}

static int free_slot(const afc__lru_bucket *bucket) {
    for (int i = 0; i < AFC__LRU_BUCKET_SLOTS; i++) {
        if (bucket->slot[i] == NULL) return i;
    }
    return -1;
}

/** Stores an entry in the first free slot. Doesn't access the entry. */
static afc__lru_place put(afc__lru_table *table, uint32_t hash, afc__lru_entry *entry,
                          void *value) {
    uint32_t index = home(table, hash);
    int free = free_slot(&table->buckets[index]);
    while (free < 0) {
        table->buckets[index].passed_by++;
        index = next(table, index);
        free = free_slot(&table->buckets[index]);
    }
    afc__lru_bucket *bucket = &table->buckets[index];
    bucket->hash[free] = hash;
    bucket->slot[free] = entry;
    bucket->value[free] = value;
    table->count++;
    return place_of(index, free);
}

void afc__lru_table_add(afc__lru_table *table, uint32_t hash, afc__lru_entry *entry, void *value,
                        uint64_t stamp) {
    link_newest(table, put(table, hash, entry, value), stamp);
}

void afc__lru_table_replace(afc__lru_table *table, afc__lru_place place, afc__lru_entry *entry,
                            void *value) {
    afc__lru_bucket *bucket = afc__lru_table_bucket(table, place);
    bucket->slot[(place - 1) % AFC__LRU_BUCKET_SLOTS] = entry;
    bucket->value[(place - 1) % AFC__LRU_BUCKET_SLOTS] = value;
}

void afc__lru_table_remove(afc__lru_table *table, afc__lru_place place) {
    afc__lru_bucket *bucket = afc__lru_table_bucket(table, place);
    uint32_t slot = (place - 1) % AFC__LRU_BUCKET_SLOTS;
    bucket->slot[slot] = NULL;
    for (uint32_t index = home(table, bucket->hash[slot]); &table->buckets[index] != bucket;
         index = next(table, index)) {
        table->buckets[index].passed_by--;
    }
    unlink_place(table, place);
    table->count--;
}

/* ---- Growing ------------------------------------------------------------------------------- */

/**
 * Returns the size of a block: of the buckets, of the links for place 0 and for each slot, and of the padding for
 * alignment.
 */
static size_t block_size(uint32_t bucket_count) {
    size_t places = (size_t)bucket_count * AFC__LRU_BUCKET_SLOTS + 1;
    return (size_t)bucket_count * sizeof(afc__lru_bucket) + places * sizeof(afc__lru_links) + LINE -
           1;
}

size_t afc__lru_table_size(const afc__lru_table *table) {
    return table->block != NULL ? block_size(table->bucket_count) : 0;
}

/** Creates an empty table. Returns false if out of memory. */
static bool make(afc__lru_table *out, uint32_t bucket_count) {
    out->block = afc__zalloc(block_size(bucket_count));
    if (out->block == NULL) return false;
    uintptr_t begin = ((uintptr_t)out->block + LINE - 1) & ~(uintptr_t)(LINE - 1);
    out->buckets = (afc__lru_bucket *)begin;
    out->links = (afc__lru_links *)(void *)(out->buckets + bucket_count);
    out->bucket_count = bucket_count;
    return true;
}

/** Returns the new place of an entry. move_entries() stores it in the old table, in place of the hash. */
static afc__lru_place moved(const afc__lru_table *old, afc__lru_place place) {
    if (place == 0) return 0;
    return afc__lru_table_bucket(old, place)->hash[(place - 1) % AFC__LRU_BUCKET_SLOTS];
}

static void move_entries(afc__lru_table *table, afc__lru_table *old) {
    for (uint32_t index = 0; index < old->bucket_count; index++) {
        afc__lru_bucket *bucket = &old->buckets[index];
        for (int i = 0; i < AFC__LRU_BUCKET_SLOTS; i++) {
            if (bucket->slot[i] == NULL) continue;
            bucket->hash[i] = put(table, bucket->hash[i], bucket->slot[i], bucket->value[i]);
        }
    }
    for (uint32_t index = 0; index < old->bucket_count; index++) {
        const afc__lru_bucket *bucket = &old->buckets[index];
        for (int i = 0; i < AFC__LRU_BUCKET_SLOTS; i++) {
            if (bucket->slot[i] == NULL) continue;
            afc__lru_links links = old->links[place_of(index, i)];
            table->links[bucket->hash[i]] = (afc__lru_links){moved(old, links.newer),
                                                             moved(old, links.older), links.stamp};
        }
    }
    table->newest = moved(old, old->newest);
    table->oldest = moved(old, old->oldest);
}

static bool grow(afc__lru_table *table) {
    uint64_t wanted = (uint64_t)table->bucket_count + table->bucket_count / 4 + FIRST_BUCKETS;
    if (wanted > MAX_BUCKETS) return false;
    afc__lru_table larger = {.key_offset = table->key_offset};
    if (!make(&larger, (uint32_t)wanted)) return false;
    if (table->count != 0) move_entries(&larger, table);
    afc_free(table->block);
    *table = larger;
    return true;
}

bool afc__lru_table_reserve(afc__lru_table *table) {
    if (table->count < capacity_of(table->bucket_count)) return true;
    return grow(table) || table->count < (uint64_t)table->bucket_count * AFC__LRU_BUCKET_SLOTS;
}

void afc__lru_table_clear(afc__lru_table *table) {
    afc_free(table->block);
    *table = (afc__lru_table){.key_offset = table->key_offset};
}
