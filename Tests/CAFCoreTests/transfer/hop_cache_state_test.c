/* Which state of a hop's cache may follow which: every pair. */
#include "support/check.h"
#include "transfer/caching/state.h"

/*
 * One row for each state that is left, one column for each that is entered, both in the order of afc__hop_cache_state.
 */
static const char allowed[AFC__HOP_CACHE_STATES][AFC__HOP_CACHE_STATES + 1] = {
    /*                      N W F O R P V L C S I */
    [AFC__HOP_CACHE_NEW] = "NWF.RP....I",        [AFC__HOP_CACHE_WAITING] = "N..........",
    [AFC__HOP_CACHE_FINDING] = "NW.ORPVL...",    [AFC__HOP_CACHE_OPENING] = "NW..RP.....",
    [AFC__HOP_CACHE_REPLAYING] = "N..........",  [AFC__HOP_CACHE_PASSING] = "N..........",
    [AFC__HOP_CACHE_VALIDATING] = "N........S.", [AFC__HOP_CACHE_COLLECTING] = "NW...P..C..",
    [AFC__HOP_CACHE_COMPLETING] = "N..........", [AFC__HOP_CACHE_CHOSEN] = "N..O.......",
    [AFC__HOP_CACHE_IGNORED] = "N..........",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__HOP_CACHE_STATES; from++) {
        for (int to = 0; to < AFC__HOP_CACHE_STATES; to++) {
            bool expected = allowed[from][to] != '.';
            if (afc__hop_cache_may_enter((afc__hop_cache_state)from, (afc__hop_cache_state)to) ==
                expected)
                continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** A transfer that was cancelled, redirected or retried with another request begins a new lookup. */
static void each_state_may_begin_anew(void **state) {
    (void)state;
    for (int from = 0; from < AFC__HOP_CACHE_STATES; from++) {
        assert_true(afc__hop_cache_may_enter((afc__hop_cache_state)from, AFC__HOP_CACHE_NEW));
    }
}

/** Only a validation, or the error that ended it, chooses a stored response after a hop. */
static void server_is_asked_before_a_stored_response_is_chosen(void **state) {
    (void)state;
    for (int from = 0; from < AFC__HOP_CACHE_STATES; from++) {
        bool is_validating = from == AFC__HOP_CACHE_VALIDATING;
        assert_int_equal(
            afc__hop_cache_may_enter((afc__hop_cache_state)from, AFC__HOP_CACHE_CHOSEN),
            is_validating);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(each_state_may_begin_anew),
        cmocka_unit_test(server_is_asked_before_a_stored_response_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
