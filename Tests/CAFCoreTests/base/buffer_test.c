#include "base/alloc.h"
#include "base/buffer.h"
#include "support/check.h"
#include "support/pieces.h"
#include "support/torture.h"

#include <stdlib.h>

static void fails_the_chosen_allocation(void **state) {
    (void)state;
    afc__alloc_fail_at(2);
    void *first = afc__alloc(10), *second = afc__zalloc(10), *third = afc__alloc(10);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    assert_int_equal(afc__alloc_fail_at(1), 3);
    assert_null(afc__realloc(first, 20));
    assert_int_equal(afc__alloc_fail_at(0), 1);
    afc_free(first);
    afc_free(third);
}

static void counts_allocations_only_while_armed(void **state) {
    (void)state;
    afc__alloc_fail_at(0);
    afc_free(afc__alloc(1));
    assert_int_equal(afc__alloc_fail_at(SIZE_MAX), 0);
    afc_free(afc__alloc(1));
    assert_int_equal(afc__alloc_fail_at(0), 1);
}

static void allocating_zero_bytes_returns_memory(void **state) {
    (void)state;
    void *none = afc__alloc(0);
    assert_non_null(none);
    none = afc__realloc(none, 0);
    assert_non_null(none);
    afc_free(none);
    char *text = afc__copy_text((afc_slice){NULL, 0});
    assert_string_equal(text, "");
    afc__free_secret(text, 1);
    afc__free_secret(NULL, 0);
    afc_free(NULL);
}

static void zeroed_allocation_holds_zeros(void **state) {
    (void)state;
    unsigned char zero[64] = {0};
    void *memory = afc__zalloc(sizeof zero);
    assert_memory_equal(memory, zero, sizeof zero);
    afc_free(memory);
}

static void appends_pieces_of_any_size(void **state) {
    (void)state;
    enum { SIZE = 100 * 1000 };
    char *all = malloc(SIZE);
    assert_non_null(all);
    for (size_t i = 0; i < SIZE; i++) all[i] = (char)(i * 31 + i / 256);
    FOR_EACH_PIECE_SIZE(size) {
        afc__buffer buffer;
        afc__buffer_init(&buffer, SIZE);
        for (afc_slice rest = {all, SIZE}; rest.size != 0;) {
            afc_slice piece = take_piece(&rest, size);
            check_status(afc__buffer_append(&buffer, piece.bytes, piece.size), AFC_OK);
        }
        afc_bytes taken = afc__buffer_take(&buffer);
        assert_int_equal(taken.size, SIZE);
        assert_memory_equal(taken.bytes, all, SIZE);
        assert_int_equal(buffer.size, 0);
        assert_null(buffer.bytes);
        afc_free(taken.bytes);
    }
    free(all);
}

static void growing_allocates_rarely(void **state) {
    (void)state;
    afc__buffer buffer;
    afc__buffer_init(&buffer, 1 << 20);
    afc__alloc_fail_at(SIZE_MAX);
    for (size_t i = 0; i < 1 << 20; i++) afc__buffer_append(&buffer, "x", 1);
    assert_in_range(afc__alloc_fail_at(0), 1, 24);
    afc__buffer_clear(&buffer);
}

static void refuses_first_byte_beyond_limit(void **state) {
    (void)state;
    afc__buffer buffer;
    afc__buffer_init(&buffer, 1000);
    char bytes[1001] = {0};
    check_status(afc__buffer_append(&buffer, bytes, 1001), AFC_ETOOBIG);
    check_status(afc__buffer_append(&buffer, bytes, 999), AFC_OK);
    check_status(afc__buffer_append(&buffer, bytes, 2), AFC_ETOOBIG);
    check_status(afc__buffer_append(&buffer, bytes, SIZE_MAX), AFC_ETOOBIG);
    check_status(afc__buffer_append(&buffer, bytes, 1), AFC_OK);
    check_status(afc__buffer_append(&buffer, bytes, 1), AFC_ETOOBIG);
    check_status(afc__buffer_append(&buffer, NULL, 0), AFC_OK);
    assert_int_equal(buffer.size, 1000);
    assert_in_range(buffer.capacity, 1000, 1000);
    afc__buffer_clear(&buffer);
}

