/* The hash of keys, and the table of one shard. */
#include "base/alloc.h"
#include "cache/keyed_hash.h"
#include "cache/table.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The hash ------------------------------------------------------------------------------ */

static void siphash_is_that_of_others(void **state) {
    (void)state;
    /* What Python 3.11, which hashes with SipHash-1-3, says with a key of zeros. */
    char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)i;
    const struct {
        af_slice text;
        uint64_t hash;
    } rows[] = {
        {S("a"), UINT64_C(0x407448d2b89b1813)},
        {S("abcdefg"), UINT64_C(0x6db12aae9070f506)},
        {S("abcdefgh"), UINT64_C(0x3f7b849c0b8e35ea)},
        {S("https://www.example.org/"), UINT64_C(0xc2af7591804278d9)},
        {{bytes, 64}, UINT64_C(0x75e05fd5bbc870c6)},
        {{bytes, 200}, UINT64_C(0x7176378efd9e8a23)},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(af__siphash13((uint64_t[2]){0, 0}, rows[i].text) == rows[i].hash);
    }
}

/** In memory of its own, so that a sanitizer sees a read beyond it. */
static uint64_t hash_of(const af__hash_seed *seed, const char *bytes, size_t size) {
    char *copy = malloc(size != 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    uint64_t hash = af__keyed_hash(seed, (af_slice){copy, size});
    free(copy);
    return hash;
}

static void every_bit_and_the_size_change_the_hash(void **state) {
    (void)state;
    enum { LONGEST = 2 * AF__HASH_SHORT };
    af__hash_seed seed, other;
    assert_true(af__hash_seed_make(&seed) && af__hash_seed_make(&other));
    static char bytes[LONGEST];
    for (size_t size = 0; size < LONGEST; size++) {
        uint64_t hash = hash_of(&seed, bytes, size);
        assert_true(hash == hash_of(&seed, bytes, size));
        assert_true(hash != hash_of(&other, bytes, size));
        assert_true(hash != hash_of(&seed, bytes, size + 1));
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] = (char)(1 << bit % 8);
            assert_true(hash != hash_of(&seed, bytes, size));
            bytes[bit / 8] = 0;
        }
    }
}

static int compare_words(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void hashes_fall_evenly(void **state) {
    (void)state;
    enum { COUNT = 1 << 16, PARTS = 256, PART = COUNT / PARTS };
    af__hash_seed seed;
    assert_true(af__hash_seed_make(&seed));
    uint64_t *hashes = calloc(COUNT, sizeof *hashes);
    assert_non_null(hashes);
    size_t low[PARTS] = {0}, high[PARTS] = {0}, middle[PARTS] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        char key[64];
        int size = snprintf(key, sizeof key, "https://www.example.org/%zu/%zu.jpg", i % 7, i);
        hashes[i] = af__keyed_hash(&seed, (af_slice){key, (size_t)size});
        low[hashes[i] % PARTS]++;
        middle[hashes[i] >> 24 & (PARTS - 1)]++;
        high[hashes[i] >> 56]++;
    }
    for (size_t i = 0; i < PARTS; i++) {
        /* Six standard deviations; a good hash leaves them once in many thousand runs. */
        assert_in_range(low[i], PART - 96, PART + 96);
        assert_in_range(middle[i], PART - 96, PART + 96);
        assert_in_range(high[i], PART - 96, PART + 96);
    }
    qsort(hashes, COUNT, sizeof *hashes, compare_words);
    for (size_t i = 1; i < COUNT; i++) assert_true(hashes[i - 1] != hashes[i]);
    free(hashes);
}

/* ---- The table ----------------------------------------------------------------------------- */

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
        cmocka_unit_test(siphash_is_that_of_others),
        cmocka_unit_test(every_bit_and_the_size_change_the_hash),
        cmocka_unit_test(hashes_fall_evenly),
        cmocka_unit_test(entries_are_found_however_they_collide),
        cmocka_unit_test(the_empty_key_is_a_key),
        cmocka_unit_test(a_table_that_cannot_grow_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
