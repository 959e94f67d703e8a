#include "lru/lru_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sized.h"

#include <unistd.h>

enum {
    LINE = 64,
    /** Maximum number of reads that a shard counts before it updates the shared clock. */
    READS_AHEAD = 64,
    /** Maximum number of entries evicted before the locks are released and their values freed. */
    AT_ONCE = 128
};

/**
 * Limit of the capacity, so that the sum of costs can't overflow: as many entries with a cost of one would have to be
 * added at once.
 */
static const uint64_t MAX_COST = UINT64_C(1) << 56;

static const uint64_t NEVER = UINT64_MAX;

/** The stamp of this thread's last use of any cache; see stamp(). */
static _Thread_local uint64_t last_stamp;

/* ---- Releasing, without a lock ------------------------------------------------------------- */

_Static_assert(AFC_LRU_KEY_MAX == UINT16_MAX, "entries have two bytes for it");

static void release_value(const afc_lru *cache, void *value) {
    if (cache->options.release != NULL) cache->options.release(cache->options.context, value);
}

static void free_entry(const afc_lru *cache, afc__lru_entry *entry) {
    release_value(cache, entry->value);
    afc_free(entry);
}

/*
 * Readers retain the value after they release the lock, so a removed entry must outlive the readers that found it.
 * `readers` counts them under the lock, `left` those that are done. Removing the entry subtracts `readers` from
 * `left`; the thread that makes the difference 0 is the last one.
 */
static void begin_reading(afc__lru_entry *entry) {
    if (entry->readers == UINT32_MAX) {
        uint32_t left = atomic_load_explicit(&entry->left, memory_order_relaxed);
        atomic_fetch_sub_explicit(&entry->left, left, memory_order_relaxed);
        entry->readers -= left;
    }
    entry->readers++;
}

static void end_reading(const afc_lru *cache, afc__lru_entry *entry) {
    if (atomic_fetch_add_explicit(&entry->left, 1, memory_order_acq_rel) + 1 == 0) {
        free_entry(cache, entry);
    }
}

static bool has_readers(const afc__lru_entry *entry) {
    return atomic_load_explicit(&entry->left, memory_order_acquire) != entry->readers;
}

/** Frees a removed entry, or leaves that to its last reader. */
static void drop(const afc_lru *cache, afc__lru_entry *entry) {
    uint32_t readers = entry->readers;
    if (!has_readers(entry) ||
        atomic_fetch_sub_explicit(&entry->left, readers, memory_order_acq_rel) == readers) {
        free_entry(cache, entry);
    }
}

static afc_slice key_of(const afc_lru *cache, afc__lru_entry *entry) {
    afc_slice key = {afc__lru_entry_key(entry, cache->key_offset), entry->key_size};
    return key;
}

/** Reports evicted entries and frees them. */
static void report_evicted(const afc_lru *cache, afc__lru_entry *const *entries, uint32_t count,
                           afc_lru_reason reason) {
    for (uint32_t i = 0; i < count; i++) {
        if (cache->options.on_evict != NULL) {
            cache->options.on_evict(cache->options.context, key_of(cache, entries[i]),
                                    entries[i]->value, reason);
        }
        drop(cache, entries[i]);
    }
}

/* ---- The order of use ---------------------------------------------------------------------- */

static void raise_clock(afc_lru *cache, uint64_t stamp) {
    uint64_t clock = atomic_load_explicit(&cache->clock, memory_order_relaxed);
    while (clock < stamp &&
           !atomic_compare_exchange_weak_explicit(&cache->clock, &clock, stamp,
                                                  memory_order_relaxed, memory_order_relaxed)) {}
}

/*
 * Returns a stamp for a use. It is higher than those of all earlier uses in this shard or by this thread, and of all
 * other uses except the last reads of other threads. A counter that every read increments would be exact for these,
 * too, but all threads would contend for its cache line.
 */
static uint64_t stamp(afc_lru *cache, afc__lru_shard *shard, bool is_put) {
    uint64_t stamp = shard->clock;
    if (cache->shard_count > 1) {
        uint64_t shared = atomic_load_explicit(&cache->clock, memory_order_relaxed);
        if (stamp < shared) stamp = shared;
        if (stamp < last_stamp) stamp = last_stamp;
        last_stamp = stamp + 1;
        if (is_put || stamp >= shared + READS_AHEAD) raise_clock(cache, stamp + 1);
    }
    return shard->clock = stamp + 1;
}

