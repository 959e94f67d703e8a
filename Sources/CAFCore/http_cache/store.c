#include "http_cache/store_internal.h"

#include "base/keyed_hash.h"
#include "base/text.h"
#include "http_cache/key.h"
#include "run/threads.h"

#include <time.h>

/* ---- Hashes -------------------------------------------------------------------------------- */

bool afc__store_is_usable(const afc_http_cache *cache) {
    return cache->generation == afc__process_generation();
}

uint64_t afc__store_hash_key(const afc_http_cache *cache, afc_slice key) {
    return afc__siphash13(cache->key_seed, key);
}

uint32_t afc__store_hash_host(const afc_http_cache *cache, afc_slice host) {
    char lower[256];
    if (host.size > sizeof lower) host.size = sizeof lower;
    for (size_t i = 0; i < host.size; i++) lower[i] = afc__lower(host.bytes[i]);
    return (uint32_t)afc__siphash13(cache->key_seed, (afc_slice){lower, host.size});
}

uint64_t afc__store_hash_variant(const afc_http_cache *cache, uint64_t primary, afc_slice block) {
    const uint64_t seed[2] = {cache->key_seed[0] ^ primary, ~cache->key_seed[1]};
    return afc__siphash13(seed, afc__cache_selecting_part(block));
}

uint64_t afc__store_new_content(afc_http_cache *cache) {
    uint64_t number = atomic_fetch_add_explicit(&cache->content_count, 1, memory_order_relaxed);
    return afc__siphash13(cache->content_seed, (afc_slice){(char *)&number, sizeof number});
}

/* ---- The memory ---------------------------------------------------------------------------- */

static afc_slice set_key(const uint64_t *primary) {
    return (afc_slice){(const char *)primary, sizeof *primary};
}

static afc__response_set *copy_set(afc_http_cache *cache, uint64_t primary) {
    return afc_cache_copy(cache->memory, set_key(&primary));
}

static size_t copy_variants(const afc_http_cache *cache, uint64_t primary,
                            afc__entry_record out[AFC__CACHE_MOST_VARIANTS]) {
    return afc__entry_table_variants(&cache->table, primary, out, AFC__CACHE_MOST_VARIANTS);
}

/** Takes the place away from a record, and the record itself when that was the last one. */
static void leave_place(afc_http_cache *cache, uint64_t primary, uint64_t variant, unsigned place) {
    afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
    if (record == NULL) return;
    if ((record->places & ~place) != 0) {
        record->places &= ~place;
    } else {
        afc__entry_table_remove(&cache->table, record);
    }
}

static void leave_memory(afc_http_cache *cache, uint64_t primary) {
    afc__entry_record variants[AFC__CACHE_MOST_VARIANTS];
    size_t count = copy_variants(cache, primary, variants);
    for (size_t i = 0; i < count; i++) {
        leave_place(cache, primary, variants[i].variant, AFC__ENTRY_IN_MEMORY);
    }
}

void afc__store_on_evict(void *context, afc_slice key, void *value, afc_cache_reason reason) {
    afc_http_cache *cache = context;
    uint64_t primary;
    (void)value;
    (void)reason;
    memcpy(&primary, key.bytes, sizeof primary);
    pthread_mutex_lock(&cache->lock);
    /* A new set may have taken the place of the evicted one. */
    afc__response_set *set = copy_set(cache, primary);
    if (set == NULL) leave_memory(cache, primary);
    afc__response_set_release(set);
    pthread_mutex_unlock(&cache->lock);
}

void afc__store_trim(afc_http_cache *cache) {
    uint64_t capacity = cache->memory_bytes;
    if (afc_cache_get_cost(cache->memory) <= capacity) return;
    afc_cache_trim(cache->memory, capacity - capacity / 8, AFC_CACHE_COST);
}

/** Puts these variants of a key into memory; without any, or if that fails, none is there. */
static void set_variants(afc_http_cache *cache, uint64_t primary, const afc__cache_found *found) {
    afc__response_set *set = found->count != 0 ? afc__response_set_new(found) : NULL;
    if (set != NULL && set->cost > cache->memory_bytes) {
        afc__response_set_release(set);
        set = NULL;
    }
    bool is_kept = set != NULL &&
                   afc_cache_put(cache->memory, set_key(&primary), set, set->cost) == AFC_OK;
    if (!is_kept) {
        afc_cache_remove(cache->memory, set_key(&primary));
        leave_memory(cache, primary);
        return;
    }
    for (size_t i = 0; i < found->count; i++) {
        uint64_t variant = found->stored[i]->id.variant;
        afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
        if (record != NULL) record->places |= AFC__ENTRY_IN_MEMORY;
    }
}

/* ---- Entries ------------------------------------------------------------------------------- */

void afc__store_forget(afc_http_cache *cache, uint64_t primary, uint64_t variant) {
    afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
    if (record != NULL) afc__entry_table_remove(&cache->table, record);
    afc__response_set *set = copy_set(cache, primary);
    if (set == NULL) return;
    afc__cache_found found = set->found;
    if (afc__cache_found_remove(&found, variant)) set_variants(cache, primary, &found);
    afc__response_set_release(set);
}

static void forget_key(afc_http_cache *cache, uint64_t primary) {
    afc__entry_record variants[AFC__CACHE_MOST_VARIANTS];
    size_t count = copy_variants(cache, primary, variants);
    for (size_t i = 0; i < count; i++) {
        afc__store_forget(cache, primary, variants[i].variant);
    }
}

