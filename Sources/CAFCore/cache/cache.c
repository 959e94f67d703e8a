#include "cache/cache_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <unistd.h>

enum {
    LINE = 64,
    /** Maximum number of reads that a shard counts before it updates the shared clock. */
    READS_AHEAD = 64,
    /** Maximum number of entries evicted before the locks are released and their values freed. */
    AT_ONCE = 128
};

/** So that the sum of costs can't overflow: as many entries with a cost of one would have to be added at once. */
static const uint64_t MOST_COST = UINT64_C(1) << 56;

static const uint64_t NEVER = UINT64_MAX;

/** The stamp of this thread's last use of any cache; see stamp(). */
static _Thread_local uint64_t last_stamp;

/* ---- Releasing, without a lock ------------------------------------------------------------- */

_Static_assert(AF_CACHE_KEY_MAX == UINT16_MAX, "entries have two bytes for it");

static void release_value(const af_cache *cache, void *value) {
    if (cache->options.release != NULL) cache->options.release(cache->options.context, value);
}

static void free_entry(const af_cache *cache, af__entry *entry) {
    release_value(cache, entry->value);
    af_free(entry);
}

/*
 * Readers retain the value after they release the lock, so a removed entry must outlive the readers that found it.
 * `readers` counts them under the lock, `left` those that are done. Removing the entry subtracts `readers` from
 * `left`; the thread that makes the difference 0 is the last one.
 */
static void begin_reading(af__entry *entry) {
    if (entry->readers == UINT32_MAX) {
        uint32_t left = atomic_load_explicit(&entry->left, memory_order_relaxed);
        atomic_fetch_sub_explicit(&entry->left, left, memory_order_relaxed);
        entry->readers -= left;
    }
    entry->readers++;
}

static void end_reading(const af_cache *cache, af__entry *entry) {
    if (atomic_fetch_add_explicit(&entry->left, 1, memory_order_acq_rel) + 1 == 0) {
        free_entry(cache, entry);
    }
}

static bool has_readers(const af__entry *entry) {
    return atomic_load_explicit(&entry->left, memory_order_acquire) != entry->readers;
}

/** Frees a removed entry, or leaves that to its last reader. */
static void drop(const af_cache *cache, af__entry *entry) {
    uint32_t readers = entry->readers;
    if (!has_readers(entry) ||
        atomic_fetch_sub_explicit(&entry->left, readers, memory_order_acq_rel) == readers) {
        free_entry(cache, entry);
    }
}

static af_slice key_of(const af_cache *cache, af__entry *entry) {
    af_slice key = {af__entry_key(entry, cache->key_offset), entry->key_size};
    return key;
}

/** Reports evicted entries and frees them. */
static void let_go(const af_cache *cache, af__entry *const *entries, uint32_t count,
                   af_cache_reason reason) {
    for (uint32_t i = 0; i < count; i++) {
        if (cache->options.on_evict != NULL) {
            cache->options.on_evict(cache->options.context, key_of(cache, entries[i]),
                                    entries[i]->value, reason);
        }
        drop(cache, entries[i]);
    }
}

/* ---- The order of use ---------------------------------------------------------------------- */

static void raise_clock(af_cache *cache, uint64_t stamp) {
    uint64_t clock = atomic_load_explicit(&cache->clock, memory_order_relaxed);
    while (clock < stamp &&
           !atomic_compare_exchange_weak_explicit(&cache->clock, &clock, stamp,
                                                  memory_order_relaxed, memory_order_relaxed)) {}
}

/*
 * Returns a stamp for a use: higher than those of all earlier uses by this shard and this thread, and of all other
 * ones except their last reads. A counter that every read increments would be exact for those too, but all threads
 * would contend for its cache line.
 */
