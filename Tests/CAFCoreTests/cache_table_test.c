/* The table of one shard of a cache. */
#include "base/alloc.h"
#include "cache/table.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 600 };

typedef struct pool {
    af__table table;
    af__entry *entries[MOST]; /* By their number, which is the key; NULL: not in the table. */
} pool;

static af__entry *entry_new(uint32_t number, uint32_t hash) {
    af__entry *entry = calloc(1, sizeof *entry + sizeof number);
    assert_non_null(entry);
    entry->hash = hash;
    entry->key_size = sizeof number;
    memcpy((char *)entry + AF__ENTRY_END, &number, sizeof number);
    return entry;
}

static af__entry *find(const pool *pool, uint32_t number, uint32_t hash) {
    return af__table_find(&pool->table, hash, (af_slice){(const char *)&number, sizeof number});
}

static void change(pool *pool, uint32_t number, uint32_t hash) {
    af__entry **place = &pool->entries[number];
    assert_ptr_equal(find(pool, number, hash), *place);
    if (*place == NULL) {
        *place = entry_new(number, hash);
        assert_true(af__table_reserve(&pool->table));
        af__table_add(&pool->table, *place);
    } else if (number % 3 == 0) {
        af__entry *other = entry_new(number, hash);
        af__table_replace(&pool->table, *place, other);
        free(*place);
        *place = other;
    } else {
        af__table_remove(&pool->table, *place);
        free(*place);
        *place = NULL;
    }
}

/** Hashes that are all alike, alike in the bits that choose a bucket, few, and as they should be. */
static uint32_t hash_by(int kind, uint32_t number) {
    switch (kind) {
    case 0:
        return 7;
    case 1:
        return UINT32_MAX - number % 2;
    case 2:
        return number % 5 * UINT32_C(0x33333333);
    default:
        return number * UINT32_C(2654435761);
    }
}

static void entries_are_found_however_they_collide(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        pool *pool = calloc(1, sizeof *pool);
        assert_non_null(pool);
        pool->table.key_offset = AF__ENTRY_END;
        uint64_t random = 1 + (uint64_t)kind;
        for (int step = 0; step < 20000; step++) {
            uint32_t number = (uint32_t)(next_random(&random) % MOST);
            change(pool, number, hash_by(kind, number));
        }
        uint32_t count = 0;
        for (uint32_t number = 0; number < MOST; number++) {
            af__entry *entry = pool->entries[number];
            assert_ptr_equal(find(pool, number, hash_by(kind, number)), entry);
            count += entry != NULL;
        }
        assert_int_equal(pool->table.count, count);
        for (uint32_t number = 0; number < MOST; number++) {
            if (pool->entries[number] == NULL) continue;
            af__table_remove(&pool->table, pool->entries[number]);
            free(pool->entries[number]);
        }
        /* Removals leave no trace. */
        for (uint32_t i = 0; i < pool->table.bucket_count; i++) {
            assert_int_equal(pool->table.buckets[i].passed_by, 0);
        }
        af__table_clear(&pool->table);
        free(pool);
    }
}

static void the_empty_key_is_a_key(void **state) {
    (void)state;
    af__table table = {.key_offset = AF__ENTRY_END};
    assert_null(af__table_find(&table, 3, (af_slice){NULL, 0}));
    af__entry entry = {.hash = 3};
    assert_true(af__table_reserve(&table));
    af__table_add(&table, &entry);
    assert_ptr_equal(af__table_find(&table, 3, (af_slice){NULL, 0}), &entry);
    assert_null(af__table_find(&table, 3, S("a")));
    af__table_clear(&table);
}

static void a_table_that_cannot_grow_is_filled(void **state) {
    (void)state;
    pool *pool = calloc(1, sizeof *pool);
    assert_non_null(pool);
    pool->table.key_offset = AF__ENTRY_END;
    change(pool, 1, 1);
    uint32_t number = 1;
    for (;;) {
        af__alloc_fail_at(1);
        bool has_room = af__table_reserve(&pool->table);
        af__alloc_fail_at(0);
        if (!has_room) break;
        number++;
        pool->entries[number] = entry_new(number, number);
        af__table_add(&pool->table, pool->entries[number]);
    }
    assert_int_equal(pool->table.count, pool->table.bucket_count * AF__BUCKET_SLOTS);
    for (; number != 0; number--) {
        assert_ptr_equal(find(pool, number, number), pool->entries[number]);
    }
    assert_null(find(pool, 0, 1));
    for (uint32_t i = 0; i < MOST; i++) free(pool->entries[i]);
    af__table_clear(&pool->table);
    free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_however_they_collide),
        cmocka_unit_test(the_empty_key_is_a_key),
        cmocka_unit_test(a_table_that_cannot_grow_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