static void note_oldest(afc__lru_shard *shard) {
    afc__lru_place oldest = shard->table.oldest;
    uint64_t stamp = oldest != 0 ? shard->table.links[oldest].stamp : NEVER;
    atomic_store_explicit(&shard->oldest_stamp, stamp, memory_order_relaxed);
}

static void use(afc_lru *cache, afc__lru_shard *shard, afc__lru_place place) {
    bool was_oldest = shard->table.oldest == place;
    afc__lru_table_use(&shard->table, place, stamp(cache, shard, false));
    if (was_oldest) note_oldest(shard);
}

/* ---- Under a shard's lock ------------------------------------------------------------------ */

static afc__lru_shard *shard_of(const afc_lru *cache, uint64_t hash) {
    return &cache->shards[hash >> 32 & (cache->shard_count - 1)];
}

static size_t block_size(const afc_lru *cache, size_t key_size) {
    size_t size = cache->key_offset + key_size;
    return size < sizeof(afc__lru_entry) ? sizeof(afc__lru_entry) : size;
}

static void count_in(afc_lru *cache, afc__lru_shard *shard, const afc__lru_entry *entry) {
    shard->cost += entry->cost;
    shard->memory += block_size(cache, entry->key_size);
    atomic_fetch_add_explicit(&cache->cost, entry->cost, memory_order_relaxed);
    if (cache->options.max_count != 0) {
        atomic_fetch_add_explicit(&cache->count, 1, memory_order_relaxed);
    }
}

static void count_out(afc_lru *cache, afc__lru_shard *shard, const afc__lru_entry *entry) {
    shard->cost -= entry->cost;
    shard->memory -= block_size(cache, entry->key_size);
    atomic_fetch_sub_explicit(&cache->cost, entry->cost, memory_order_relaxed);
    if (cache->options.max_count != 0) {
        atomic_fetch_sub_explicit(&cache->count, 1, memory_order_relaxed);
    }
}

/** Subtracts an entry from the totals and returns it. The caller frees it after releasing the lock. */
static afc__lru_entry *count_leaver(afc_lru *cache, afc__lru_shard *shard, afc__lru_place place) {
    afc__lru_entry *entry = afc__lru_table_entry(&shard->table, place);
    count_out(cache, shard, entry);
    entry->value = afc__lru_table_value(&shard->table, place);
    return entry;
}

/** Does the same, and removes the entry from the table and the order of use. */
static afc__lru_entry *detach(afc_lru *cache, afc__lru_shard *shard, afc__lru_place place) {
    bool was_oldest = shard->table.oldest == place;
    afc__lru_entry *entry = count_leaver(cache, shard, place);
    afc__lru_table_remove(&shard->table, place);
    if (was_oldest) note_oldest(shard);
    return entry;
}

static inline int64_t expiry(const afc__lru_entry *entry) {
    int64_t expires_us;
    memcpy(&expires_us, (const char *)entry + AFC__LRU_ENTRY_END, sizeof expires_us);
    return expires_us;
}

static bool is_expired(const afc_lru *cache, const afc__lru_entry *entry, int64_t now_us) {
    return cache->ttl_us != 0 && now_us > expiry(entry);
}

/* ---- Evicting ------------------------------------------------------------------------------ */

typedef struct purge_goal {
    /** Limits that the remaining entries must meet. If both are 0, no entry remains, not even one without a cost. */
    uint64_t cost, count;
} purge_goal;

static bool is_above(afc_lru *cache, const purge_goal *goal) {
    bool keeps_none = goal->cost == 0 && goal->count == 0;
    return keeps_none || atomic_load_explicit(&cache->cost, memory_order_relaxed) > goal->cost ||
           atomic_load_explicit(&cache->count, memory_order_relaxed) > goal->count;
}

/**
 * Returns the shard with the oldest entry of all; NULL if all are empty. `*next` becomes the second oldest of the
 * shards' oldest stamps.
 */
