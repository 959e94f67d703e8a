/* The table of one shard of a cache. */
#include "base/alloc.h"
#include "lru/table.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 600 };

typedef struct pool {
    afc__lru_table table;
    afc__lru_entry *entries[MOST]; /* By their number, which is the key; NULL: not in the table. */
    uint64_t used[MOST];           /* When each was used last. */
    uint64_t now;
} pool;

static pool *pool_new(void) {
    pool *pool = calloc(1, sizeof *pool);
    assert_non_null(pool);
    pool->table.key_offset = AFC__LRU_ENTRY_END;
    return pool;
}

static void pool_free(pool *pool) {
    for (uint32_t i = 0; i < MOST; i++) free(pool->entries[i]);
    afc__lru_table_clear(&pool->table);
    free(pool);
}

static afc__lru_entry *entry_new(uint32_t number) {
    afc__lru_entry *entry = calloc(1, sizeof *entry + sizeof number);
    assert_non_null(entry);
    entry->key_size = sizeof number;
    memcpy((char *)entry + AFC__LRU_ENTRY_END, &number, sizeof number);
    return entry;
}

static afc__lru_place place_of(const pool *pool, uint32_t number, uint32_t hash) {
    return afc__lru_table_find(&pool->table, hash,
                               (afc_slice){(const char *)&number, sizeof number});
}

/** What is found is what was put there, with its value: the slot of the entry. */
static afc__lru_place check_found(pool *pool, uint32_t number, uint32_t hash) {
    afc__lru_place place = place_of(pool, number, hash);
    assert_int_equal(place != 0, pool->entries[number] != NULL);
    if (place != 0) {
        assert_ptr_equal(afc__lru_table_entry(&pool->table, place), pool->entries[number]);
        assert_ptr_equal(afc__lru_table_value(&pool->table, place), &pool->entries[number]);
    }
    return place;
}

static void add(pool *pool, uint32_t number, uint32_t hash) {
    pool->entries[number] = entry_new(number);
    pool->used[number] = ++pool->now;
    afc__lru_table_add(&pool->table, hash, pool->entries[number], &pool->entries[number],
                       pool->now);
}

static void remove_entry(pool *pool, uint32_t number, afc__lru_place place) {
    afc__lru_table_remove(&pool->table, place);
    free(pool->entries[number]);
    pool->entries[number] = NULL;
}

static void change(pool *pool, uint32_t number, uint32_t hash, uint32_t kind) {
    afc__lru_place place = check_found(pool, number, hash);
    if (place == 0) {
        assert_true(afc__lru_table_reserve(&pool->table));
        add(pool, number, hash);
    } else if (kind == 0) {
        free(pool->entries[number]);
        pool->entries[number] = entry_new(number);
        afc__lru_table_replace(&pool->table, place, pool->entries[number], &pool->entries[number]);
    } else if (kind == 1) {
        pool->used[number] = ++pool->now;
        afc__lru_table_use(&pool->table, place, pool->now);
    } else {
        remove_entry(pool, number, place);
    }
}

/** From the oldest on, each is newer than the one before, and all are there, forth and back. */
static void check_order(const pool *pool) {
    const afc__lru_table *table = &pool->table;
    uint64_t last = 0;
    uint32_t count = 0;
    afc__lru_place before = 0;
    for (afc__lru_place place = table->oldest; place != 0; place = table->links[place].newer) {
        uint32_t number;
        const char *key = afc__lru_entry_key(afc__lru_table_entry(table, place), table->key_offset);
        memcpy(&number, key, sizeof number);
        assert_true(table->links[place].stamp == pool->used[number]);
        assert_true(table->links[place].stamp > last);
        assert_int_equal(table->links[place].older, before);
        last = table->links[place].stamp;
        before = place;
        count++;
    }
    assert_int_equal(table->newest, before);
    assert_int_equal(table->count, count);
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

static void finds_entries_that_collide(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        pool *pool = pool_new();
        uint64_t random = 1 + (uint64_t)kind;
        for (int step = 0; step < 20000; step++) {
            uint32_t number = (uint32_t)(next_random(&random) % MOST);
            change(pool, number, hash_by(kind, number), (uint32_t)(next_random(&random) % 4));
            if (step % 100 == 0) check_order(pool);
        }
        check_order(pool);
        for (uint32_t number = 0; number < MOST; number++) {
            afc__lru_place place = check_found(pool, number, hash_by(kind, number));
            if (place != 0) remove_entry(pool, number, place);
        }
        assert_int_equal(pool->table.count, 0);
        assert_int_equal(pool->table.newest, 0);
        assert_int_equal(pool->table.oldest, 0);
        /* Removals leave no trace. */
        for (uint32_t i = 0; i < pool->table.bucket_count; i++) {
            assert_int_equal(pool->table.buckets[i].passed_by, 0);
        }
        pool_free(pool);
    }
}

static void growing_keeps_the_order(void **state) {
    (void)state;
    pool *pool = pool_new();
    uint32_t growths = 0;
    for (uint32_t number = 0; number < MOST; number++) {
        uint32_t bucket_count = pool->table.bucket_count;
        change(pool, number, hash_by(3, number), 0);
        /* Not in the order in which they came. */
        change(pool, number / 2, hash_by(3, number / 2), 1);
        if (pool->table.bucket_count == bucket_count) continue;
        growths++;
        check_order(pool);
    }
    assert_true(growths > 10);
    pool_free(pool);
}

static void accepts_the_empty_key(void **state) {
    (void)state;
    afc__lru_table table = {.key_offset = AFC__LRU_ENTRY_END};
    assert_int_equal(afc__lru_table_find(&table, 3, (afc_slice){NULL, 0}), 0);
    afc__lru_entry entry = {.key_size = 0};
    assert_true(afc__lru_table_reserve(&table));
    afc__lru_table_add(&table, 3, &entry, &table, 1);
    afc__lru_place place = afc__lru_table_find(&table, 3, (afc_slice){NULL, 0});
    assert_int_not_equal(place, 0);
    assert_ptr_equal(afc__lru_table_entry(&table, place), &entry);
    assert_int_equal(afc__lru_table_find(&table, 3, S("a")), 0);
    afc__lru_table_clear(&table);
}

static void fills_table_that_cannot_grow(void **state) {
    (void)state;
    pool *pool = pool_new();
    change(pool, 1, 1, 0);
    uint32_t number = 1;
    for (;;) {
        afc__alloc_fail_at(1);
        bool has_room = afc__lru_table_reserve(&pool->table);
        afc__alloc_fail_at(0);
        if (!has_room) break;
        number++;
        add(pool, number, number);
    }
    assert_int_equal(pool->table.count, pool->table.bucket_count * AFC__LRU_BUCKET_SLOTS);
    check_order(pool);
    for (; number != 0; number--) check_found(pool, number, number);
    assert_int_equal(place_of(pool, 0, 1), 0);
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_entries_that_collide),
        cmocka_unit_test(growing_keeps_the_order),
        cmocka_unit_test(accepts_the_empty_key),
        cmocka_unit_test(fills_table_that_cannot_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
