#include "base/alloc.h"
#include "base/clock.h"
#include "base/timers.h"
#include "support/check.h"
#include "support/torture.h"

enum { MANY = 500 };

static void check_heap(const afc__timers *timers) {
    for (size_t i = 0; i < timers->count; i++) {
        assert_int_equal(timers->heap[i]->heap_slot, i + 1);
        if (i == 0) continue;
        assert_true(timers->heap[(i - 1) / 2]->deadline <= timers->heap[i]->deadline);
    }
}

static void empty_heap_has_no_first_timer(void **state) {
    (void)state;
    afc__timers timers;
    afc__timers_init(&timers);
    assert_null(afc__timers_first(&timers));
    afc__timer timer = {0};
    afc__timers_disarm(&timers, &timer);
    afc__timers_clear(&timers);
}

static void returns_the_earliest_first(void **state) {
    (void)state;
    afc__timers timers;
    afc__timers_init(&timers);
    check_status(afc__timers_reserve(&timers, 3), AFC_OK);
    afc__timer a = {0}, b = {0}, c = {0};
    afc__timers_arm(&timers, &a, 30);
    afc__timers_arm(&timers, &b, 10);
    afc__timers_arm(&timers, &c, 20);
    assert_ptr_equal(afc__timers_first(&timers), &b);
    afc__timers_arm(&timers, &b, 40);
    assert_ptr_equal(afc__timers_first(&timers), &c);
    afc__timers_arm(&timers, &a, INT64_MIN);
    assert_ptr_equal(afc__timers_first(&timers), &a);
    afc__timers_disarm(&timers, &a);
    afc__timers_disarm(&timers, &a);
    assert_ptr_equal(afc__timers_first(&timers), &c);
    assert_false(afc__timer_is_armed(&a));
    afc__timers_clear(&timers);
    assert_false(afc__timer_is_armed(&b));
    assert_false(afc__timer_is_armed(&c));
}

static void any_sequence_of_operations_keeps_the_order(void **state) {
    (void)state;
    afc__timers timers;
    afc__timers_init(&timers);
    check_status(afc__timers_reserve(&timers, MANY), AFC_OK);
    static afc__timer owned[MANY];
    uint64_t random = 42;
    for (int step = 0; step < 20000; step++) {
        afc__timer *timer = &owned[next_random(&random) % MANY];
        if (next_random(&random) % 3 == 0) {
            afc__timers_disarm(&timers, timer);
        } else {
            afc__timers_arm(&timers, timer, (int64_t)(next_random(&random) % 1000));
        }
        if (step % 64 == 0) check_heap(&timers);
    }
    int64_t last = INT64_MIN;
    for (afc__timer *first; (first = afc__timers_first(&timers)) != NULL;) {
        assert_true(first->deadline >= last);
        last = first->deadline;
        afc__timers_disarm(&timers, first);
        check_heap(&timers);
    }
    for (size_t i = 0; i < MANY; i++) assert_false(afc__timer_is_armed(&owned[i]));
    afc__timers_clear(&timers);
}

static void reserved_timers_arm_without_allocation(void **state) {
    (void)state;
    TORTURE(n) {
        afc__timers timers;
        afc__timers_init(&timers);
        afc__timer owned[40] = {{0}};
        for (size_t i = 0; i < COUNT_OF(owned); i++) {
            if (afc__timers_reserve(&timers, timers.count + 1) != AFC_OK) continue;
            afc__timers_arm(&timers, &owned[i], -(int64_t)i);
        }
        check_heap(&timers);
        assert_true(timers.count >= COUNT_OF(owned) - 1);
        afc__timers_clear(&timers);
    }
    afc__timers timers;
    afc__timers_init(&timers);
    check_status(afc__timers_reserve(&timers, SIZE_MAX), AFC_ENOMEM);
    afc__timers_clear(&timers);
}

static void reserving_one_by_one_allocates_rarely(void **state) {
    (void)state;
    afc__timers timers;
    afc__timers_init(&timers);
    afc__alloc_fail_at(SIZE_MAX);
    for (size_t i = 1; i <= 10000; i++) check_status(afc__timers_reserve(&timers, i), AFC_OK);
    assert_in_range(afc__alloc_fail_at(0), 1, 24);
    afc__timers_clear(&timers);
}

static void shrinking_keeps_armed_timers(void **state) {
    (void)state;
    afc__timers timers;
    afc__timer armed[MANY] = {0};
    afc__timers_init(&timers);
    check_status(afc__timers_reserve(&timers, 10000), AFC_OK);
    for (int64_t i = 0; i < MANY; i++) afc__timers_arm(&timers, &armed[i], MANY - i);
    afc__timers_shrink(&timers, 64);
    assert_int_equal(timers.capacity, MANY);
    check_heap(&timers);
    assert_ptr_equal(afc__timers_first(&timers), &armed[MANY - 1]);
    for (int64_t i = 0; i < MANY; i++) afc__timers_disarm(&timers, &armed[i]);
    afc__alloc_fail_at(1);
    afc__timers_shrink(&timers, 64);
    afc__alloc_fail_at(0);
    afc__timers_shrink(&timers, 64);
    assert_int_equal(timers.capacity, 64);
    afc__timers_shrink(&timers, 100);
    assert_int_equal(timers.capacity, 64);
    afc__timers_clear(&timers);
}

static void clock_never_goes_back(void **state) {
    (void)state;
    int64_t last = afc__now_us();
    assert_true(last > 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = afc__now_us();
        assert_true(now >= last);
        last = now;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_heap_has_no_first_timer),
        cmocka_unit_test(returns_the_earliest_first),
        cmocka_unit_test(any_sequence_of_operations_keeps_the_order),
        cmocka_unit_test(reserved_timers_arm_without_allocation),
        cmocka_unit_test(reserving_one_by_one_allocates_rarely),
        cmocka_unit_test(shrinking_keeps_armed_timers),
        cmocka_unit_test(clock_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
