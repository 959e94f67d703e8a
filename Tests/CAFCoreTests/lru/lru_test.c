/* The cache: what is kept, what leaves and why, on one thread. */
#include "lru/lru_internal.h"
#include "support/check.h"
#include "support/lru_values.h"
#include "support/torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static afc_lru *cache_new(const afc_lru_options *options) {
    afc_lru *cache;
    check_status(afc_lru_new(&cache, options, NULL), AFC_OK);
    return cache;
}

/** With `capacity` values of cost 1, `purge_to` after a purge. */
static afc_lru *small_cache(lru_fixture *fixture, uint64_t capacity, uint64_t purge_to,
                            uint32_t shards) {
    afc_lru_options options = lru_options(fixture);
    options.capacity = capacity;
    options.purge_to = purge_to;
    options.shards = shards;
    return cache_new(&options);
}

static void finish(afc_lru *cache, lru_fixture *fixture) {
    afc_lru_free(cache);
    assert_int_equal(atomic_load(&fixture->alive), 0);
}

/** Those that are there, as a text of their numbers; nothing is used by this. */
static void check_kept(afc_lru *cache, const char *numbers) {
    char text[512] = "";
    for (uint64_t number = 0; number < 20; number++) {
        char room[CACHED_KEY];
        afc_slice key = lru_key(room, number);
        uint64_t hash = afc__keyed_hash(&cache->seed, key);
        for (uint32_t i = 0; i < cache->shard_count; i++) {
            if (afc__lru_table_find(&cache->shards[i].table, (uint32_t)hash, key) == 0) continue;
            size_t size = strlen(text);
            snprintf(text + size, sizeof text - size, "%s%llu", size != 0 ? " " : "",
                     (unsigned long long)number);
        }
    }
    assert_string_equal(text, numbers);
}

/* ---- One value ----------------------------------------------------------------------------- */

static void stores_replaces_and_removes_values(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru *cache = small_cache(&fixture, 100, 60, 0);
    assert_false(lru_use(cache, &fixture, 1));
    check_status(lru_put(cache, &fixture, 1, 10), AFC_OK);
    assert_true(lru_use(cache, &fixture, 1));
    assert_int_equal(afc_lru_get_cost(cache), 10);
    check_status(lru_put(cache, &fixture, 1, 4), AFC_OK);
    assert_int_equal(afc_lru_get_cost(cache), 4);
    assert_int_equal(atomic_load(&fixture.alive), 1);
    assert_true(lru_remove(cache, 1));
    assert_false(lru_remove(cache, 1));
    assert_int_equal(afc_lru_get_cost(cache), 0);
    assert_int_equal(atomic_load(&fixture.alive), 0);
    assert_int_equal(afc_lru_remove_all(cache), 0);
    for (uint64_t number = 0; number < 9; number++) lru_put(cache, &fixture, number, 1);
    assert_int_equal(afc_lru_remove_all(cache), 9);
    assert_int_equal(afc_lru_get_cost(cache), 0);
    check_status(lru_put(cache, &fixture, 3, 1), AFC_OK);
    assert_true(lru_use(cache, &fixture, 3));
    finish(cache, &fixture);
}

static void copied_value_outlives_the_cache(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru *cache = small_cache(&fixture, 100, 60, 0);
    char room[CACHED_KEY];
    lru_put(cache, &fixture, 5, 1);
    lru_put(cache, &fixture, 6, 1);
    lru_value *copied = afc_lru_copy(cache, lru_key(room, 5));
    lru_value *taken = afc_lru_take(cache, lru_key(room, 6));
    afc_lru_free(cache);
    assert_int_equal(atomic_load(&fixture.alive), 2);
    assert_int_equal(copied->number, 5);
    assert_int_equal(taken->number, 6);
    lru_value_release(&fixture, copied);
    lru_value_release(&fixture, taken);
    assert_int_equal(atomic_load(&fixture.alive), 0);
}

