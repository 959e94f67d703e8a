/** Reference-counted values for the cache tests. */
#ifndef AFC_TESTS_LRU_VALUES_H
#define AFC_TESTS_LRU_VALUES_H

#include <afcore/lru.h>
#include <stdatomic.h>

/** The context of a cache's functions. */
typedef struct lru_fixture {
    atomic_size_t alive;      /**< Values with references left. */
    atomic_size_t evicted[5]; /**< By reason. */
    int64_t now_us;           /**< The time of the cache's clock. */
} lru_fixture;

typedef struct lru_value {
    lru_fixture *fixture;
    atomic_uint references;
    uint64_t number;
} lru_value;

/** Makes a value with one reference. */
lru_value *lru_value_new(lru_fixture *fixture, uint64_t number);
void lru_value_retain(void *fixture, void *value);
void lru_value_release(void *fixture, void *value);

/** Returns options with the functions for such values. */
afc_lru_options lru_options(lru_fixture *fixture);

/** Writes the key of a number to CACHED_KEY bytes. */
enum { CACHED_KEY = 40 };
afc_slice lru_key(char *room, uint64_t number);

/** Stores a new value under the key of its number. */
afc_status lru_put(afc_lru *cache, lru_fixture *fixture, uint64_t number, uint64_t cost);

/** Returns whether there is a value; it becomes the most recently used. */
bool lru_use(afc_lru *cache, lru_fixture *fixture, uint64_t number);

bool lru_remove(afc_lru *cache, uint64_t number);

#endif
