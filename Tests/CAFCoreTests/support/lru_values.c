#include "support/lru_values.h"

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>

lru_value *lru_value_new(lru_fixture *fixture, uint64_t number) {
    lru_value *value = malloc(sizeof *value);
    assert_non_null(value);
    value->fixture = fixture;
    value->number = number;
    atomic_init(&value->references, 1);
    atomic_fetch_add(&fixture->alive, 1);
    return value;
}

void lru_value_retain(void *fixture, void *value) {
    (void)fixture;
    lru_value *cached = value;
    /* From nothing a reference can't come. */
    if (atomic_fetch_add(&cached->references, 1) == 0) abort();
}

void lru_value_release(void *fixture, void *value) {
    lru_fixture *of = fixture;
    lru_value *cached = value;
    if (atomic_fetch_sub(&cached->references, 1) != 1) return;
    atomic_fetch_sub(&of->alive, 1);
    free(cached);
}

static void on_evict(void *context, afc_slice key, void *value, afc_lru_reason reason) {
    lru_fixture *fixture = context;
    lru_value *cached = value;
    char room[CACHED_KEY];
    afc_slice expected = lru_key(room, cached->number);
    if (key.size != expected.size || memcmp(key.bytes, expected.bytes, key.size) != 0) abort();
    atomic_fetch_add(&fixture->evicted[reason], 1);
}

static int64_t now_us(void *context) {
    lru_fixture *fixture = context;
    return fixture->now_us;
}

afc_lru_options lru_options(lru_fixture *fixture) {
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.retain = lru_value_retain;
    options.release = lru_value_release;
    options.on_evict = on_evict;
    options.now_us = now_us;
    options.context = fixture;
    return options;
}

afc_slice lru_key(char *room, uint64_t number) {
    int size = snprintf(room, CACHED_KEY, "http://h/%llu", (unsigned long long)number);
    return (afc_slice){room, (size_t)size};
}

afc_status lru_put(afc_lru *cache, lru_fixture *fixture, uint64_t number, uint64_t cost) {
    char room[CACHED_KEY];
    return afc_lru_put(cache, lru_key(room, number), lru_value_new(fixture, number), cost);
}

bool lru_use(afc_lru *cache, lru_fixture *fixture, uint64_t number) {
    char room[CACHED_KEY];
    lru_value *value = afc_lru_copy(cache, lru_key(room, number));
    if (value == NULL) return false;
    if (value->number != number) abort();
    lru_value_release(fixture, value);
    return true;
}

bool lru_remove(afc_lru *cache, uint64_t number) {
    char room[CACHED_KEY];
    return afc_lru_remove(cache, lru_key(room, number));
}
