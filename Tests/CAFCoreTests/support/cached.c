#include "support/cached.h"

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>

cached_value *cached_value_new(cached_world *world, uint64_t number) {
    cached_value *value = malloc(sizeof *value);
    assert_non_null(value);
    value->world = world;
    value->number = number;
    atomic_init(&value->references, 1);
    atomic_fetch_add(&world->alive, 1);
    return value;
}

void cached_value_retain(void *world, void *value) {
    (void)world;
    cached_value *cached = value;
    /* From nothing a reference can't come. */
    if (atomic_fetch_add(&cached->references, 1) == 0) abort();
}

void cached_value_release(void *world, void *value) {
    cached_world *of = world;
    cached_value *cached = value;
    if (atomic_fetch_sub(&cached->references, 1) != 1) return;
    atomic_fetch_sub(&of->alive, 1);
    free(cached);
}

static void on_evict(void *context, afc_slice key, void *value, afc_lru_reason reason) {
    cached_world *world = context;
    cached_value *cached = value;
    char room[CACHED_KEY];
    afc_slice expected = cached_key(room, cached->number);
    if (key.size != expected.size || memcmp(key.bytes, expected.bytes, key.size) != 0) abort();
    atomic_fetch_add(&world->evicted[reason], 1);
}

static int64_t now_us(void *context) {
    cached_world *world = context;
    return world->now_us;
}

afc_lru_options cached_options(cached_world *world) {
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.retain = cached_value_retain;
    options.release = cached_value_release;
    options.on_evict = on_evict;
    options.now_us = now_us;
    options.context = world;
    return options;
}

afc_slice cached_key(char *room, uint64_t number) {
    int size = snprintf(room, CACHED_KEY, "http://h/%llu", (unsigned long long)number);
    return (afc_slice){room, (size_t)size};
}

afc_status cached_put(afc_lru *cache, cached_world *world, uint64_t number, uint64_t cost) {
    char room[CACHED_KEY];
    return afc_lru_put(cache, cached_key(room, number), cached_value_new(world, number), cost);
}

bool cached_use(afc_lru *cache, cached_world *world, uint64_t number) {
    char room[CACHED_KEY];
    cached_value *value = afc_lru_copy(cache, cached_key(room, number));
    if (value == NULL) return false;
    if (value->number != number) abort();
    cached_value_release(world, value);
    return true;
}

bool cached_remove(afc_lru *cache, uint64_t number) {
    char room[CACHED_KEY];
    return afc_lru_remove(cache, cached_key(room, number));
}
