#include "bench_cache.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct bench_value {
    atomic_uint references;
    char picture[60];
};

bench_value *bench_value_new(void) {
    bench_value *value = malloc(sizeof *value);
    if (value == NULL) abort();
    atomic_init(&value->references, 1);
    return value;
}

void bench_value_retain(bench_value *value) {
    atomic_fetch_add_explicit(&value->references, 1, memory_order_relaxed);
}

void bench_value_release(bench_value *value) {
    if (atomic_fetch_sub_explicit(&value->references, 1, memory_order_acq_rel) == 1) free(value);
}

/* ---- The load ------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) abort();
    return memory;
}

static const char **make_keys(uint32_t count) {
    const char **keys = allocate(count, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        char *key = allocate(1, 96);
        snprintf(key, 96, "https://images.example.org/photos/%08x/%u.jpg?width=%u",
                 (unsigned)(i * UINT32_C(2654435761)), (unsigned)i, (unsigned)(100 + i % 900));
        keys[i] = key;
    }
    return keys;
}

/** Ranks by zipf(0.99), each standing for a key that has nothing to do with its rank. */
static const uint32_t *make_lookups(uint32_t key_count, uint32_t count, uint64_t seed) {
    double *sums = allocate(key_count, sizeof *sums);
    uint32_t *key_of_rank = allocate(key_count, sizeof *key_of_rank);
    double sum = 0;
    uint64_t state = 42;
    for (uint32_t i = 0; i < key_count; i++) {
        sum += 1 / pow(i + 1, 0.99);
        sums[i] = sum;
        uint32_t other = (uint32_t)(next_random(&state) % (i + 1));
        key_of_rank[i] = key_of_rank[other];
        key_of_rank[other] = i;
    }
    uint32_t *lookups = allocate(count, sizeof *lookups);
    state = seed;
    for (uint32_t i = 0; i < count; i++) {
        double wanted = (double)(next_random(&state) >> 11) / 9007199254740992.0 * sum;
        uint32_t low = 0, high = key_count - 1;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (sums[middle] < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        lookups[i] = key_of_rank[low];
    }
    free(sums);
    free(key_of_rank);
    return lookups;
}

bench_load bench_load_make(uint32_t key_count, uint32_t lookup_count) {
    enum { COST = 4096 };
    bench_load load = {
        .key_count = key_count,
        .keys = make_keys(key_count),
        .lookup_count = lookup_count,
        .lookups = {make_lookups(key_count, lookup_count, 1),
                    make_lookups(key_count, lookup_count, 2)},
        .cost = COST,
        .capacity = (uint64_t)key_count / 2 * COST,
        .purge_to = (uint64_t)key_count * 3 / 10 * COST,
    };
    return load;
}

/* ---- Measuring ----------------------------------------------------------------------------- */

typedef struct load_worker {
    const bench_cache *cache;
    void *instance;
    const bench_load *load;
    const uint32_t *lookups;
    uint32_t hits;
} load_worker;

static void *work(void *context) {
    load_worker *worker = context;
    worker->hits = worker->cache->run(worker->instance, worker->load, worker->lookups);
    return NULL;
}

/** One thread alone is measured by its processor time, which other programs disturb less. */
static double now_ns(int threads) {
    struct timespec now;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

bench_outcome bench_cache_measure(const bench_cache *cache, const bench_load *load, int threads) {
    void *instance = cache->make(load);
    load_worker workers[2] = {{cache, instance, load, load->lookups[0], 0},
                              {cache, instance, load, load->lookups[1], 0}};
    work(&workers[0]);
    double start = now_ns(threads);
    pthread_t other;
    if (threads == 2 && pthread_create(&other, NULL, work, &workers[1]) != 0) abort();
    work(&workers[0]);
    if (threads == 2) pthread_join(other, NULL);
    double lookups = (double)load->lookup_count * threads;
    bench_outcome outcome = {(now_ns(threads) - start) / lookups, 0};
    outcome.hit_rate = (double)(workers[0].hits + (threads == 2 ? workers[1].hits : 0)) / lookups;
    cache->free(instance);
    return outcome;
}