static void returns_uncounted_values_as_they_are(void **state) {
    (void)state;
    afc_lru *cache = cache_new(NULL);
    static char value;
    check_status(afc_lru_put(cache, S("a\0b"), &value, 0), AFC_OK);
    assert_ptr_equal(afc_lru_copy(cache, S("a\0b")), &value);
    assert_null(afc_lru_copy(cache, S("a\0c")));
    assert_null(afc_lru_copy(cache, S("a")));
    check_status(afc_lru_put(cache, (afc_slice){NULL, 0}, &value, 0), AFC_OK);
    assert_ptr_equal(afc_lru_take(cache, S("")), &value);
    assert_null(afc_lru_take(cache, S("")));
    afc_lru_free(cache);
}

static void refused_value_is_released_and_removes_the_old_one(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru_options options = lru_options(&fixture);
    options.capacity = 100;
    options.purge_to = 60;
    options.max_cost = 30;
    afc_lru *cache = cache_new(&options);
    static char long_key[AFC_LRU_KEY_MAX + 1];
    for (size_t size = AFC_LRU_KEY_MAX; size <= AFC_LRU_KEY_MAX + 1; size++) {
        lru_value *value = lru_value_new(&fixture, 1);
        bool fits = size <= AFC_LRU_KEY_MAX;
        afc_slice key = {long_key, size};
        check_status(afc_lru_put(cache, key, value, 1), fits ? AFC_OK : AFC_EINVAL);
        value = afc_lru_take(cache, key);
        assert_int_equal(value != NULL, fits);
        if (fits) lru_value_release(&fixture, value);
        assert_int_equal(atomic_load(&fixture.alive), 0);
    }
    check_status(afc_lru_put(cache, S("a"), NULL, 1), AFC_EINVAL);
    check_status(lru_put(cache, &fixture, 1, 30), AFC_OK);
    check_status(lru_put(cache, &fixture, 1, 31), AFC_ETOOBIG);
    assert_false(lru_use(cache, &fixture, 1));
    assert_int_equal(atomic_load(&fixture.alive), 0);
    check_status(lru_put(cache, &fixture, 2, 1), AFC_OK);
    check_status(lru_put(cache, &fixture, 1, UINT64_MAX), AFC_ETOOBIG);
    assert_true(lru_use(cache, &fixture, 2));
    finish(cache, &fixture);
}

/* ---- Leaving ------------------------------------------------------------------------------- */

static void evicts_oldest_beyond_the_capacity(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 16; shards *= 4) {
        lru_fixture fixture = {0};
        afc_lru *cache = small_cache(&fixture, 10, 6, shards);
        for (uint64_t number = 0; number < 10; number++) lru_put(cache, &fixture, number, 1);
        /* As much as the capacity is not more than it. */
        check_kept(cache, "0 1 2 3 4 5 6 7 8 9");
        assert_true(lru_use(cache, &fixture, 0));
        lru_put(cache, &fixture, 10, 1);
        check_kept(cache, "0 6 7 8 9 10");
        assert_int_equal(atomic_load(&fixture.evicted[AFC_LRU_COST]), 5);
        assert_int_equal(atomic_load(&fixture.alive), 6);
        for (uint64_t number = 9; number >= 6; number--) lru_use(cache, &fixture, number);
        assert_int_equal(afc_lru_trim(cache, 2, AFC_LRU_COST), 4);
        check_kept(cache, "6 7");
        finish(cache, &fixture);
    }
}

static void value_above_the_lower_mark_is_evicted_last(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru *cache = small_cache(&fixture, 10, 6, 1);
    lru_put(cache, &fixture, 1, 4);
    lru_put(cache, &fixture, 2, 8);
    check_kept(cache, "");
    lru_put(cache, &fixture, 1, 6);
    lru_put(cache, &fixture, 2, 5);
    check_kept(cache, "2");
    finish(cache, &fixture);
}

