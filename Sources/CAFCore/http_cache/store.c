#include "base/alloc.h"
#include "http_cache/disk/disk.h"
#include "http_cache/disk/disk_removal.h"
#include "http_cache/memory/key.h"
#include "http_cache/memory/store_internal.h"

#include <time.h>

static afc__entry_record *find_record(const afc_http_cache *cache, const afc__http_cache_id *id) {
    return afc__entry_table_find(&cache->table, id->primary, id->variant);
}

/* ---- Putting and removing ------------------------------------------------------------------ */

void afc__cache_store_remove(afc_http_cache *cache, const afc__cache_store_name *names,
                             size_t count) {
    for (size_t i = 0; i < count; i++) {
        afc__cache_store_forget(cache, names[i].primary, names[i].variant);
    }
    if (cache->disk != NULL) afc__disk_remove(cache->disk, names, count, 0);
}

static void remove_one(afc_http_cache *cache, const afc__http_cache_id *id) {
    afc__cache_store_name name = {id->primary, id->variant};
    afc__cache_store_remove(cache, &name, 1);
}

/** Evicts the least recently used variant of a key if one more would exceed AFC__HTTP_CACHE_VARIANTS_MAX. */
static void limit_variants(afc_http_cache *cache, const afc__http_cache_id *id) {
    afc__entry_record variants[AFC__HTTP_CACHE_VARIANTS_MAX];
    size_t oldest = 0, count = afc__entry_table_variants(&cache->table, id->primary, variants,
                                                         AFC__HTTP_CACHE_VARIANTS_MAX);
    if (count < AFC__HTTP_CACHE_VARIANTS_MAX || find_record(cache, id) != NULL) return;
    for (size_t i = 1; i < count; i++) {
        if (variants[i].used < variants[oldest].used) oldest = i;
    }
    afc__cache_store_name name = {id->primary, variants[oldest].variant};
    afc__cache_store_remove(cache, &name, 1);
}

bool afc__cache_store_put_record(afc_http_cache *cache, const afc__http_cache_stored *stored) {
    limit_variants(cache, &stored->id);
    const afc__entry_record *old = find_record(cache, &stored->id);
    afc__entry_record record = {
        .primary = stored->id.primary,
        .variant = stored->id.variant,
        .used = ++cache->clock,
        .units = old != NULL ? old->units : 0,
        .stored_s = (uint32_t)time(NULL),
        .host = afc__cache_store_hash_host(cache, afc__http_cache_key_host(stored->key)),
        .places = cache->disk != NULL ? AFC__ENTRY_ON_DISK | AFC__ENTRY_ANNOUNCED
                                      : AFC__ENTRY_IN_MEMORY,
        .order = stored->order,
        .date_s = afc__cache_store_date(stored),
    };
    return afc__entry_table_put(&cache->table, &record);
}

/**
 * Returns whether memory holds all other variants of the key, and writes these to `*found`. Only then may the new set
 * stay in memory, as a key that has a set there isn't looked up on disk.
 */
static bool are_others_in_memory(afc_http_cache *cache, const afc__http_cache_id *id,
                                 const afc__response_set *set, afc__http_cache_found *found) {
    afc__entry_record variants[2];
    *found = (afc__http_cache_found){0};
    if (set != NULL) {
        *found = set->found;
        afc__http_cache_found_remove(found, id->variant);
        return found->count < AFC__HTTP_CACHE_VARIANTS_MAX;
    }
    if (cache->disk == NULL) return true;
    if (afc__disk_is_ahead(cache->disk, id->primary)) return false;
    return afc__entry_table_variants(&cache->table, id->primary, variants, 2) ==
           (find_record(cache, id) != NULL ? 1 : 0);
}

/**
 * Does the work of afc__cache_store_put(). With `has_file`, only the meta is written, to the file that has the body. If
 * another process has removed that file, the response isn't on disk any more.
 */
