#include "base/keyed_hash.h"
#include "base/text.h"
#include "http_cache/memory/store_internal.h"
#include "run/threads.h"

/* ---- Hashes -------------------------------------------------------------------------------- */

bool afc__cache_store_is_usable(const afc_http_cache *cache) {
    return cache->generation == afc__process_generation();
}

uint64_t afc__http_cache_hash_key(const afc_http_cache *cache, afc_slice key) {
    return afc__siphash13(cache->key_seed, key);
}

uint32_t afc__cache_store_hash_host(const afc_http_cache *cache, afc_slice host) {
    char lower[256];
    if (host.size > sizeof lower) host.size = sizeof lower;
    for (size_t i = 0; i < host.size; i++) lower[i] = afc__lower(host.bytes[i]);
    return (uint32_t)afc__siphash13(cache->key_seed, (afc_slice){lower, host.size});
}

uint64_t afc__cache_store_hash_variant(const afc_http_cache *cache, uint64_t primary,
                                       afc_slice block) {
    const uint64_t seed[2] = {cache->key_seed[0] ^ primary, ~cache->key_seed[1]};
    return afc__siphash13(seed, afc__http_cache_selecting_part(block));
}

bool afc__cache_store_is_at_home(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                                 uint64_t primary, uint64_t variant) {
    return afc__http_cache_hash_key(cache, stored->key) == primary &&
           afc__cache_store_hash_variant(cache, primary, stored->block) == variant;
}

uint64_t afc__cache_store_new_content(afc_http_cache *cache) {
    uint64_t number = atomic_fetch_add_explicit(&cache->content_count, 1, memory_order_relaxed);
    return afc__siphash13(cache->content_seed, (afc_slice){(char *)&number, sizeof number});
}

bool afc__cache_store_matches(const afc__entry_record *record,
                              const afc__cache_store_filter *filter) {
    if (filter->has_host && record->host != filter->host) return false;
    return record->stored_s >= filter->since;
}

/* ---- Removals ------------------------------------------------------------------------------ */

afc__http_cache_mark afc__cache_store_take_mark(afc_http_cache *cache, uint64_t primary) {
    return (afc__http_cache_mark){
        atomic_load(&cache->key_removals[primary % AFC__CACHE_STORE_REMOVALS]),
        atomic_load(&cache->removals), (uint32_t)atomic_load(&cache->order)};
}

bool afc__cache_store_is_current(afc_http_cache *cache, uint64_t primary,
                                 afc__http_cache_mark mark) {
    afc__http_cache_mark now = afc__cache_store_take_mark(cache, primary);
    return now.key_removals == mark.key_removals && now.all_removals == mark.all_removals;
}

void afc__cache_store_count_removal(afc_http_cache *cache, uint64_t primary) {
    atomic_fetch_add(&cache->key_removals[primary % AFC__CACHE_STORE_REMOVALS], 1);
}

afc__http_cache_mark afc__http_cache_take_mark(afc_http_cache *cache, afc_slice key) {
    return afc__cache_store_take_mark(cache, afc__http_cache_hash_key(cache, key));
}

bool afc__http_cache_is_current(afc_http_cache *cache, afc_slice key, afc__http_cache_mark mark) {
    return afc__cache_store_is_current(cache, afc__http_cache_hash_key(cache, key), mark);
}

/* ---- Order --------------------------------------------------------------------------------- */

uint32_t afc__cache_store_new_order(afc_http_cache *cache) {
    uint32_t order = (uint32_t)atomic_fetch_add(&cache->order, 1) + 1;
    return order != 0 ? order : 1;
}

uint32_t afc__cache_store_date(const afc__http_cache_stored *stored) {
    if (stored->date < 0) return 0;
    return stored->date < UINT32_MAX ? (uint32_t)stored->date : UINT32_MAX;
}

static bool is_order_after(uint32_t order, uint32_t other) {
    return (int32_t)(order - other) > 0;
}

bool afc__cache_store_is_older(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                               afc__http_cache_mark mark) {
    const afc__entry_record *now = afc__entry_table_find(&cache->table, stored->id.primary,
                                                         stored->id.variant);
    /* A stored response that was received before this one was requested is older, whatever its Date. */
    if (now == NULL || now->order == 0 || !is_order_after(now->order, mark.order)) return false;
    uint32_t date = afc__cache_store_date(stored);
    return date != now->date_s ? date < now->date_s : is_order_after(now->order, stored->order);
}

/* ---- The memory ---------------------------------------------------------------------------- */

static afc_slice set_key(const uint64_t *primary) {
    return (afc_slice){(const char *)primary, sizeof *primary};
}

afc__response_set *afc__cache_store_copy_set(afc_http_cache *cache, uint64_t primary) {
    return afc_lru_copy(cache->memory, set_key(&primary));
}