static void keeps_the_limit_of_entries(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru_options options = lru_options(&fixture);
    options.max_count = 3;
    afc_lru *cache = cache_new(&options);
    for (uint64_t number = 0; number < 5; number++) lru_put(cache, &fixture, number, 0);
    check_kept(cache, "2 3 4");
    lru_put(cache, &fixture, 2, 0);
    lru_put(cache, &fixture, 5, 0);
    check_kept(cache, "2 4 5");
    assert_int_equal(atomic_load(&fixture.evicted[AFC_LRU_COUNT]), 3);
    assert_true(lru_remove(cache, 4));
    lru_put(cache, &fixture, 6, 0);
    check_kept(cache, "2 5 6");
    assert_int_equal(afc_lru_remove_all(cache), 3);
    for (uint64_t number = 0; number < 3; number++) lru_put(cache, &fixture, number, 0);
    check_kept(cache, "0 1 2");
    finish(cache, &fixture);
}

static void entry_expires_after_its_time_to_live(void **state) {
    (void)state;
    lru_fixture fixture = {.now_us = 5};
    afc_lru_options options = lru_options(&fixture);
    options.ttl_ms = 2;
    afc_lru *cache = cache_new(&options);
    lru_put(cache, &fixture, 1, 7);
    fixture.now_us = 2005;
    assert_true(lru_use(cache, &fixture, 1));
    fixture.now_us = 2006;
    assert_false(lru_use(cache, &fixture, 1));
    assert_int_equal(atomic_load(&fixture.evicted[AFC_LRU_EXPIRED]), 1);
    assert_int_equal(afc_lru_get_cost(cache), 0);
    lru_put(cache, &fixture, 1, 7);
    fixture.now_us += 2000;
    lru_put(cache, &fixture, 1, 7);
    fixture.now_us += 2000;
    assert_true(lru_remove(cache, 1));
    lru_put(cache, &fixture, 1, 7);
    fixture.now_us = INT64_MAX;
    assert_false(lru_remove(cache, 1));
    lru_put(cache, &fixture, 1, 7);
    assert_true(lru_use(cache, &fixture, 1));
    finish(cache, &fixture);

    options.ttl_ms = INT64_MAX;
    cache = cache_new(&options);
    lru_put(cache, &fixture, 1, 7);
    assert_true(lru_use(cache, &fixture, 1));
    finish(cache, &fixture);
}

static void uses_the_system_clock_by_default(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru_options options = lru_options(&fixture);
    options.now_us = NULL;
    options.ttl_ms = 1000000;
    afc_lru *cache = cache_new(&options);
    lru_put(cache, &fixture, 1, 7);
    assert_true(lru_use(cache, &fixture, 1));
    finish(cache, &fixture);
}

static void counts_each_operation(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru *cache = small_cache(&fixture, 10, 6, 0);
    for (uint64_t number = 0; number < 11; number++) lru_put(cache, &fixture, number, 1);
    for (uint64_t number = 0; number < 11; number++) lru_use(cache, &fixture, number);
    lru_remove(cache, 10);
    afc_lru_statistics statistics;
    afc_lru_get_statistics(cache, &statistics);
    assert_int_equal(statistics.hits, 6);
    assert_int_equal(statistics.misses, 5);
    assert_int_equal(statistics.puts, 11);
    assert_int_equal(statistics.evictions, 5);
    assert_int_equal(statistics.count, 5);
    assert_int_equal(statistics.cost, 5);
    assert_true(statistics.memory >= 5 * (AFC__LRU_ENTRY_END + sizeof "http://h/1"));
    finish(cache, &fixture);
}

static void purges_many_down_to_the_mark(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    for (uint32_t shards = 1; shards <= 8; shards *= 8) {
        lru_fixture fixture = {0};
        afc_lru *cache = small_cache(&fixture, COUNT, 1, shards);
        for (uint64_t number = 0; number <= COUNT; number++) lru_put(cache, &fixture, number, 1);
        assert_int_equal(atomic_load(&fixture.evicted[AFC_LRU_COST]), COUNT);
        assert_true(lru_use(cache, &fixture, COUNT));
        finish(cache, &fixture);
    }
}