static bool put(afc_http_cache *cache, afc__http_cache_stored *stored, bool has_file) {
    const afc__http_cache_id *id = &stored->id;
    afc__http_cache_found found;
    pthread_mutex_lock(&cache->lock);
    bool is_recorded = afc__cache_store_put_record(cache, stored);
    afc__response_set *set = afc__cache_store_copy_set(cache, id->primary);
    bool is_complete = is_recorded && are_others_in_memory(cache, id, set, &found);
    if (is_complete) {
        afc__http_cache_found_insert(&found, stored);
        afc__cache_store_set_variants(cache, id->primary, &found);
    } else {
        afc__cache_store_leave_memory(cache, id->primary);
    }
    bool is_on_disk = is_recorded && cache->disk != NULL &&
                      (has_file ? afc__disk_change(cache->disk, stored, id->variant)
                                : afc__disk_put(cache->disk, stored));
    if (!is_recorded) {
        remove_one(cache, id);
    } else if (cache->disk != NULL && !is_on_disk) {
        /* The disk takes no more now, or memory is out. The previous response must not stay there either. */
        afc__cache_store_name name = {id->primary, id->variant};
        afc__cache_store_leave_disk(cache, id->primary, id->variant);
        afc__disk_remove(cache->disk, &name, 1, 0);
    }
    afc__cache_store_trim(cache);
    bool is_stored = find_record(cache, id) != NULL;
    pthread_mutex_unlock(&cache->lock);
    afc__response_set_release(set);
    return is_stored;
}

bool afc__cache_store_put(afc_http_cache *cache, afc__http_cache_stored *stored) {
    return put(cache, stored, false);
}

/* ---- Finding ------------------------------------------------------------------------------- */

struct afc__http_cache_find {
    afc__disk_job job;
    atomic_uint references; /* The caller's, and the job's. */
    afc__http_cache_wake wake;
    uint64_t primary;
    /** The disk's count `changes` of the key when the lookup began. */
    uint32_t changes;
    afc__http_cache_found found;
    size_t key_size;
    char key[];
};

/**
 * Keeps in memory what was read, if these are all variants with their bodies, and the key hasn't changed since the
 * lookup began. Under the lock.
 */
static void promote(afc_http_cache *cache, const afc__http_cache_find *op) {
    size_t in_memory = 0;
    for (size_t i = 0; i < op->found.count; i++) {
        if (op->found.stored[i]->body != NULL) in_memory++;
    }
    if (in_memory == 0 || in_memory != op->found.count || op->found.lacks_memory) return;
    if (cache->disk->changes[afc__disk_bucket(op->primary)] != op->changes) return;
    afc__cache_store_set_variants(cache, op->primary, &op->found);
    afc__cache_store_trim(cache);
}

static bool work_find(afc__disk_job *work) {
    afc__http_cache_find *op = AFC__OWNER(work, afc__http_cache_find, job);
    afc_http_cache *cache = work->disk->cache;
    afc_slice key = {op->key, op->key_size};
    pthread_mutex_lock(&cache->lock);
    op->changes = cache->disk->changes[afc__disk_bucket(op->primary)];
    pthread_mutex_unlock(&cache->lock);
    afc__disk_find(work->disk, op->primary, key, &op->found);
    pthread_mutex_lock(&cache->lock);
    promote(cache, op);
    pthread_mutex_unlock(&cache->lock);
    op->wake.wake(op->wake.context);
    afc__http_cache_find_free(op);
    return false;
}

/** Looks a key up without the disk. READY: `*out` is the result. PENDING: there may be more on disk. */
static afc__http_cache_step find_in_memory(afc_http_cache *cache, uint64_t primary, afc_slice key,
                                           afc__http_cache_found *out) {
    afc__entry_record variant;
    bool has_changed = cache->disk != NULL && afc__journal_has_changed(&cache->disk->journal);
    afc__response_set *set = !has_changed ? afc__cache_store_copy_set(cache, primary) : NULL;
    if (set != NULL) afc__http_cache_found_copy(out, &set->found, key);
    afc__response_set_release(set);
    if (set != NULL || cache->disk == NULL) return AFC__HTTP_CACHE_READY;
    pthread_mutex_lock(&cache->lock);
    bool is_ahead = has_changed || afc__disk_is_ahead(cache->disk, primary);
    bool is_stored = afc__entry_table_variants(&cache->table, primary, &variant, 1) != 0;
    pthread_mutex_unlock(&cache->lock);
    return is_ahead || is_stored ? AFC__HTTP_CACHE_PENDING : AFC__HTTP_CACHE_READY;
}

