#include "cache/table.h"

#include "base/alloc.h"

enum { LINE = 64, FIRST_BUCKETS = 2 };

_Static_assert(sizeof(void *) != 8 || sizeof(af__bucket) == LINE, "a bucket is a cache line");

/** The bucket that comes first for a hash: any number of buckets will do, not only powers of two. */
static inline uint32_t home(const af__table *table, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * table->bucket_count >> 32);
}

static inline uint32_t next(const af__table *table, uint32_t index) {
    return index + 1 == table->bucket_count ? 0 : index + 1;
}

/** Seven eighths full. */
static uint64_t room(uint32_t bucket_count) {
    return (uint64_t)bucket_count * AF__BUCKET_SLOTS * 7 / 8;
}

af__entry *af__table_find(const af__table *table, uint32_t hash, af_slice key) {
    if (table->count == 0) return NULL;
    uint32_t index = home(table, hash);
    for (uint32_t left = table->bucket_count; left != 0; left--, index = next(table, index)) {
        const af__bucket *bucket = &table->buckets[index];
        for (int i = 0; i < AF__BUCKET_SLOTS; i++) {
            af__entry *entry = bucket->slot[i];
            if (bucket->hash[i] != hash || entry == NULL) continue;
            /* What a hit touches next, before the lock's instructions hold back what follows them. */
            __builtin_prefetch((const char *)entry + LINE);
            __builtin_prefetch(entry->value);
            __builtin_prefetch(entry->older, 1);
            __builtin_prefetch(entry->newer, 1);
            if (entry->key_size != key.size) continue;
            if (key.size == 0) return entry;
            if (memcmp(af__entry_key(entry, table->key_offset), key.bytes, key.size) == 0)
                return entry;
        }
        if (bucket->passed_by == 0) break;
    }
    return NULL;
}

static int free_slot(const af__bucket *bucket) {
    for (int i = 0; i < AF__BUCKET_SLOTS; i++) {
        if (bucket->slot[i] == NULL) return i;
    }
    return -1;
}

/** The hash is said apart, so that an entry that only moves is not looked at. */
static void place(af__table *table, uint32_t hash, af__entry *entry) {
    uint32_t index = home(table, hash);
    int free = free_slot(&table->buckets[index]);
    while (free < 0) {
        table->buckets[index].passed_by++;
        index = next(table, index);
        free = free_slot(&table->buckets[index]);
    }
    table->buckets[index].hash[free] = hash;
    table->buckets[index].slot[free] = entry;
    table->count++;
}

void af__table_add(af__table *table, af__entry *entry) {
    place(table, entry->hash, entry);
}

/** The slot of an entry that is in the table; `passed` is added to what each bucket before it counts. */
static af__entry **slot_of(af__table *table, const af__entry *entry, uint32_t passed) {
    uint32_t index = home(table, entry->hash);
    for (;;) {
        af__bucket *bucket = &table->buckets[index];
        for (int i = 0; i < AF__BUCKET_SLOTS; i++) {
            if (bucket->slot[i] == entry) return &bucket->slot[i];
        }
        bucket->passed_by += passed;
        index = next(table, index);
    }
}

void af__table_replace(af__table *table, const af__entry *old, af__entry *entry) {
    *slot_of(table, old, 0) = entry;
}

void af__table_remove(af__table *table, const af__entry *entry) {
    *slot_of(table, entry, UINT32_MAX) = NULL;
    table->count--;
}

static bool grow(af__table *table) {
    uint32_t bucket_count = table->bucket_count + table->bucket_count / 4 + FIRST_BUCKETS;
    if (bucket_count < table->bucket_count) return false;
    void *block = af__zalloc((size_t)bucket_count * sizeof(af__bucket) + LINE - 1);
    if (block == NULL) return false;
    af__table larger = *table;
    larger.block = block;
    larger.buckets = (af__bucket *)(void *)(((uintptr_t)block + LINE - 1) & ~(uintptr_t)(LINE - 1));
    larger.bucket_count = bucket_count;
    larger.count = 0;
    for (uint32_t index = 0; index < table->bucket_count; index++) {
        const af__bucket *bucket = &table->buckets[index];
        for (int i = 0; i < AF__BUCKET_SLOTS; i++) {
            if (bucket->slot[i] != NULL) place(&larger, bucket->hash[i], bucket->slot[i]);
        }
    }
    af_free(table->block);
    *table = larger;
    return true;
}

bool af__table_reserve(af__table *table) {
    if (table->count < room(table->bucket_count)) return true;
    return grow(table) || table->count < (uint64_t)table->bucket_count * AF__BUCKET_SLOTS;
}

void af__table_clear(af__table *table) {
    af_free(table->block);
    table->block = NULL;
    table->buckets = NULL;
    table->bucket_count = table->count = 0;
}
