#include "base/alloc.h"
#include "base/buffer.h"
#include "support/check.h"
#include "support/chop.h"
#include "support/torture.h"

#include <stdlib.h>

static void allocations_fail_on_order(void **state) {
    (void)state;
    af__alloc_fail_at(2);
    void *first = af__alloc(10), *second = af__zalloc(10), *third = af__alloc(10);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    assert_int_equal(af__alloc_fail_at(1), 3);
    assert_null(af__realloc(first, 20));
    assert_int_equal(af__alloc_fail_at(0), 1);
    af_free(first);
    af_free(third);
}

static void allocations_count_only_while_armed(void **state) {
    (void)state;
    af__alloc_fail_at(0);
    af_free(af__alloc(1));
    assert_int_equal(af__alloc_fail_at(SIZE_MAX), 0);
    af_free(af__alloc(1));
    assert_int_equal(af__alloc_fail_at(0), 1);
}

static void nothing_is_memory_too(void **state) {
    (void)state;
    void *none = af__alloc(0);
    assert_non_null(none);
    none = af__realloc(none, 0);
    assert_non_null(none);
    af_free(none);
    char *text = af__copy_text((af_slice){NULL, 0});
    assert_string_equal(text, "");
    af__free_secret(text, 1);
    af__free_secret(NULL, 0);
    af_free(NULL);
}

static void zeroed_memory_is_zero(void **state) {
    (void)state;
    unsigned char zero[64] = {0};
    void *memory = af__zalloc(sizeof zero);
    assert_memory_equal(memory, zero, sizeof zero);
    af_free(memory);
}

static void pieces_of_any_size_add_up(void **state) {
    (void)state;
    enum { SIZE = 100 * 1000 };
    char *all = malloc(SIZE);
    assert_non_null(all);
    for (size_t i = 0; i < SIZE; i++) all[i] = (char)(i * 31 + i / 256);
    CHOPPED(size) {
        af__buffer buffer;
        af__buffer_init(&buffer, SIZE);
        for (af_slice rest = {all, SIZE}; rest.size != 0;) {
            af_slice piece = chop(&rest, size);
            check_status(af__buffer_append(&buffer, piece.bytes, piece.size), AF_OK);
        }
        af_bytes taken = af__buffer_take(&buffer);
        assert_int_equal(taken.size, SIZE);
        assert_memory_equal(taken.bytes, all, SIZE);
        assert_int_equal(buffer.size, 0);
        assert_null(buffer.bytes);
        af_free(taken.bytes);
    }
    free(all);
}

static void growth_needs_few_allocations(void **state) {
    (void)state;
    af__buffer buffer;
    af__buffer_init(&buffer, 1 << 20);
    af__alloc_fail_at(SIZE_MAX);
    for (size_t i = 0; i < 1 << 20; i++) af__buffer_append(&buffer, "x", 1);
    assert_in_range(af__alloc_fail_at(0), 1, 24);
    af__buffer_clear(&buffer);
}

static void the_limit_holds_to_the_byte(void **state) {
    (void)state;
    af__buffer buffer;
    af__buffer_init(&buffer, 1000);
    char bytes[1001] = {0};
    check_status(af__buffer_append(&buffer, bytes, 1001), AF_ETOOBIG);
    check_status(af__buffer_append(&buffer, bytes, 999), AF_OK);
    check_status(af__buffer_append(&buffer, bytes, 2), AF_ETOOBIG);
    check_status(af__buffer_append(&buffer, bytes, SIZE_MAX), AF_ETOOBIG);
    check_status(af__buffer_append(&buffer, bytes, 1), AF_OK);
    check_status(af__buffer_append(&buffer, bytes, 1), AF_ETOOBIG);
    check_status(af__buffer_append(&buffer, NULL, 0), AF_OK);
    assert_int_equal(buffer.size, 1000);
    assert_in_range(buffer.capacity, 1000, 1000);
    af__buffer_clear(&buffer);
}

static void sizes_do_not_overflow(void **state) {
    (void)state;
    af__buffer buffer;
    af__buffer_init(&buffer, UINT64_MAX);
    check_status(af__buffer_append(&buffer, "x", 1), AF_OK);
    check_status(af__buffer_append(&buffer, "x", SIZE_MAX), AF_ETOOBIG);
    assert_int_equal(buffer.size, 1);
    af__buffer_clear(&buffer);
    assert_int_equal(buffer.limit, UINT64_MAX);
}

static void reserving_is_a_hint_below_the_limit(void **state) {
    (void)state;
    af__buffer buffer;
    af__buffer_init(&buffer, 5000);
    check_status(af__buffer_reserve(&buffer, UINT64_MAX), AF_OK);
    assert_int_equal(buffer.capacity, 5000);
    const char *before = buffer.bytes;
    check_status(af__buffer_reserve(&buffer, 10), AF_OK);
    check_status(af__buffer_append(&buffer, "abc", 3), AF_OK);
    assert_ptr_equal(buffer.bytes, before);
    af__buffer_clear(&buffer);
}