afc__http_cache_step afc__http_cache_find_begin(afc_http_cache *cache, afc_slice key,
                                                afc__http_cache_wake wake,
                                                afc__http_cache_find **out_op,
                                                afc__http_cache_found *out) {
    *out_op = NULL;
    *out = (afc__http_cache_found){0};
    if (!afc__cache_store_is_usable(cache) || key.size > AFC__HTTP_CACHE_KEY_MAX)
        return AFC__HTTP_CACHE_READY;
    uint64_t primary = afc__http_cache_hash_key(cache, key);
    afc__http_cache_step step = find_in_memory(cache, primary, key, out);
    if (step == AFC__HTTP_CACHE_READY) return step;
    afc__http_cache_find *op = afc__alloc(sizeof *op + key.size);
    if (op == NULL) {
        out->lacks_memory = true;
        return AFC__HTTP_CACHE_READY;
    }
    *op = (afc__http_cache_find){.wake = wake, .primary = primary, .key_size = key.size};
    atomic_init(&op->references, 2);
    memcpy(op->key, key.bytes, key.size);
    if (!afc__disk_order(cache->disk, &op->job, work_find)) {
        afc_free(op);
        out->lacks_memory = true;
        return AFC__HTTP_CACHE_READY;
    }
    *out_op = op;
    return AFC__HTTP_CACHE_PENDING;
}

void afc__http_cache_find_take(afc__http_cache_find *op, afc__http_cache_found *out) {
    *out = op->found;
    op->found.count = 0;
}

void afc__http_cache_find_free(afc__http_cache_find *op) {
    if (op == NULL || atomic_fetch_sub(&op->references, 1) != 1) return;
    afc__http_cache_found_clear(&op->found);
    afc_free(op);
}