static size_t copy_variants(const afc_http_cache *cache, uint64_t primary,
                            afc__entry_record out[AFC__HTTP_CACHE_VARIANTS_MAX]) {
    return afc__entry_table_variants(&cache->table, primary, out, AFC__HTTP_CACHE_VARIANTS_MAX);
}

/** Clears a place bit of a record, and removes the record if no other place is left. */
static void leave_place(afc_http_cache *cache, uint64_t primary, uint64_t variant, unsigned place) {
    afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
    if (record == NULL) return;
    if ((record->places & ~place) != 0) {
        record->places &= ~place;
    } else {
        afc__entry_table_remove(&cache->table, record);
    }
}

static void take_memory_places(afc_http_cache *cache, uint64_t primary) {
    afc__entry_record variants[AFC__HTTP_CACHE_VARIANTS_MAX];
    size_t count = copy_variants(cache, primary, variants);
    for (size_t i = 0; i < count; i++) {
        leave_place(cache, primary, variants[i].variant, AFC__ENTRY_IN_MEMORY);
    }
}

void afc__cache_store_leave_memory(afc_http_cache *cache, uint64_t primary) {
    if (afc_lru_get_cost(cache->memory) != 0) afc_lru_remove(cache->memory, set_key(&primary));
    /*
     * Needed without a set, too: a record says that its response is in memory before the set is put there, which may
     * fail.
     */
    take_memory_places(cache, primary);
}

void afc__cache_store_leave_disk(afc_http_cache *cache, uint64_t primary, uint64_t variant) {
    afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
    if (record == NULL) return;
    afc__entry_table_set_units(&cache->table, record, 0);
    leave_place(cache, primary, variant, AFC__ENTRY_ON_DISK | AFC__ENTRY_ANNOUNCED);
}

void afc__cache_store_on_evict(void *context, afc_slice key, void *value, afc_lru_reason reason) {
    afc_http_cache *cache = context;
    uint64_t primary;
    (void)value;
    (void)reason;
    memcpy(&primary, key.bytes, sizeof primary);
    pthread_mutex_lock(&cache->lock);
    /* Unless a new set has taken the place of the evicted one. */
    afc__response_set *set = afc__cache_store_copy_set(cache, primary);
    if (set == NULL) take_memory_places(cache, primary);
    afc__response_set_release(set);
    pthread_mutex_unlock(&cache->lock);
}

void afc__cache_store_trim(afc_http_cache *cache) {
    uint64_t capacity = cache->memory_bytes;
    if (afc_lru_get_cost(cache->memory) <= capacity) return;
    /* Evicts an eighth of the capacity more, so that not every put has to evict. */
    afc_lru_trim(cache->memory, capacity - capacity / 8, AFC_LRU_COST);
}

void afc__cache_store_set_variants(afc_http_cache *cache, uint64_t primary,
                                   const afc__http_cache_found *found) {
    afc__response_set *set = found->count != 0 ? afc__response_set_new(found) : NULL;
    if (set != NULL && set->cost > cache->memory_bytes) {
        afc__response_set_release(set);
        set = NULL;
    }
    bool is_kept = set != NULL &&
                   afc_lru_put(cache->memory, set_key(&primary), set, set->cost) == AFC_OK;
    if (!is_kept) {
        afc__cache_store_leave_memory(cache, primary);
        return;
    }
    for (size_t i = 0; i < found->count; i++) {
        uint64_t variant = found->stored[i]->id.variant;
        afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
        if (record != NULL) record->places |= AFC__ENTRY_IN_MEMORY;
    }
}

bool afc__cache_store_has_more(afc_http_cache *cache, const afc__http_cache_stored *part,
                               afc__http_cache_mark mark, uint64_t seen) {
    const afc__http_cache_id *id = &part->id;
    const afc__entry_record *record = afc__entry_table_find(&cache->table, id->primary,
                                                            id->variant);
    if (record == NULL) return false;
    afc__response_set *set = afc__cache_store_copy_set(cache, id->primary);
    const afc__http_cache_stored *now = set != NULL ? afc__http_cache_found_variant(&set->found,
                                                                                    id->variant)
                                                    : NULL;
    bool is_later = record->order != 0 && is_order_after(record->order, mark.order);
    uint64_t extent = now != NULL ? afc__http_cache_stored_extent(now)
                      : is_later  ? UINT64_MAX /* Unknown: better keep it than a part. */
                                  : seen;
    afc__response_set_release(set);
    return extent > part->body_size;
}

void afc__cache_store_forget(afc_http_cache *cache, uint64_t primary, uint64_t variant) {
    afc__entry_record *record = afc__entry_table_find(&cache->table, primary, variant);
    if (record != NULL) afc__entry_table_remove(&cache->table, record);
    afc__response_set *set = afc__cache_store_copy_set(cache, primary);
    if (set == NULL) return;
    afc__http_cache_found found = set->found;
    if (afc__http_cache_found_remove(&found, variant))
        afc__cache_store_set_variants(cache, primary, &found);
    afc__response_set_release(set);
}