/** Makes room for one more variant of a key. */
static void limit_variants(afc_http_cache *cache, uint64_t primary) {
    afc__entry_record variants[AFC__CACHE_MOST_VARIANTS];
    size_t count = copy_variants(cache, primary, variants), oldest = 0;
    if (count < AFC__CACHE_MOST_VARIANTS) return;
    for (size_t i = 1; i < count; i++) {
        if (variants[i].used < variants[oldest].used) oldest = i;
    }
    afc__store_forget(cache, primary, variants[oldest].variant);
}

static bool add_record(afc_http_cache *cache, const afc__cache_stored *stored) {
    afc__entry_record record = {
        .primary = stored->id.primary,
        .variant = stored->id.variant,
        .used = ++cache->clock,
        .stored_s = (uint32_t)time(NULL),
        .host = afc__store_hash_host(cache, afc__cache_key_host(stored->key)),
        .places = AFC__ENTRY_IN_MEMORY,
    };
    return afc__entry_table_put(&cache->table, &record);
}

void afc__store_put(afc_http_cache *cache, afc__cache_stored *stored) {
    afc__cache_id id = stored->id;
    pthread_mutex_lock(&cache->lock);
    if (afc__entry_table_find(&cache->table, id.primary, id.variant) == NULL) {
        limit_variants(cache, id.primary);
    }
    afc__response_set *set = copy_set(cache, id.primary);
    afc__cache_found found = {.count = 0};
    if (set != NULL) found = set->found;
    afc__cache_found_remove(&found, id.variant);
    afc__cache_found_insert(&found, stored);
    if (add_record(cache, stored)) {
        set_variants(cache, id.primary, &found);
    } else {
        afc__store_forget(cache, id.primary, id.variant);
    }
    afc__store_trim(cache);
    pthread_mutex_unlock(&cache->lock);
    afc__response_set_release(set);
}

/* ---- Finding ------------------------------------------------------------------------------- */

struct afc__cache_find {
    afc__cache_found found;
};

afc__cache_step afc__cache_find_begin(afc_http_cache *cache, afc_slice key, afc__cache_wake wake,
                                      afc__cache_find **op, afc__cache_found *out) {
    (void)wake;
    *op = NULL;
    out->count = 0;
    if (!afc__store_is_usable(cache)) return AFC__CACHE_READY;
    afc__response_set *set = copy_set(cache, afc__store_hash_key(cache, key));
    if (set != NULL) afc__cache_found_copy(out, &set->found, key);
    afc__response_set_release(set);
    return AFC__CACHE_READY;
}

void afc__cache_find_take(afc__cache_find *op, afc__cache_found *out) {
    *out = op->found;
    op->found.count = 0;
}

void afc__cache_find_free(afc__cache_find *op) {
    if (op == NULL) return;
    afc__cache_found_clear(&op->found);
    afc_free(op);
}

void afc__cache_touch(afc_http_cache *cache, const afc__cache_stored *stored) {
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    afc__entry_record *record = afc__entry_table_find(&cache->table, stored->id.primary,
                                                      stored->id.variant);
    if (record != NULL) record->used = ++cache->clock;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- Changing and removing ----------------------------------------------------------------- */

/** Returns whether this body is still the stored one of its variant, under the lock. */
static bool is_current(afc_http_cache *cache, const afc__cache_stored *stored) {
    afc__response_set *set = copy_set(cache, stored->id.primary);
    if (set == NULL) return false;
    const afc__cache_stored *now = afc__cache_found_variant(&set->found, stored->id.variant);
    bool is_same = now != NULL && now->id.content == stored->id.content;
    afc__response_set_release(set);
    return is_same;
}

/** Makes a response with the body of `stored`. NULL: out of memory, or the meta is too large. */
static afc__cache_stored *with_meta(afc_http_cache *cache, const afc__cache_stored *stored,
                                    const afc__cache_meta *meta) {
    afc__buffer block;
    afc__buffer_init(&block, AFC__CACHE_LONGEST_META);
    afc__cache_stored *made = NULL;
    if (afc__cache_encode(&block, stored->key, meta) == AFC_OK) {
        made = afc__cache_stored_new((afc_slice){block.bytes, block.size});
    }
    afc__buffer_clear(&block);
    if (made == NULL) return NULL;
    made->id = stored->id;
    made->id.variant = afc__store_hash_variant(cache, stored->id.primary, made->block);
    made->body_size = stored->body_size;
    made->body = stored->body;
    if (made->body != NULL) atomic_fetch_add(&made->body->references, 1);
    return made;
}

void afc__cache_update(afc_http_cache *cache, afc__cache_stored *stored,
                       const afc__cache_meta *meta) {
    if (!afc__store_is_usable(cache)) return;
    afc__cache_stored *changed = with_meta(cache, stored, meta);
    pthread_mutex_lock(&cache->lock);
    if (is_current(cache, stored)) {
        if (changed == NULL || changed->id.variant != stored->id.variant) {
            afc__store_forget(cache, stored->id.primary, stored->id.variant);
        }
        if (changed != NULL) afc__store_put(cache, changed);
    }
    pthread_mutex_unlock(&cache->lock);
    afc__cache_stored_release(changed);
}

void afc__cache_drop(afc_http_cache *cache, const afc__cache_stored *stored) {
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    if (is_current(cache, stored)) {
        afc__store_forget(cache, stored->id.primary, stored->id.variant);
    }
    pthread_mutex_unlock(&cache->lock);
}

void afc__cache_remove_key(afc_http_cache *cache, afc_slice key) {
    if (!afc__store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    forget_key(cache, afc__store_hash_key(cache, key));
    pthread_mutex_unlock(&cache->lock);
}

void afc__cache_count(afc_http_cache *cache, afc__cache_event event) {
    atomic_fetch_add_explicit(&cache->events[event], 1, memory_order_relaxed);
}