static uint64_t stamp(af_cache *cache, af__shard *shard, bool is_put) {
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

static void note_oldest(af__shard *shard) {
    af__place oldest = shard->table.oldest;
    uint64_t stamp = oldest != 0 ? shard->table.links[oldest].stamp : NEVER;
    atomic_store_explicit(&shard->oldest_stamp, stamp, memory_order_relaxed);
}

static void use(af_cache *cache, af__shard *shard, af__place place) {
    bool was_oldest = shard->table.oldest == place;
    af__table_use(&shard->table, place, stamp(cache, shard, false));
    if (was_oldest) note_oldest(shard);
}

/* ---- Under a shard's lock ------------------------------------------------------------------ */

static af__shard *shard_of(const af_cache *cache, uint64_t hash) {
    return &cache->shards[hash >> 32 & (cache->shard_count - 1)];
}

static size_t block_size(const af_cache *cache, size_t key_size) {
    size_t size = cache->key_offset + key_size;
    return size < sizeof(af__entry) ? sizeof(af__entry) : size;
}

static void count_in(af_cache *cache, af__shard *shard, const af__entry *entry) {
    shard->cost += entry->cost;
    shard->memory += block_size(cache, entry->key_size);
    atomic_fetch_add_explicit(&cache->cost, entry->cost, memory_order_relaxed);
    if (cache->options.max_count != 0) {
        atomic_fetch_add_explicit(&cache->count, 1, memory_order_relaxed);
    }
}

static void count_out(af_cache *cache, af__shard *shard, const af__entry *entry) {
    shard->cost -= entry->cost;
    shard->memory -= block_size(cache, entry->key_size);
    atomic_fetch_sub_explicit(&cache->cost, entry->cost, memory_order_relaxed);
    if (cache->options.max_count != 0) {
        atomic_fetch_sub_explicit(&cache->count, 1, memory_order_relaxed);
    }
}

/** Subtracts an entry from the totals and returns it. The caller frees it after releasing the lock. */
static af__entry *count_leaver(af_cache *cache, af__shard *shard, af__place place) {
    af__entry *entry = af__table_entry(&shard->table, place);
    count_out(cache, shard, entry);
    entry->value = af__table_value(&shard->table, place);
    return entry;
}

/** The same, and removes it from the table and the order. */
static af__entry *detach(af_cache *cache, af__shard *shard, af__place place) {
    bool was_oldest = shard->table.oldest == place;
    af__entry *entry = count_leaver(cache, shard, place);
    af__table_remove(&shard->table, place);
    if (was_oldest) note_oldest(shard);
    return entry;
}

static inline int64_t expiry(const af__entry *entry) {
    int64_t expires_us;
    memcpy(&expires_us, (const char *)entry + AF__ENTRY_END, sizeof expires_us);
    return expires_us;
}

static bool is_expired(const af_cache *cache, const af__entry *entry, int64_t now_us) {
    return cache->ttl_us != 0 && now_us > expiry(entry);
}

/* ---- Leaving ------------------------------------------------------------------------------- */

typedef struct purge_goal {
    uint64_t cost, count; /**< Limits that the remaining entries must meet. */
} purge_goal;

static bool is_above(af_cache *cache, const purge_goal *goal) {
    return atomic_load_explicit(&cache->cost, memory_order_relaxed) > goal->cost ||
           atomic_load_explicit(&cache->count, memory_order_relaxed) > goal->count;
}

/** Returns the shard with the oldest entry of all; NULL if all are empty. `*next` is the second oldest stamp. */
static af__shard *find_oldest(af_cache *cache, uint64_t *next) {
    af__shard *found = NULL;
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
    af__entry *entries[AT_ONCE];
    uint32_t count;
} leaver_list;

/** Prefetches what the next iterations need: evicted entries are seldom in the processor's cache. */
static void look_ahead(const af__table *table) {
    enum { BUCKETS = 6, ENTRIES = 3 };
    af__place place = table->oldest;
    for (int ahead = 1; ahead <= BUCKETS; ahead++) {
        place = table->links[place].newer;
        if (place == 0) return;
        if (ahead != ENTRIES) continue;
        __builtin_prefetch(af__table_entry(table, place));
        __builtin_prefetch(af__table_value(table, place));
    }
    __builtin_prefetch(af__table_bucket(table, place));
    __builtin_prefetch(&table->links[place]);
}

/** Removes the oldest entries of a shard, those older than `next` only. */
static void take_oldest(af_cache *cache, af__shard *shard, uint64_t next, const purge_goal *goal,
                        leaver_list *leavers) {
    const af__table *table = &shard->table;
    af__lock_take(&shard->lock);
    while (leavers->count < AT_ONCE && table->oldest != 0 && is_above(cache, goal)) {
        if (table->links[table->oldest].stamp > next) break;
        look_ahead(table);
        leavers->entries[leavers->count++] = detach(cache, shard, table->oldest);
        shard->evictions++;
    }
    af__lock_give(&shard->lock);
}

static uint64_t purge(af_cache *cache, const purge_goal *goal, af_cache_reason reason) {
    uint64_t count = 0;
    leaver_list leavers;
    do {
        leavers.count = 0;
        /* One purge at a time: two together would evict more than needed. */
        pthread_mutex_lock(&cache->purging);
        while (leavers.count < AT_ONCE && is_above(cache, goal)) {
            uint64_t next;
            af__shard *shard = find_oldest(cache, &next);
            if (shard == NULL) break;
            take_oldest(cache, shard, next, goal, &leavers);
        }
        pthread_mutex_unlock(&cache->purging);
        let_go(cache, leavers.entries, leavers.count, reason);
        count += leavers.count;
    } while (leavers.count == AT_ONCE);
    return count;
}

static void keep_limits(af_cache *cache) {
    if (atomic_load_explicit(&cache->cost, memory_order_relaxed) > cache->options.capacity) {
        purge(cache, &(purge_goal){cache->options.purge_to, UINT64_MAX}, AF_CACHE_COST);
    }
    uint64_t max_count = cache->options.max_count;
    if (max_count != 0 && atomic_load_explicit(&cache->count, memory_order_relaxed) > max_count) {
        purge(cache, &(purge_goal){UINT64_MAX, max_count}, AF_CACHE_COUNT);
    }
}

uint64_t af_cache_trim(af_cache *cache, uint64_t cost, af_cache_reason reason) {
    return purge(cache, &(purge_goal){cost, UINT64_MAX}, reason);
}

/* ---- The public functions ------------------------------------------------------------------ */

static int64_t now(const af_cache *cache) {
    if (cache->ttl_us == 0) return 0;
    const af_cache_options *options = &cache->options;
    return options->now_us != NULL ? options->now_us(options->context) : af__now_us();
}

static af__entry *make_entry(const af_cache *cache, af_slice key, uint64_t cost) {
    af__entry *entry = af__alloc(block_size(cache, key.size));
    if (entry == NULL) return NULL;
    entry->cost = cost;
    entry->key_size = (uint16_t)key.size;
    entry->readers = 0;
    atomic_init(&entry->left, 0);
    if (cache->ttl_us != 0) {
        int64_t expires_us = now(cache);
        if (__builtin_add_overflow(expires_us, cache->ttl_us, &expires_us)) expires_us = INT64_MAX;
        memcpy((char *)entry + AF__ENTRY_END, &expires_us, sizeof expires_us);
    }
    if (key.size != 0) memcpy(af__entry_key(entry, cache->key_offset), key.bytes, key.size);
    return entry;
}

/** Inserts an entry; false when out of memory. `*old` is the replaced one, or NULL. */
static bool insert(af_cache *cache, uint64_t hash, af__entry *entry, void *value, af__entry **old) {
    af__shard *shard = shard_of(cache, hash);
    af__table *table = &shard->table;
    af__lock_take(&shard->lock);
    af__place place = af__table_find(table, (uint32_t)hash, key_of(cache, entry));
    bool stored = place != 0 || af__table_reserve(table);
    if (stored) {
        bool changes_oldest = table->oldest == place;
        uint64_t used = stamp(cache, shard, true);
        if (place != 0) {
            *old = count_leaver(cache, shard, place);
            af__table_replace(table, place, entry, value);
            af__table_use(table, place, used);
        } else {
            af__table_add(table, (uint32_t)hash, entry, value, used);
        }
        if (changes_oldest) note_oldest(shard);
        count_in(cache, shard, entry);
        shard->puts++;
    }
    af__lock_give(&shard->lock);
    return stored;
}

af_status af_cache_put(af_cache *cache, af_slice key, void *value, uint64_t cost) {
    if (value == NULL) return AF_EINVAL;
    if (key.size > AF_CACHE_KEY_MAX) {
        release_value(cache, value);
        return AF_EINVAL;
    }
    uint64_t hash = af__keyed_hash(&cache->seed, key);
    af_status status = cost > cache->options.max_cost ? AF_ETOOBIG : AF_OK;
    af__entry *old = NULL;
    if (status == AF_OK) {
        af__entry *entry = make_entry(cache, key, cost);
        if (entry == NULL || !insert(cache, hash, entry, value, &old)) {
            af_free(entry);
            status = AF_ENOMEM;
        }
    }
    if (status != AF_OK) {
        /* The old value of the key is no longer valid. */
        af_cache_remove(cache, key);
        release_value(cache, value);
        return status;
    }
    if (old != NULL) drop(cache, old);
    keep_limits(cache);
    return AF_OK;
}

void *af_cache_copy(af_cache *cache, af_slice key) {
    if (key.size > AF_CACHE_KEY_MAX) return NULL;
    uint64_t hash = af__keyed_hash(&cache->seed, key);
    int64_t now_us = now(cache);
    af__shard *shard = shard_of(cache, hash);
    af__lock_take(&shard->lock);
    af__place place = af__table_find(&shard->table, (uint32_t)hash, key);
    af__entry *entry = place != 0 ? af__table_entry(&shard->table, place) : NULL;
    if (entry == NULL || is_expired(cache, entry, now_us)) {
        shard->misses++;
        if (entry != NULL) {
            detach(cache, shard, place);
            shard->evictions++;
        }
        af__lock_give(&shard->lock);
        if (entry != NULL) let_go(cache, &entry, 1, AF_CACHE_EXPIRED);
        return NULL;
    }
    shard->hits++;
    use(cache, shard, place);
    void *value = af__table_value(&shard->table, place);
    bool is_counted = cache->options.retain != NULL;
    if (is_counted) begin_reading(entry);
    af__lock_give(&shard->lock);
    if (is_counted) {
        cache->options.retain(cache->options.context, value);
        end_reading(cache, entry);
    }
    return value;
}

/** Removes and returns the entry of a key, which the caller frees; NULL if there is none. */
static af__entry *take_entry(af_cache *cache, af_slice key) {
    if (key.size > AF_CACHE_KEY_MAX) return NULL;
    uint64_t hash = af__keyed_hash(&cache->seed, key);
    int64_t now_us = now(cache);
    af__shard *shard = shard_of(cache, hash);
    af__lock_take(&shard->lock);
    af__place place = af__table_find(&shard->table, (uint32_t)hash, key);
    af__entry *entry = place != 0 ? af__table_entry(&shard->table, place) : NULL;
    bool expired = entry != NULL && is_expired(cache, entry, now_us);
    if (entry != NULL) {
        detach(cache, shard, place);
        shard->evictions += expired;
    }
    af__lock_give(&shard->lock);
    if (!expired) return entry;
    let_go(cache, &entry, 1, AF_CACHE_EXPIRED);
    return NULL;
}

void *af_cache_take(af_cache *cache, af_slice key) {
    af__entry *entry = take_entry(cache, key);
    if (entry == NULL) return NULL;
    void *value = entry->value;
    if (!has_readers(entry)) {
        af_free(entry);
    } else {
        /* A reader may not have retained the value yet: the cache's reference must stay until then. */
        cache->options.retain(cache->options.context, value);
        drop(cache, entry);
    }
    return value;
}

bool af_cache_remove(af_cache *cache, af_slice key) {
    af__entry *entry = take_entry(cache, key);
    if (entry == NULL) return false;
    drop(cache, entry);
    return true;
}

static void drop_table(const af_cache *cache, af__table *table) {
    for (af__place place = table->newest; place != 0; place = table->links[place].older) {
        af__entry *entry = af__table_entry(table, place);
        entry->value = af__table_value(table, place);
        drop(cache, entry);
    }
    af__table_clear(table);
}

uint64_t af_cache_remove_all(af_cache *cache) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        af__shard *shard = &cache->shards[i];
        af__lock_take(&shard->lock);
        af__table table = shard->table;
        uint64_t removed = table.count;
        shard->table = (af__table){.key_offset = table.key_offset};
        note_oldest(shard);
        atomic_fetch_sub_explicit(&cache->cost, shard->cost, memory_order_relaxed);
        if (cache->options.max_count != 0) {
            atomic_fetch_sub_explicit(&cache->count, removed, memory_order_relaxed);
        }
        shard->cost = shard->memory = 0;
        af__lock_give(&shard->lock);
        drop_table(cache, &table);
        count += removed;
    }
    return count;
}

