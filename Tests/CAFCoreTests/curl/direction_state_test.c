/* Which state of receiving may follow which: every pair, and what holds for all of them. */
#include "curl/body/direction_state.h"
#include "support/check.h"

/* One row for each state that is left, one column for each that is entered, both in the order of afc__receiving. */
static const char allowed[AFC__RECEIVING_STATES][AFC__RECEIVING_STATES + 1] = {
    /*                         O B H */
    [AFC__RECEIVING_OPEN] = "OBH",
    [AFC__RECEIVING_BEHIND] = "OBH",
    [AFC__RECEIVING_HELD] = "OB.",
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

/** A pause begins once, and ends before another one can begin. */
static void pause_begins_with_held(void **state) {
    (void)state;
    for (int from = 0; from < AFC__RECEIVING_STATES; from++) {
        for (int to = 0; to < AFC__RECEIVING_STATES; to++) {
            if (is_paused(from) || !is_paused(to)) continue;
            assert_int_equal(may_become(from, to), to == AFC__RECEIVING_HELD);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(pause_begins_with_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
