/**
 * The transfers of a session whose responses may be stored, which are called fills, by the hashes of their keys. Loop
 * thread only.
 */
#ifndef AFC_TRANSFER_CACHING_FILLS_H
#define AFC_TRANSFER_CACHING_FILLS_H

#include "base/list.h"

#include <stdint.h>

enum { AFC__FILL_BUCKETS = 256 };

typedef struct afc__fills {
    /** Lists of afc__hop_cache.fill, by the hash of the key, each in the order of the requests. */
    afc__list buckets[AFC__FILL_BUCKETS];
} afc__fills;

static inline void afc__fills_init(afc__fills *fills) {
    for (unsigned i = 0; i < AFC__FILL_BUCKETS; i++) afc__list_init(&fills->buckets[i]);
}

/** Returns the list that has all fills with this hash of their key, among others. */
static inline afc__list *afc__fills_with(afc__fills *fills, uint64_t hash) {
    return &fills->buckets[hash % AFC__FILL_BUCKETS];
}

#endif