static afc__lru_shard *find_oldest(afc_lru *cache, uint64_t *next) {
    afc__lru_shard *found = NULL;
    uint64_t first = NEVER;
    *next = NEVER;
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        uint64_t stamp = atomic_load_explicit(&cache->shards[i].oldest_stamp, memory_order_relaxed);
        if (stamp < first) {
            *next = first;
            first = stamp;
            found = &cache->shards[i];
        } else if (stamp < *next) {
            *next = stamp;
        }
    }
    return found;
}

typedef struct leaver_list {
    afc__lru_entry *entries[AT_ONCE];
    uint32_t count;
} leaver_list;

/** Prefetches what the next iterations need: evicted entries are seldom in the processor's cache. */
static void look_ahead(const afc__lru_table *table) {
    enum { BUCKETS = 6, ENTRIES = 3 };
    afc__lru_place place = table->oldest;
    for (int ahead = 1; ahead <= BUCKETS; ahead++) {
        place = table->links[place].newer;
        if (place == 0) return;
        if (ahead != ENTRIES) continue;
        __builtin_prefetch(afc__lru_table_entry(table, place));
        __builtin_prefetch(afc__lru_table_value(table, place));
    }
    __builtin_prefetch(afc__lru_table_bucket(table, place));
    __builtin_prefetch(&table->links[place]);
}

/** Removes the oldest entries of a shard, but only those that aren't newer than `next`. */
static void take_oldest(afc_lru *cache, afc__lru_shard *shard, uint64_t next,
                        const purge_goal *goal, leaver_list *leavers) {
    const afc__lru_table *table = &shard->table;
    afc__lru_lock_take(&shard->lock);
    while (leavers->count < AT_ONCE && table->oldest != 0 && is_above(cache, goal)) {
        if (table->links[table->oldest].stamp > next) break;
        look_ahead(table);
        leavers->entries[leavers->count++] = detach(cache, shard, table->oldest);
        shard->evictions++;
    }
    afc__lru_lock_give(&shard->lock);
}

static uint64_t purge(afc_lru *cache, const purge_goal *goal, afc_lru_reason reason) {
    uint64_t count = 0;
    leaver_list leavers;
    do {
        leavers.count = 0;
        /* One purge at a time: two together would evict more than needed. */
        pthread_mutex_lock(&cache->purging);
        while (leavers.count < AT_ONCE && is_above(cache, goal)) {
            uint64_t next;
            afc__lru_shard *shard = find_oldest(cache, &next);
            if (shard == NULL) break;
            take_oldest(cache, shard, next, goal, &leavers);
        }
        pthread_mutex_unlock(&cache->purging);
        report_evicted(cache, leavers.entries, leavers.count, reason);
        count += leavers.count;
    } while (leavers.count == AT_ONCE);
    return count;
}

static void keep_limits(afc_lru *cache) {
    if (atomic_load_explicit(&cache->cost, memory_order_relaxed) > cache->options.capacity) {
        purge(cache, &(purge_goal){cache->options.purge_to, UINT64_MAX}, AFC_LRU_COST);
    }
    uint64_t max_count = cache->options.max_count;
    if (max_count != 0 && atomic_load_explicit(&cache->count, memory_order_relaxed) > max_count) {
        purge(cache, &(purge_goal){UINT64_MAX, max_count}, AFC_LRU_COUNT);
    }
}

uint64_t afc_lru_trim(afc_lru *cache, uint64_t cost, afc_lru_reason reason) {
    return purge(cache, &(purge_goal){cost, UINT64_MAX}, reason);
}

/* ---- The public functions ------------------------------------------------------------------ */

static int64_t now(const afc_lru *cache) {
    if (cache->ttl_us == 0) return 0;
    const afc_lru_options *options = &cache->options;
    return options->now_us != NULL ? options->now_us(options->context) : afc__now_us();
}

static afc__lru_entry *make_entry(const afc_lru *cache, afc_slice key, uint64_t cost) {
    afc__lru_entry *entry = afc__alloc(block_size(cache, key.size));
    if (entry == NULL) return NULL;
    entry->cost = cost;
    entry->key_size = (uint16_t)key.size;
    entry->readers = 0;
    atomic_init(&entry->left, 0);
    if (cache->ttl_us != 0) {
        int64_t expires_us = now(cache);
        if (__builtin_add_overflow(expires_us, cache->ttl_us, &expires_us)) expires_us = INT64_MAX;
        memcpy((char *)entry + AFC__LRU_ENTRY_END, &expires_us, sizeof expires_us);
    }
    if (key.size != 0) memcpy(afc__lru_entry_key(entry, cache->key_offset), key.bytes, key.size);
    return entry;
}