uint64_t af_cache_get_cost(const af_cache *cache) {
    return atomic_load_explicit(&cache->cost, memory_order_relaxed);
}

void af_cache_get_statistics(af_cache *cache, af_cache_statistics *out) {
    *out = (af_cache_statistics){0};
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        af__shard *shard = &cache->shards[i];
        af__lock_take(&shard->lock);
        out->hits += shard->hits;
        out->misses += shard->misses;
        out->puts += shard->puts;
        out->evictions += shard->evictions;
        out->count += shard->table.count;
        out->cost += shard->cost;
        out->memory += shard->memory + af__table_size(&shard->table);
        af__lock_give(&shard->lock);
    }
}

/* ---- Memory pressure ----------------------------------------------------------------------- */

static void on_pressure(void *context) {
    af_cache *cache = context;
    af_cache_trim(cache, cache->keep_under_pressure, AF_CACHE_PRESSURE);
}

af_status af_cache_watch_pressure(af_cache *cache, const af_pressure_options *options,
                                  af_failure *failure) {
    static const af_pressure_options defaults = AF_PRESSURE_INIT;
    if (options == NULL) options = &defaults;
    int descriptor;
    af_status status = af__pressure_open(&descriptor, options, failure);
    return status != AF_OK ? status : af__cache_watch(cache, descriptor, options->keep, failure);
}