static void taking_gives_back_much_unused_room(void **state) {
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
        af__buffer buffer;
        af__buffer_init(&buffer, 1 << 20);
        check_status(af__buffer_reserve(&buffer, cases[i].reserved), AF_OK);
        check_status(af__buffer_append(&buffer, bytes, cases[i].used), AF_OK);
        af__alloc_fail_at(SIZE_MAX);
        af_bytes taken = af__buffer_take(&buffer);
        assert_int_equal(af__alloc_fail_at(0), cases[i].shrinks ? 1 : 0);
        assert_int_equal(taken.size, cases[i].used);
        af_free(taken.bytes);
    }
    free(bytes);
}

static void taking_nothing_gives_nothing(void **state) {
    (void)state;
    af__buffer buffer;
    af__buffer_init(&buffer, 100);
    check_status(af__buffer_reserve(&buffer, 100), AF_OK);
    af_bytes taken = af__buffer_take(&buffer);
    assert_null(taken.bytes);
    assert_int_equal(taken.size, 0);
    assert_null(buffer.bytes);
}

static void a_buffer_begins_in_the_room_it_is_lent(void **state) {
    (void)state;
    char room[16];
    af__buffer buffer;
    af__buffer_init(&buffer, 100);
    af__buffer_use_storage(&buffer, (af__storage){room, sizeof room});
    af__alloc_fail_at(SIZE_MAX);
    check_status(af__buffer_reserve(&buffer, sizeof room), AF_OK);
    check_status(af__buffer_append(&buffer, "0123456789abcdef", 16), AF_OK);
    assert_int_equal(af__alloc_fail_at(0), 0);
    assert_ptr_equal(buffer.bytes, room);
    check_status(af__buffer_append(&buffer, "g", 1), AF_OK);
    assert_ptr_not_equal(buffer.bytes, room);
    assert_int_equal(buffer.size, 17);
    assert_memory_equal(buffer.bytes, "0123456789abcdefg", 17);
    af__buffer_clear(&buffer);
    assert_ptr_equal(buffer.bytes, room);
    check_status(af__buffer_append(&buffer, "again", 5), AF_OK);
    assert_ptr_equal(buffer.bytes, room);
    af__buffer_clear(&buffer);
}

static void the_room_is_no_larger_than_the_limit(void **state) {
    (void)state;
    char room[16];
    af__buffer buffer;
    af__buffer_init(&buffer, 4);
    af__buffer_use_storage(&buffer, (af__storage){room, sizeof room});
    check_status(af__buffer_append(&buffer, "12345", 5), AF_ETOOBIG);
    check_status(af__buffer_append(&buffer, "1234", 4), AF_OK);
    assert_ptr_equal(buffer.bytes, room);
    af__buffer_clear(&buffer);
}

static void what_is_taken_does_not_lie_in_a_room(void **state) {
    (void)state;
    char room[16];
    af__buffer buffer;
    af__buffer_init(&buffer, 100);
    af__buffer_use_storage(&buffer, (af__storage){room, sizeof room});
    check_status(af__buffer_append(&buffer, "short", 5), AF_OK);
    af__alloc_fail_at(1);
    af_bytes taken = af__buffer_take(&buffer);
    af__alloc_fail_at(0);
    assert_null(taken.bytes);
    assert_int_equal(buffer.size, 5);
    taken = af__buffer_take(&buffer);
    memset(room, 'x', sizeof room);
    assert_int_equal(taken.size, 5);
    assert_memory_equal(taken.bytes, "short", 5);
    assert_int_equal(buffer.size, 0);
    af_free(taken.bytes);
    /* What has moved out is handed over as it is, and the room is there again. */
    check_status(af__buffer_append(&buffer, "longer than sixteen", 19), AF_OK);
    char *outside = buffer.bytes;
    taken = af__buffer_take(&buffer);
    assert_ptr_equal(taken.bytes, outside);
    af_free(taken.bytes);
    check_status(af__buffer_append(&buffer, "back", 4), AF_OK);
    assert_ptr_equal(buffer.bytes, room);
    af__buffer_clear(&buffer);
}

static void out_of_memory_loses_nothing(void **state) {
    (void)state;
    TORTURE(n) {
        af__buffer buffer;
        af__buffer_init(&buffer, 1 << 16);
        size_t added = 0;
        for (int i = 0; i < 3000; i++) {
            af_status status = af__buffer_append(&buffer, "0123456789", 10);
            assert_true(status == AF_OK || status == AF_ENOMEM);
            if (status == AF_OK) added += 10;
        }
        assert_int_equal(buffer.size, added);
        assert_true(added >= 2999 * 10);
        af_bytes taken = af__buffer_take(&buffer);
        assert_int_equal(taken.size, added);
        assert_memory_equal(taken.bytes, "0123456789", 10);
        af_free(taken.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_fail_on_order),
        cmocka_unit_test(allocations_count_only_while_armed),
        cmocka_unit_test(nothing_is_memory_too),
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(pieces_of_any_size_add_up),
        cmocka_unit_test(growth_needs_few_allocations),
        cmocka_unit_test(the_limit_holds_to_the_byte),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(reserving_is_a_hint_below_the_limit),
        cmocka_unit_test(taking_gives_back_much_unused_room),
        cmocka_unit_test(taking_nothing_gives_nothing),
        cmocka_unit_test(a_buffer_begins_in_the_room_it_is_lent),
        cmocka_unit_test(the_room_is_no_larger_than_the_limit),
        cmocka_unit_test(what_is_taken_does_not_lie_in_a_room),
        cmocka_unit_test(out_of_memory_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