/* ---- Memory -------------------------------------------------------------------------------- */

/** What the heap of glibc takes for a block: 8 bytes more, in steps of 16, at least 32. */
static uint64_t heap_takes(uint64_t size) {
    uint64_t chunk = (size + 8 + 15) / 16 * 16;
    return chunk < 32 ? 32 : chunk;
}

static void entry_overhead_is_within_the_documented_limit(void **state) {
    (void)state;
    for (int64_t ttl_ms = 0; ttl_ms <= 1000; ttl_ms += 1000) {
        afc_lru_options options = AFC_LRU_OPTIONS_INIT;
        options.shards = 1;
        options.ttl_ms = ttl_ms;
        afc_lru *cache = cache_new(&options);
        uint64_t keys = 0, blocks = 0;
        size_t head = AFC__LRU_ENTRY_END + (ttl_ms != 0 ? sizeof(int64_t) : 0);
        for (uint64_t number = 1; number <= 50000; number++) {
            /* Keys of all lengths alike; each moment counts, those right after a growth most. */
            char key[128];
            int size = snprintf(key, sizeof key, "%032llu%0*d", (unsigned long long)number,
                                1 + (int)(number % 64), 0);
            check_status(afc_lru_put(cache, (afc_slice){key, (size_t)size}, cache, 1), AFC_OK);
            keys += (uint64_t)size;
            blocks += heap_takes(head + (uint64_t)size);
            if (number < 1000) continue;
            uint64_t tables = heap_takes(afc__lru_table_size(&cache->shards->table));
            assert_true(blocks + tables - keys <= number * AFC_LRU_OVERHEAD_MAX);
        }
        afc_lru_free(cache);
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    TORTURE(n) {
        lru_fixture fixture = {0};
        afc_lru_options options = lru_options(&fixture);
        options.capacity = 60;
        options.purge_to = 40;
        afc_lru *cache;
        afc_status status = afc_lru_new(&cache, &options, NULL);
        if (status == AFC_OK) {
            uint64_t kept = 0;
            for (uint64_t number = 0; number < 40; number++) {
                afc_status put = lru_put(cache, &fixture, number % 30, 1);
                if (put != AFC_OK) check_status(put, AFC_ENOMEM);
                bool is_there = lru_use(cache, &fixture, number % 30);
                assert_int_equal(is_there, put == AFC_OK);
                kept = afc_lru_get_cost(cache);
            }
            assert_int_equal(kept, atomic_load(&fixture.alive));
            afc_lru_free(cache);
        } else {
            check_status(status, AFC_ENOMEM);
            assert_null(cache);
        }
        assert_int_equal(atomic_load(&fixture.alive), 0);
    }
}

/* ---- Against a model ----------------------------------------------------------------------- */

enum { KEYS = 64 };

/** The plainest cache: all keys, the moment of each one's last use. */
typedef struct model {
    struct {
        bool kept;
        uint64_t cost, used;
    } keys[KEYS];
    uint64_t clock, cost;
} model;

static void model_remove(model *model, uint64_t key) {
    if (!model->keys[key].kept) return;
    model->keys[key].kept = false;
    model->cost -= model->keys[key].cost;
}

static uint64_t model_trim(model *model, uint64_t cost) {
    uint64_t left = 0;
    while (model->cost > cost) {
        uint64_t oldest = KEYS;
        for (uint64_t key = 0; key < KEYS; key++) {
            if (!model->keys[key].kept) continue;
            if (oldest == KEYS || model->keys[key].used < model->keys[oldest].used) oldest = key;
        }
        model_remove(model, oldest);
        left++;
    }
    return left;
}

static void model_put(model *model, uint64_t key, uint64_t cost) {
    model_remove(model, key);
    model->keys[key].kept = true;
    model->keys[key].cost = cost;
    model->keys[key].used = ++model->clock;
    model->cost += cost;
    if (model->cost > 200) model_trim(model, 120);
}

static void agrees_with_a_simple_model(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 64; shards *= 4) {
        lru_fixture fixture = {0};
        afc_lru *cache = small_cache(&fixture, 200, 120, shards);
        model model = {0};
        uint64_t random = shards;
        for (int step = 0; step < 50000; step++) {
            uint64_t key = next_random(&random) % KEYS, draw = next_random(&random) % 1000;
            if (draw < 400) {
                uint64_t cost = next_random(&random) % 20;
                check_status(lru_put(cache, &fixture, key, cost), AFC_OK);
                model_put(&model, key, cost);
            } else if (draw < 900) {
                assert_int_equal(lru_use(cache, &fixture, key), model.keys[key].kept);
                model.keys[key].used = ++model.clock;
            } else if (draw < 980) {
                assert_int_equal(lru_remove(cache, key), model.keys[key].kept);
                model_remove(&model, key);
            } else if (draw < 999) {
                uint64_t cost = next_random(&random) % 200;
                assert_int_equal(afc_lru_trim(cache, cost, AFC_LRU_COST), model_trim(&model, cost));
            } else {
                afc_lru_remove_all(cache);
                for (uint64_t other = 0; other < KEYS; other++) model_remove(&model, other);
            }
            assert_int_equal(afc_lru_get_cost(cache), model.cost);
        }
        finish(cache, &fixture);
    }
}