/** Inserts an entry. Returns false if out of memory. `*old` becomes the replaced entry, if there is one. */
static bool insert(afc_lru *cache, uint64_t hash, afc__lru_entry *entry, void *value,
                   afc__lru_entry **old) {
    afc__lru_shard *shard = shard_of(cache, hash);
    afc__lru_table *table = &shard->table;
    afc__lru_lock_take(&shard->lock);
    afc__lru_place place = afc__lru_table_find(table, (uint32_t)hash, key_of(cache, entry));
    bool stored = place != 0 || afc__lru_table_reserve(table);
    if (stored) {
        bool changes_oldest = table->oldest == place;
        uint64_t used = stamp(cache, shard, true);
        if (place != 0) {
            *old = count_leaver(cache, shard, place);
            afc__lru_table_replace(table, place, entry, value);
            afc__lru_table_use(table, place, used);
        } else {
            afc__lru_table_add(table, (uint32_t)hash, entry, value, used);
        }
        if (changes_oldest) note_oldest(shard);
        count_in(cache, shard, entry);
        shard->puts++;
    }
    afc__lru_lock_give(&shard->lock);
    return stored;
}

afc_status afc_lru_put(afc_lru *cache, afc_slice key, void *value, uint64_t cost) {
    if (value == NULL) return AFC_EINVAL;
    if (key.size > AFC_LRU_KEY_MAX) {
        release_value(cache, value);
        return AFC_EINVAL;
    }
    uint64_t hash = afc__keyed_hash(&cache->seed, key);
    afc_status status = cost > cache->options.max_cost ? AFC_ETOOBIG : AFC_OK;
    afc__lru_entry *old = NULL;
    if (status == AFC_OK) {
        afc__lru_entry *entry = make_entry(cache, key, cost);
        if (entry == NULL || !insert(cache, hash, entry, value, &old)) {
            afc_free(entry);
            status = AFC_ENOMEM;
        }
    }
    if (status != AFC_OK) {
        /* The old value of the key is no longer valid. */
        afc_lru_remove(cache, key);
        release_value(cache, value);
        return status;
    }
    if (old != NULL) drop(cache, old);
    keep_limits(cache);
    return AFC_OK;
}

/** The result of a lookup, which holds the lock of the shard. */
typedef struct lookup {
    afc__lru_shard *shard;
    afc__lru_place place;
    afc__lru_entry *entry; /**< NULL if there is none. */
    bool is_expired;       /**< The entry has expired. */
} lookup;

/** Takes the lock of the key's shard, and finds its entry. */
static inline lookup lock_and_find(afc_lru *cache, afc_slice key) {
    uint64_t hash = afc__keyed_hash(&cache->seed, key);
    int64_t now_us = now(cache);
    lookup found = {.shard = shard_of(cache, hash)};
    afc__lru_lock_take(&found.shard->lock);
    found.place = afc__lru_table_find(&found.shard->table, (uint32_t)hash, key);
    if (found.place == 0) return found;
    found.entry = afc__lru_table_entry(&found.shard->table, found.place);
    found.is_expired = is_expired(cache, found.entry, now_us);
    return found;
}

void *afc_lru_copy(afc_lru *cache, afc_slice key) {
    if (key.size > AFC_LRU_KEY_MAX) return NULL;
    lookup found = lock_and_find(cache, key);
    afc__lru_shard *shard = found.shard;
    afc__lru_place place = found.place;
    afc__lru_entry *entry = found.entry;
    if (entry == NULL || found.is_expired) {
        shard->misses++;
        if (entry != NULL) {
            detach(cache, shard, place);
            shard->evictions++;
        }
        afc__lru_lock_give(&shard->lock);
        if (entry != NULL) report_evicted(cache, &entry, 1, AFC_LRU_EXPIRED);
        return NULL;
    }
    shard->hits++;
    use(cache, shard, place);
    void *value = afc__lru_table_value(&shard->table, place);
    bool is_counted = cache->options.retain != NULL;
    if (is_counted) begin_reading(entry);
    afc__lru_lock_give(&shard->lock);
    if (is_counted) {
        cache->options.retain(cache->options.context, value);
        end_reading(cache, entry);
    }
    return value;
}

