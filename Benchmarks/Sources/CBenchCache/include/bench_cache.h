/**
 * What caches are asked in the benchmark, and the two that are written in C.
 */
#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Every thread looks its keys up one after the other, and puts in what is missing. */
typedef struct bench_load {
    uint32_t key_count;
    const char *const *keys;    /**< Like URLs, each ends in NUL. */
    uint32_t lookup_count;      /**< Lookups by each thread. */
    const uint32_t *lookups[2]; /**< Indexes of keys; of the first thread, of the second. */
    uint64_t cost;              /**< Cost of each entry. */
    uint64_t capacity, purge_to;
} bench_load;

/** Keys and lookups from a fixed seed: zipf(0.99). Lives until the program ends. */
bench_load bench_load_make(uint32_t key_count, uint32_t lookup_count);

typedef struct bench_outcome {
    /** Time by all lookups: of the processor with one thread, of the wall with two. */
    double ns_per_lookup;
    double hit_rate;
} bench_outcome;

typedef struct bench_cache {
    const char *name;
    void *(*make)(const bench_load *load);
    void (*free)(void *cache);
    /** One thread's lookups; how many were hits. */
    uint32_t (*run)(void *cache, const bench_load *load, const uint32_t *lookups);
} bench_cache;

extern const bench_cache bench_core_cache, bench_core_exact_cache, bench_glib_cache;

/** A cache is filled by one pass of the first thread, then measured with one thread or two. */
bench_outcome bench_cache_measure(const bench_cache *cache, const bench_load *load, int threads);

/** Milliseconds in which so many entries of libafcore's cache leave in one purge. */
double bench_core_purge(uint32_t count, uint32_t shards);

/**
 * The key of the i-th lookup. A program that asks a cache has just made its key: so those of the next
 * lookups are fetched from memory ahead, and what is measured is the cache.
 */
static inline const char *bench_load_key(const bench_load *load, const uint32_t *lookups,
                                         uint32_t i) {
    enum { AHEAD = 8 };
    if (i + 2 * AHEAD >= load->lookup_count) return load->keys[lookups[i]];
    __builtin_prefetch(&load->keys[lookups[i + 2 * AHEAD]]);
    const char *next = load->keys[lookups[i + AHEAD]];
    __builtin_prefetch(next);
    __builtin_prefetch(next + 64);
    return load->keys[lookups[i]];
}

/** The same for keys of another form: `objects` are where they are in memory, by index. */
static inline void bench_load_fetch(const bench_load *load, const void *const *objects,
                                    const uint32_t *lookups, uint32_t i) {
    enum { AHEAD = 8 };
    if (i + 2 * AHEAD >= load->lookup_count) return;
    __builtin_prefetch(&objects[lookups[i + 2 * AHEAD]]);
    const char *next = objects[lookups[i + AHEAD]];
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next + 64);
}

/** A value as callers would have it: counted references. */
typedef struct bench_value bench_value;
bench_value *bench_value_new(void);
void bench_value_retain(bench_value *value);
void bench_value_release(bench_value *value);

#endif
