#include "http_cache/memory/response_set.h"

#include "base/alloc.h"
#include "base/text.h"

afc__response_set *afc__response_set_new(const afc__http_cache_found *found) {
    afc__response_set *set = afc__alloc(sizeof *set);
    if (set == NULL) return NULL;
    atomic_init(&set->references, 1);
    set->found = *found;
    set->cost = sizeof *set;
    for (size_t i = 0; i < found->count; i++) {
        afc__http_cache_stored_retain(found->stored[i]);
        set->cost += afc__http_cache_stored_cost(found->stored[i]);
    }
    return set;
}

void afc__response_set_retain(afc__response_set *set) {
    atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
}

void afc__response_set_release(afc__response_set *set) {
    if (set == NULL || atomic_fetch_sub(&set->references, 1) != 1) return;
    afc__http_cache_found_clear(&set->found);
    afc_free(set);
}

afc__http_cache_stored *afc__http_cache_found_variant(const afc__http_cache_found *found,
                                                      uint64_t variant) {
    for (size_t i = 0; i < found->count; i++) {
        if (found->stored[i]->id.variant == variant) return found->stored[i];
    }
    return NULL;
}

bool afc__http_cache_found_remove(afc__http_cache_found *found, uint64_t variant) {
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (found->stored[i]->id.variant != variant) found->stored[count++] = found->stored[i];
    }
    bool is_removed = count != found->count;
    found->count = count;
    return is_removed;
}

/** Compares the times when the server made them (Date), then those of their receipt (RFC 9111 4.1). */
static bool is_newer(const afc__http_cache_stored *one, const afc__http_cache_stored *other) {
    if (one->date != other->date) return one->date > other->date;
    return one->meta.response_time > other->meta.response_time;
}

void afc__http_cache_found_insert(afc__http_cache_found *found, afc__http_cache_stored *stored) {
    size_t at = found->count++;
    for (; at > 0; at--) {
        afc__http_cache_stored *before = found->stored[at - 1];
        if (is_newer(before, stored)) break;
        found->stored[at] = before;
    }
    found->stored[at] = stored;
}

void afc__http_cache_found_clear(afc__http_cache_found *found) {
    for (size_t i = 0; i < found->count; i++) afc__http_cache_stored_release(found->stored[i]);
    found->count = 0;
}

void afc__http_cache_found_copy(afc__http_cache_found *out, const afc__http_cache_found *found,
                                afc_slice key) {
    *out = (afc__http_cache_found){0};
    for (size_t i = 0; i < found->count; i++) {
        if (!afc__is_same(found->stored[i]->key, key)) continue;
        out->stored[out->count++] = afc__http_cache_stored_retain(found->stored[i]);
    }
}