static void refuses_invalid_options(void **state) {
    (void)state;
    static const char *const texts[] = {"AFC_LRU_OPTIONS_INIT", "purge_to exceeds the capacity",
                                        "invalid number of shards 3",
                                        "invalid number of shards 128", "ttl_ms is negative: -1"};
    afc_lru_options rows[5];
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(rows); i++) rows[i] = (afc_lru_options)AFC_LRU_OPTIONS_INIT;
    rows[0].size--;
    rows[1].purge_to = rows[1].capacity + 1;
    rows[2].shards = 3;
    rows[3].shards = 2 * AFC_LRU_SHARDS_MAX;
    rows[4].ttl_ms = -1;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_lru *cache;
        check_status(afc_lru_new(&cache, &rows[i], &failure), AFC_EINVAL);
        check_contains(failure.text, texts[i]);
        assert_null(cache);
    }
    afc_lru_free(NULL);
    /* The largest numbers there are. */
    lru_fixture fixture = {0};
    afc_lru *cache = small_cache(&fixture, UINT64_MAX, UINT64_MAX, 0);
    check_status(lru_put(cache, &fixture, 1, UINT64_MAX), AFC_ETOOBIG);
    check_status(lru_put(cache, &fixture, 1, UINT64_C(1) << 56), AFC_OK);
    check_status(lru_put(cache, &fixture, 2, UINT64_C(1) << 56), AFC_OK);
    assert_false(lru_use(cache, &fixture, 1));
    finish(cache, &fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_replaces_and_removes_values),
        cmocka_unit_test(copied_value_outlives_the_cache),
        cmocka_unit_test(returns_uncounted_values_as_they_are),
        cmocka_unit_test(refused_value_is_released_and_removes_the_old_one),
        cmocka_unit_test(evicts_oldest_beyond_the_capacity),
        cmocka_unit_test(value_above_the_lower_mark_is_evicted_last),
        cmocka_unit_test(keeps_the_limit_of_entries),
        cmocka_unit_test(entry_expires_after_its_time_to_live),
        cmocka_unit_test(uses_the_system_clock_by_default),
        cmocka_unit_test(counts_each_operation),
        cmocka_unit_test(purges_many_down_to_the_mark),
        cmocka_unit_test(entry_overhead_is_within_the_documented_limit),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(agrees_with_a_simple_model),
        cmocka_unit_test(refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