/** Removes and returns the entry of a key, which the caller frees; NULL if there is none, or if it has expired. */
static afc__lru_entry *take_entry(afc_lru *cache, afc_slice key) {
    if (key.size > AFC_LRU_KEY_MAX) return NULL;
    lookup found = lock_and_find(cache, key);
    afc__lru_entry *entry = found.entry;
    if (entry != NULL) {
        detach(cache, found.shard, found.place);
        found.shard->evictions += found.is_expired;
    }
    afc__lru_lock_give(&found.shard->lock);
    if (!found.is_expired) return entry;
    report_evicted(cache, &entry, 1, AFC_LRU_EXPIRED);
    return NULL;
}

void *afc_lru_take(afc_lru *cache, afc_slice key) {
    afc__lru_entry *entry = take_entry(cache, key);
    if (entry == NULL) return NULL;
    void *value = entry->value;
    if (!has_readers(entry)) {
        afc_free(entry);
    } else {
        /* A reader may not have retained the value yet: the cache's reference must stay until then. */
        cache->options.retain(cache->options.context, value);
        drop(cache, entry);
    }
    return value;
}

bool afc_lru_remove(afc_lru *cache, afc_slice key) {
    afc__lru_entry *entry = take_entry(cache, key);
    if (entry == NULL) return false;
    drop(cache, entry);
    return true;
}

static void drop_table(const afc_lru *cache, afc__lru_table *table) {
    for (afc__lru_place place = table->newest; place != 0; place = table->links[place].older) {
        afc__lru_entry *entry = afc__lru_table_entry(table, place);
        entry->value = afc__lru_table_value(table, place);
        drop(cache, entry);
    }
    afc__lru_table_clear(table);
}

uint64_t afc_lru_remove_all(afc_lru *cache) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        afc__lru_shard *shard = &cache->shards[i];
        afc__lru_lock_take(&shard->lock);
        afc__lru_table table = shard->table;
        uint64_t removed = table.count;
        shard->table = (afc__lru_table){.key_offset = table.key_offset};
        note_oldest(shard);
        atomic_fetch_sub_explicit(&cache->cost, shard->cost, memory_order_relaxed);
        if (cache->options.max_count != 0) {
            atomic_fetch_sub_explicit(&cache->count, removed, memory_order_relaxed);
        }
        shard->cost = shard->memory = 0;
        afc__lru_lock_give(&shard->lock);
        drop_table(cache, &table);
        count += removed;
    }
    return count;
}

uint64_t afc_lru_get_cost(const afc_lru *cache) {
    return atomic_load_explicit(&cache->cost, memory_order_relaxed);
}

void afc_lru_get_statistics(afc_lru *cache, afc_lru_statistics *out) {
    *out = (afc_lru_statistics){0};
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        afc__lru_shard *shard = &cache->shards[i];
        afc__lru_lock_take(&shard->lock);
        out->hits += shard->hits;
        out->misses += shard->misses;
        out->puts += shard->puts;
        out->evictions += shard->evictions;
        out->count += shard->table.count;
        out->cost += shard->cost;
        out->memory += shard->memory + afc__lru_table_size(&shard->table);
        afc__lru_lock_give(&shard->lock);
    }
}

/* ---- Memory pressure ----------------------------------------------------------------------- */

static void on_pressure(void *context) {
    afc_lru *cache = context;
    uint64_t keep = cache->keep_under_pressure;
    purge(cache, &(purge_goal){keep, keep == 0 ? 0 : UINT64_MAX}, AFC_LRU_PRESSURE);
}

afc_status afc_lru_watch_pressure(afc_lru *cache, const afc_pressure_options *options,
                                  afc_failure *failure) {
    AFC__READ_SIZED(afc_pressure_options, AFC_PRESSURE_OPTIONS_INIT, keep, options, failure);
    int descriptor;
    afc_status status = afc__pressure_open(&descriptor, options, afc__pressure_check_file, failure);
    return status != AFC_OK ? status : afc__lru_watch(cache, descriptor, options->keep, failure);
}

