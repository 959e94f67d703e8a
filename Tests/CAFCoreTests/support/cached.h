/** Reference-counted values for the cache tests. */
#ifndef AFC_TESTS_CACHED_H
#define AFC_TESTS_CACHED_H

#include <afcore/lru.h>
#include <stdatomic.h>

/** The context of a cache's functions. */
typedef struct cached_world {
    atomic_size_t alive;      /**< Values with references left. */
    atomic_size_t evicted[5]; /**< By reason. */
    int64_t now_us;           /**< The time of the cache's clock. */
} cached_world;

typedef struct cached_value {
    cached_world *world;
    atomic_uint references;
    uint64_t number;
} cached_value;

/** Makes a value with one reference. */
cached_value *cached_value_new(cached_world *world, uint64_t number);
void cached_value_retain(void *world, void *value);
void cached_value_release(void *world, void *value);

/** Returns options with the functions for such values. */
afc_lru_options cached_options(cached_world *world);

/** Writes the key of a number to CACHED_KEY bytes. */
enum { CACHED_KEY = 40 };
afc_slice cached_key(char *room, uint64_t number);

/** Stores a new value under the key of its number. */
afc_status cached_put(afc_lru *cache, cached_world *world, uint64_t number, uint64_t cost);

/** Returns whether there is a value; it becomes the most recently used. */
bool cached_use(afc_lru *cache, cached_world *world, uint64_t number);

bool cached_remove(afc_lru *cache, uint64_t number);

#endif
