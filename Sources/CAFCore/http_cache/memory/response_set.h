/** The variants of one key in memory: an immutable, reference-counted set. A change makes another set. */
#ifndef AFC_HTTP_CACHE_MEMORY_RESPONSE_SET_H
#define AFC_HTTP_CACHE_MEMORY_RESPONSE_SET_H

#include "http_cache/memory/stored.h"

typedef struct afc__response_set {
    atomic_uint references;
    afc__http_cache_found found; /**< By date, newest first; never empty. */
    uint64_t cost;               /**< Bytes of memory. */
} afc__response_set;

/** Makes a set that retains the responses in `found`. Returns NULL if out of memory. */
afc__response_set *afc__response_set_new(const afc__http_cache_found *found);
void afc__response_set_retain(afc__response_set *set);
/** Releases a reference. NULL is allowed. */
void afc__response_set_release(afc__response_set *set);

/** Returns the response with this hash of its variant, or NULL. The reference stays with `found`. */
afc__http_cache_stored *afc__http_cache_found_variant(const afc__http_cache_found *found,
                                                      uint64_t variant);

/** Removes a variant; doesn't release it. Returns whether it was there. */
bool afc__http_cache_found_remove(afc__http_cache_found *found, uint64_t variant);

/** Inserts a response by its date; `found` must have room for it. Doesn't retain the response. */
void afc__http_cache_found_insert(afc__http_cache_found *found, afc__http_cache_stored *stored);

/** Releases all responses and empties `found`. */
void afc__http_cache_found_clear(afc__http_cache_found *found);

/** Copies and retains the responses with this key: another one may have the same hash. */
void afc__http_cache_found_copy(afc__http_cache_found *out, const afc__http_cache_found *found,
                                afc_slice key);

#endif
