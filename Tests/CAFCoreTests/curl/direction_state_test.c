/* Which state of receiving may follow which: every pair, and what holds for all of them. */
#include "curl/body/direction_state.h"
#include "support/check.h"

/* One row for each state that is left, one column for each that is entered, both in the order of afc__receiving. */
static const char allowed[AFC__RECEIVING_STATES][AFC__RECEIVING_STATES + 1] = {
    /*                           O B H D F S */
    [AFC__RECEIVING_OPEN] = "OBH...",     [AFC__RECEIVING_BEHIND] = "OBH...",
    [AFC__RECEIVING_HELD] = "OB.D..",     [AFC__RECEIVING_FLUSH_DUE] = "OBH.F.",
    [AFC__RECEIVING_FLUSHING] = "..H..S", [AFC__RECEIVING_FLUSHED] = "..H...",
};

static bool may_become(int from, int to) {
    return afc__receiving_may_become((afc__receiving)from, (afc__receiving)to);
}

static bool is_paused(int state) {
    return afc__receiving_is_paused((afc__receiving)state);
}

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__RECEIVING_STATES; from++) {
        for (int to = 0; to < AFC__RECEIVING_STATES; to++) {
            bool expected = allowed[from][to] != '.';
            if (may_become(from, to) == expected) continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** Only what is held is flushed, and a pause begins with HELD, whether anything is to be flushed or not. */
static void pause_begins_with_held(void **state) {
    (void)state;
    for (int from = 0; from < AFC__RECEIVING_STATES; from++) {
        for (int to = 0; to < AFC__RECEIVING_STATES; to++) {
            if (is_paused(from) || !is_paused(to)) continue;
            assert_int_equal(may_become(from, to), to == AFC__RECEIVING_HELD);
        }
    }
}

/** libcurl passes on what is flushed inside a call: receiving isn't resumed before that returns. */
static void flush_ends_in_the_pause_that_it_began_in(void **state) {
    (void)state;
    static const int within[] = {AFC__RECEIVING_FLUSHING, AFC__RECEIVING_FLUSHED};
    for (size_t i = 0; i < COUNT_OF(within); i++) {
        assert_true(may_become(within[i], AFC__RECEIVING_HELD));
        for (int to = 0; to < AFC__RECEIVING_STATES; to++) {
            if (!is_paused(to)) assert_false(may_become(within[i], to));
        }
    }
}

/** A resume finds one of these: it passes on what is kept, all of it or not. */
static void resumes_from_every_state_outside_a_flush(void **state) {
    (void)state;
    static const int outside[] = {AFC__RECEIVING_OPEN, AFC__RECEIVING_BEHIND, AFC__RECEIVING_HELD,
                                  AFC__RECEIVING_FLUSH_DUE};
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        assert_true(may_become(outside[i], AFC__RECEIVING_OPEN));
        assert_true(may_become(outside[i], AFC__RECEIVING_BEHIND));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(pause_begins_with_held),
        cmocka_unit_test(flush_ends_in_the_pause_that_it_began_in),
        cmocka_unit_test(resumes_from_every_state_outside_a_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