afc_status afc__lru_watch(afc_lru *cache, int descriptor, uint64_t keep, afc_failure *failure) {
    pthread_mutex_lock(&cache->purging);
    afc_status status = AFC_EAGAIN;
    if (cache->pressure == NULL) {
        cache->keep_under_pressure = keep;
        status = afc__pressure_start(&cache->pressure, descriptor, on_pressure, cache, failure);
    } else {
        close(descriptor);
        afc__fail(failure, AFC_EAGAIN, "the cache is already watching memory pressure");
    }
    pthread_mutex_unlock(&cache->purging);
    return status;
}

/* ---- Making and freeing -------------------------------------------------------------------- */

/** Returns the default number of shards: about four per processor, so that two threads seldom use the same one. */
static uint32_t usual_shards(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors <= 1) return 1;
    uint32_t count = 1;
    while (count < AFC_LRU_SHARDS_MAX && count < 4 * (unsigned long)processors) count *= 2;
    return count;
}

static afc_status check_options(const afc_lru_options *options, afc_failure *failure) {
    if (options->purge_to > options->capacity) {
        return afc__fail(failure, AFC_EINVAL, "purge_to exceeds the capacity: %llu > %llu",
                         (unsigned long long)options->purge_to,
                         (unsigned long long)options->capacity);
    }
    if (options->ttl_ms < 0) {
        return afc__fail(failure, AFC_EINVAL, "ttl_ms is negative: %lld",
                         (long long)options->ttl_ms);
    }
    if (options->shards > AFC_LRU_SHARDS_MAX || (options->shards & (options->shards - 1)) != 0) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid number of shards %u: expected a power of two up to %d",
                         (unsigned)options->shards, AFC_LRU_SHARDS_MAX);
    }
    return AFC_OK;
}

static void set_limits(afc_lru *cache) {
    afc_lru_options *options = &cache->options;
    if (options->capacity > MAX_COST) options->capacity = MAX_COST;
    if (options->purge_to > MAX_COST) options->purge_to = MAX_COST;
    if (options->max_cost == 0 || options->max_cost > options->capacity) {
        options->max_cost = options->capacity;
    }
    if (__builtin_mul_overflow(options->ttl_ms, INT64_C(1000), &cache->ttl_us)) {
        cache->ttl_us = INT64_MAX;
    }
}

static bool init_shards(afc_lru *cache) {
    cache->block = afc__zalloc(sizeof(afc__lru_shard) * cache->shard_count + LINE - 1);
    if (cache->block == NULL) return false;
    cache->shards = (afc__lru_shard *)(void *)(((uintptr_t)cache->block + LINE - 1) &
                                               ~(uintptr_t)(LINE - 1));
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        afc__lru_shard *shard = &cache->shards[i];
        note_oldest(shard);
        shard->table.key_offset = cache->key_offset;
    }
    return true;
}

afc_status afc_lru_new(afc_lru **out, const afc_lru_options *options, afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_lru_options, AFC_LRU_OPTIONS_INIT, context, options, failure);
    afc_status status = check_options(options, failure);
    if (status != AFC_OK) return status;
    afc_lru *cache = afc__zalloc(sizeof *cache);
    if (cache == NULL) return afc__fail_memory(failure);
    cache->options = *options;
    set_limits(cache);
    cache->shard_count = options->shards != 0 ? options->shards : usual_shards();
    cache->key_offset = AFC__LRU_ENTRY_END + (cache->ttl_us != 0 ? (uint32_t)sizeof(int64_t) : 0);
    bool has_seed = afc__hash_seed_make(&cache->seed);
    if (!has_seed || !init_shards(cache)) {
        afc_free(cache);
        if (has_seed) return afc__fail_memory(failure);
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    pthread_mutex_init(&cache->purging, NULL);
    *out = cache;
    return AFC_OK;
}

void afc_lru_free(afc_lru *cache) {
    if (cache == NULL) return;
    afc__pressure_stop(cache->pressure);
    afc_lru_remove_all(cache);
    pthread_mutex_destroy(&cache->purging);
    afc_free(cache->block);
    afc_free(cache);
}
