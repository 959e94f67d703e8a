#include "bench_cache.h"

#include <afcore/lru.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void retain(void *context, void *value) {
    (void)context;
    bench_value_retain(value);
}

static void release(void *context, void *value) {
    (void)context;
    bench_value_release(value);
}

static afc_lru *make_with(uint64_t capacity, uint64_t purge_to, uint32_t shards) {
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.capacity = capacity;
    options.purge_to = purge_to;
    options.shards = shards;
    options.retain = retain;
    options.release = release;
    afc_lru *cache;
    if (afc_lru_new(&cache, &options, NULL) != AFC_OK) abort();
    return cache;
}

static void *make(const bench_load *load) {
    return make_with(load->capacity, load->purge_to, 0);
}

static void *make_exact(const bench_load *load) {
    return make_with(load->capacity, load->purge_to, 1);
}

static void free_cache(void *cache) {
    afc_lru_free(cache);
}

static uint32_t run(void *cache, const bench_load *load, const uint32_t *lookups) {
    uint32_t hits = 0;
    for (uint32_t i = 0; i < load->lookup_count; i++) {
        const char *text = bench_load_key(load, lookups, i);
        afc_slice key = {text, strlen(text)};
        bench_value *value = afc_lru_copy(cache, key);
        if (value != NULL) {
            hits++;
            bench_value_release(value);
        } else if (afc_lru_put(cache, key, bench_value_new(), load->cost) != AFC_OK) {
            abort();
        }
    }
    return hits;
}

const bench_cache bench_core_cache = {"libafcore", make, free_cache, run};
const bench_cache bench_core_exact_cache = {"libafcore, one shard", make_exact, free_cache, run};

double bench_core_purge(uint32_t count, uint32_t shards) {
    afc_lru *cache = make_with(count, 0, shards);
    for (uint32_t i = 0; i < count; i++) {
        char key[64];
        int size = snprintf(key, sizeof key, "https://images.example.org/photos/%u.jpg",
                            (unsigned)i);
        if (afc_lru_put(cache, (afc_slice){key, (size_t)size}, bench_value_new(), 1) != AFC_OK)
            abort();
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t left = afc_lru_trim(cache, 0, AFC_LRU_COST);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (left != count) abort();
    afc_lru_free(cache);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
}