af_status af__cache_watch(af_cache *cache, int descriptor, uint64_t keep, af_failure *failure) {
    pthread_mutex_lock(&cache->purging);
    af_status status = AF_EAGAIN;
    if (cache->pressure == NULL) {
        cache->keep_under_pressure = keep;
        status = af__pressure_start(&cache->pressure, descriptor, on_pressure, cache, failure);
    } else {
        close(descriptor);
        af__fail(failure, AF_EAGAIN, "the cache is already watching memory pressure");
    }
    pthread_mutex_unlock(&cache->purging);
    return status;
}

/* ---- Making and freeing -------------------------------------------------------------------- */

/** About four shards per processor, so that two threads seldom use the same one. */
static uint32_t usual_shards(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors <= 1) return 1;
    uint32_t count = 1;
    while (count < AF_CACHE_SHARDS_MAX && count < 4 * (unsigned long)processors) count *= 2;
    return count;
}

static bool is_valid(const af_cache_options *options) {
    return options->size == sizeof *options && options->purge_to <= options->capacity &&
           options->ttl_ms >= 0 && options->shards <= AF_CACHE_SHARDS_MAX &&
           (options->shards & (options->shards - 1)) == 0;
}

static void set_limits(af_cache *cache) {
    af_cache_options *options = &cache->options;
    if (options->capacity > MOST_COST) options->capacity = MOST_COST;
    if (options->purge_to > MOST_COST) options->purge_to = MOST_COST;
    if (options->max_cost == 0 || options->max_cost > options->capacity) {
        options->max_cost = options->capacity;
    }
    if (__builtin_mul_overflow(options->ttl_ms, INT64_C(1000), &cache->ttl_us)) {
        cache->ttl_us = INT64_MAX;
    }
}