static void refuses_sizes_that_overflow(void **state) {
    (void)state;
    afc__buffer buffer;
    afc__buffer_init(&buffer, UINT64_MAX);
    check_status(afc__buffer_append(&buffer, "x", 1), AFC_OK);
    check_status(afc__buffer_append(&buffer, "x", SIZE_MAX), AFC_ETOOBIG);
    assert_int_equal(buffer.size, 1);
    afc__buffer_clear(&buffer);
    assert_int_equal(buffer.limit, UINT64_MAX);
}

static void reserving_is_capped_at_the_limit(void **state) {
    (void)state;
    afc__buffer buffer;
    afc__buffer_init(&buffer, 5000);
    check_status(afc__buffer_reserve(&buffer, UINT64_MAX), AFC_OK);
    assert_int_equal(buffer.capacity, 5000);
    const char *before = buffer.bytes;
    check_status(afc__buffer_reserve(&buffer, 10), AFC_OK);
    check_status(afc__buffer_append(&buffer, "abc", 3), AFC_OK);
    assert_ptr_equal(buffer.bytes, before);
    afc__buffer_clear(&buffer);
}

static void taking_shrinks_a_large_unused_capacity(void **state) {
    (void)state;
    static const struct {
        size_t reserved, used;
        bool shrinks;
    } cases[] = {
        {100000, 100000, false}, {100000, 76000, false}, {100000, 74000, true},
        {100000, 1, true},       {4000, 1, false},       {16384, 12500, false},
    };
    char *bytes = calloc(1, 100000);
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__buffer buffer;
        afc__buffer_init(&buffer, 1 << 20);
        check_status(afc__buffer_reserve(&buffer, cases[i].reserved), AFC_OK);
        check_status(afc__buffer_append(&buffer, bytes, cases[i].used), AFC_OK);
        afc__alloc_fail_at(SIZE_MAX);
        afc_bytes taken = afc__buffer_take(&buffer);
        assert_int_equal(afc__alloc_fail_at(0), cases[i].shrinks ? 1 : 0);
        assert_int_equal(taken.size, cases[i].used);
        afc_free(taken.bytes);
    }
    free(bytes);
}

static void taking_from_empty_buffer_returns_null(void **state) {
    (void)state;
    afc__buffer buffer;
    afc__buffer_init(&buffer, 100);
    check_status(afc__buffer_reserve(&buffer, 100), AFC_OK);
    afc_bytes taken = afc__buffer_take(&buffer);
    assert_null(taken.bytes);
    assert_int_equal(taken.size, 0);
    assert_null(buffer.bytes);
}

static void uses_borrowed_storage_first(void **state) {
    (void)state;
    char room[16];
    afc__buffer buffer;
    afc__buffer_init(&buffer, 100);
    afc__buffer_use_storage(&buffer, (afc__storage){room, sizeof room});
    afc__alloc_fail_at(SIZE_MAX);
    check_status(afc__buffer_reserve(&buffer, sizeof room), AFC_OK);
    check_status(afc__buffer_append(&buffer, "0123456789abcdef", 16), AFC_OK);
    assert_int_equal(afc__alloc_fail_at(0), 0);
    assert_ptr_equal(buffer.bytes, room);
    check_status(afc__buffer_append(&buffer, "g", 1), AFC_OK);
    assert_ptr_not_equal(buffer.bytes, room);
    assert_int_equal(buffer.size, 17);
    assert_memory_equal(buffer.bytes, "0123456789abcdefg", 17);
    afc__buffer_clear(&buffer);
    assert_ptr_equal(buffer.bytes, room);
    check_status(afc__buffer_append(&buffer, "again", 5), AFC_OK);
    assert_ptr_equal(buffer.bytes, room);
    afc__buffer_clear(&buffer);
}

static void borrowed_storage_is_capped_at_the_limit(void **state) {
    (void)state;
    char room[16];
    afc__buffer buffer;
    afc__buffer_init(&buffer, 4);
    afc__buffer_use_storage(&buffer, (afc__storage){room, sizeof room});
    check_status(afc__buffer_append(&buffer, "12345", 5), AFC_ETOOBIG);
    check_status(afc__buffer_append(&buffer, "1234", 4), AFC_OK);
    assert_ptr_equal(buffer.bytes, room);
    afc__buffer_clear(&buffer);
}