void afc__http_cache_touch(afc_http_cache *cache, const afc__http_cache_stored *stored) {
    if (!afc__cache_store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    afc__entry_record *record = find_record(cache, &stored->id);
    if (record != NULL) {
        record->used = ++cache->clock;
        bool is_on_disk = (record->places & AFC__ENTRY_ON_DISK) != 0;
        if (is_on_disk) afc__disk_use(cache->disk, record->primary, record->variant);
    }
    pthread_mutex_unlock(&cache->lock);
}

/* ---- Changing ------------------------------------------------------------------------------ */

/** Whether a response is still the current one of its variant, as far as memory knows. Under the lock. */
typedef enum stored_state {
    CURRENT,
    REPLACED,
    UNKNOWN /* It isn't in memory: only the disk knows. */
} stored_state;

static stored_state state_of(afc_http_cache *cache, const afc__http_cache_id *id) {
    afc__response_set *set = afc__cache_store_copy_set(cache, id->primary);
    if (set == NULL) return cache->disk != NULL ? UNKNOWN : REPLACED;
    const afc__http_cache_stored *now = afc__http_cache_found_variant(&set->found, id->variant);
    bool is_same = now != NULL && now->id.content == id->content;
    afc__response_set_release(set);
    return is_same ? CURRENT : REPLACED;
}

/**
 * Makes a response with the body of `stored` and another meta. Returns NULL if out of memory, or if the meta is too
 * large.
 */
static afc__http_cache_stored *with_meta(afc_http_cache *cache,
                                         const afc__http_cache_stored *stored,
                                         const afc__http_cache_meta *meta) {
    afc__http_cache_stored *made = afc__http_cache_stored_new(stored->key, meta);
    if (made == NULL) return NULL;
    made->id = stored->id;
    made->id.variant = afc__cache_store_hash_variant(cache, stored->id.primary, made->block);
    made->order = afc__cache_store_new_order(cache);
    made->body_size = stored->body_size;
    made->body = stored->body;
    if (made->body != NULL) atomic_fetch_add(&made->body->references, 1);
    return made;
}

/** Changes an entry on disk, which leaves memory. The disk's job checks whether the file still has the same body. */
static void change_on_disk(afc_http_cache *cache, afc__http_cache_stored *changed,
                           uint64_t old_variant) {
    afc__cache_store_leave_memory(cache, changed->id.primary);
    if (!afc__cache_store_put_record(cache, changed) ||
        !afc__disk_change(cache->disk, changed, old_variant)) {
        afc__cache_store_name names[] = {{changed->id.primary, old_variant},
                                         {changed->id.primary, changed->id.variant}};
        afc__cache_store_remove(cache, names, 2);
    }
}

void afc__http_cache_update(afc_http_cache *cache, afc__http_cache_stored *stored,
                            const afc__http_cache_meta *meta) {
    if (!afc__cache_store_is_usable(cache)) return;
    afc__http_cache_stored *changed = with_meta(cache, stored, meta);
    pthread_mutex_lock(&cache->lock);
    stored_state state = state_of(cache, &stored->id);
    /* A removal of many entries that is under way has noted the old name only, and would miss the new one. */
    bool is_renamed = changed != NULL && changed->id.variant != stored->id.variant;
    bool is_removed = cache->removing != 0 && is_renamed;
    if (changed == NULL || is_removed) {
        if (state != REPLACED) remove_one(cache, &stored->id);
    } else if (state == CURRENT && (cache->disk == NULL || !is_renamed)) {
        if (is_renamed) remove_one(cache, &stored->id);
        put(cache, changed, cache->disk != NULL);
    } else if (state != REPLACED && find_record(cache, &stored->id) != NULL) {
        change_on_disk(cache, changed, stored->id.variant);
    }
    pthread_mutex_unlock(&cache->lock);
    afc__http_cache_stored_release(changed);
}

/* ---- Removing ------------------------------------------------------------------------------ */

/** Removes a response, unless another one has taken its place. Under the lock. */
static void drop(afc_http_cache *cache, const afc__http_cache_id *id) {
    stored_state state = state_of(cache, id);
    if (state == CURRENT) remove_one(cache, id);
    if (state == UNKNOWN) {
        afc__cache_store_name name = {id->primary, id->variant};
        afc__disk_remove(cache->disk, &name, 1, id->content);
    }
}

void afc__http_cache_drop(afc_http_cache *cache, const afc__http_cache_stored *stored) {
    if (!afc__cache_store_is_usable(cache)) return;
    pthread_mutex_lock(&cache->lock);
    drop(cache, &stored->id);
    pthread_mutex_unlock(&cache->lock);
}

void afc__http_cache_supersede(afc_http_cache *cache, const afc__http_cache_seen *seen,
                               size_t count) {
    if (!afc__cache_store_is_usable(cache) || count == 0) return;
    pthread_mutex_lock(&cache->lock);
    afc__cache_store_count_removal(cache, seen->id.primary);
    for (size_t i = 0; i < count; i++) drop(cache, &seen[i].id);
    pthread_mutex_unlock(&cache->lock);
}

void afc__http_cache_remove_key(afc_http_cache *cache, afc_slice key) {
    afc__entry_record variants[AFC__HTTP_CACHE_VARIANTS_MAX];
    afc__cache_store_name names[AFC__HTTP_CACHE_VARIANTS_MAX];
    if (!afc__cache_store_is_usable(cache)) return;
    uint64_t primary = afc__http_cache_hash_key(cache, key);
    size_t count;
    pthread_mutex_lock(&cache->lock);
    afc__cache_store_count_removal(cache, primary);
    /* Several processes together may have stored more than AFC__HTTP_CACHE_VARIANTS_MAX. */
    do {
        count = afc__entry_table_variants(&cache->table, primary, variants,
                                          AFC__HTTP_CACHE_VARIANTS_MAX);
        for (size_t i = 0; i < count; i++) {
            names[i] = (afc__cache_store_name){primary, variants[i].variant};
        }
        afc__cache_store_remove(cache, names, count);
    } while (count == AFC__HTTP_CACHE_VARIANTS_MAX);
    if (cache->disk != NULL) afc__disk_record_change(cache->disk, primary);
    pthread_mutex_unlock(&cache->lock);
}

void afc__http_cache_count(afc_http_cache *cache, afc__http_cache_event event) {
    atomic_fetch_add_explicit(&cache->events[event], 1, memory_order_relaxed);
}