static bool init_shards(af_cache *cache) {
    cache->block = af__zalloc(sizeof(af__shard) * cache->shard_count + LINE - 1);
    if (cache->block == NULL) return false;
    cache->shards = (af__shard *)(void *)(((uintptr_t)cache->block + LINE - 1) &
                                          ~(uintptr_t)(LINE - 1));
    for (uint32_t i = 0; i < cache->shard_count; i++) {
        af__shard *shard = &cache->shards[i];
        note_oldest(shard);
        shard->table.key_offset = cache->key_offset;
    }
    return true;
}

af_status af_cache_new(af_cache **out, const af_cache_options *options) {
    static const af_cache_options defaults = AF_CACHE_INIT;
    *out = NULL;
    if (options == NULL) options = &defaults;
    if (!is_valid(options)) return AF_EINVAL;
    af_cache *cache = af__zalloc(sizeof *cache);
    if (cache == NULL) return AF_ENOMEM;
    cache->options = *options;
    set_limits(cache);
    cache->shard_count = options->shards != 0 ? options->shards : usual_shards();
    cache->key_offset = AF__ENTRY_END + (cache->ttl_us != 0 ? (uint32_t)sizeof(int64_t) : 0);
    bool has_seed = af__hash_seed_make(&cache->seed);
    if (!has_seed || !init_shards(cache)) {
        af_free(cache);
        return has_seed ? AF_ENOMEM : AF_EINTERNAL;
    }
    pthread_mutex_init(&cache->purging, NULL);
    *out = cache;
    return AF_OK;
}

void af_cache_free(af_cache *cache) {
    if (cache == NULL) return;
    af__pressure_stop(cache->pressure);
    af_cache_remove_all(cache);
    pthread_mutex_destroy(&cache->purging);
    af_free(cache->block);
    af_free(cache);
}