static void taking_copies_out_of_borrowed_storage(void **state) {
    (void)state;
    char room[16];
    afc__buffer buffer;
    afc__buffer_init(&buffer, 100);
    afc__buffer_use_storage(&buffer, (afc__storage){room, sizeof room});
    check_status(afc__buffer_append(&buffer, "short", 5), AFC_OK);
    afc__alloc_fail_at(1);
    afc_bytes taken = afc__buffer_take(&buffer);
    afc__alloc_fail_at(0);
    assert_null(taken.bytes);
    assert_int_equal(buffer.size, 5);
    taken = afc__buffer_take(&buffer);
    memset(room, 'x', sizeof room);
    assert_int_equal(taken.size, 5);
    assert_memory_equal(taken.bytes, "short", 5);
    assert_int_equal(buffer.size, 0);
    afc_free(taken.bytes);
    /* What has moved out is handed over as it is, and the room is there again. */
    check_status(afc__buffer_append(&buffer, "longer than sixteen", 19), AFC_OK);
    char *outside = buffer.bytes;
    taken = afc__buffer_take(&buffer);
    assert_ptr_equal(taken.bytes, outside);
    afc_free(taken.bytes);
    check_status(afc__buffer_append(&buffer, "back", 4), AFC_OK);
    assert_ptr_equal(buffer.bytes, room);
    afc__buffer_clear(&buffer);
}

static void failed_allocation_keeps_the_content(void **state) {
    (void)state;
    TORTURE(n) {
        afc__buffer buffer;
        afc__buffer_init(&buffer, 1 << 16);
        size_t added = 0;
        for (int i = 0; i < 3000; i++) {
            afc_status status = afc__buffer_append(&buffer, "0123456789", 10);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            if (status == AFC_OK) added += 10;
        }
        assert_int_equal(buffer.size, added);
        assert_true(added >= 2999 * 10);
        afc_bytes taken = afc__buffer_take(&buffer);
        assert_int_equal(taken.size, added);
        assert_memory_equal(taken.bytes, "0123456789", 10);
        afc_free(taken.bytes);
    }
}

static void wiping_overwrites_the_content(void **state) {
    (void)state;
    char room[16];
    afc__buffer buffer;
    afc__buffer_init(&buffer, UINT64_MAX);
    afc__buffer_wipe(&buffer);
    assert_int_equal(buffer.size, 0);
    afc__buffer_use_storage(&buffer, (afc__storage){room, sizeof room});
    check_status(afc__buffer_append(&buffer, "secret", 6), AFC_OK);
    afc__buffer_wipe(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_memory_equal(room, "\0\0\0\0\0\0", 6);
    check_status(afc__buffer_append(&buffer, "next", 4), AFC_OK);
    assert_memory_equal(room, "next", 4);
    afc__buffer_clear(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_the_chosen_allocation),
        cmocka_unit_test(counts_allocations_only_while_armed),
        cmocka_unit_test(allocating_zero_bytes_returns_memory),
        cmocka_unit_test(zeroed_allocation_holds_zeros),
        cmocka_unit_test(appends_pieces_of_any_size),
        cmocka_unit_test(growing_allocates_rarely),
        cmocka_unit_test(refuses_first_byte_beyond_limit),
        cmocka_unit_test(refuses_sizes_that_overflow),
        cmocka_unit_test(reserving_is_capped_at_the_limit),
        cmocka_unit_test(taking_shrinks_a_large_unused_capacity),
        cmocka_unit_test(taking_from_empty_buffer_returns_null),
        cmocka_unit_test(uses_borrowed_storage_first),
        cmocka_unit_test(borrowed_storage_is_capped_at_the_limit),
        cmocka_unit_test(taking_copies_out_of_borrowed_storage),
        cmocka_unit_test(failed_allocation_keeps_the_content),
        cmocka_unit_test(wiping_overwrites_the_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
