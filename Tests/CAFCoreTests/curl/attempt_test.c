/* Which state of a hop's request, and of its early response, may follow which: every pair. */
#include "curl/body/early_response.h"
#include "curl/request_progress.h"
#include "support/check.h"

/*
 * One row for each state that is left, one column for each that is entered, both in the order of afc__request_progress.
 */
static const char allowed[AFC__PROGRESS_STATES][AFC__PROGRESS_STATES + 1] = {
    /*                    N S H U */
    [AFC__PROGRESS_NONE] = ".S.U",
    [AFC__PROGRESS_SENT] = ".SHU",
    [AFC__PROGRESS_RESPONDING] = ".SH.",
    [AFC__PROGRESS_NOT_SENT] = "....",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__PROGRESS_STATES; from++) {
        for (int to = 0; to < AFC__PROGRESS_STATES; to++) {
            bool expected = allowed[from][to] != '.';
            if (afc__request_progress_may_become((afc__request_progress)from,
                                                 (afc__request_progress)to) == expected)
                continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** Nothing of a response is received before the request was sent, nor after it wasn't. */
static void only_a_sent_request_gets_a_response(void **state) {
    (void)state;
    for (int from = 0; from < AFC__PROGRESS_STATES; from++) {
        bool is_sent = from == AFC__PROGRESS_SENT || from == AFC__PROGRESS_RESPONDING;
        assert_int_equal(
            afc__request_progress_may_become((afc__request_progress)from, AFC__PROGRESS_RESPONDING),
            is_sent);
    }
}

static void connection_is_never_lost_within_an_attempt(void **state) {
    (void)state;
    for (int from = 0; from < AFC__PROGRESS_STATES; from++) {
        for (int to = 0; to < AFC__PROGRESS_STATES; to++) {
            if (!afc__request_progress_may_become((afc__request_progress)from,
                                                  (afc__request_progress)to))
                continue;
            assert_true(afc__request_progress_is_connected((afc__request_progress)to));
        }
    }
}

/** A response is given to libcurl once, and only if bytes of it were kept. */
static void early_response_is_reinjected_once(void **state) {
    (void)state;
    static const char followers[AFC__EARLY_STATES][AFC__EARLY_STATES + 1] = {
        /*                  N K R */
        [AFC__EARLY_NONE] = ".K.",
        [AFC__EARLY_KEPT] = "N.R",
        [AFC__EARLY_REINJECTED] = "N..",
    };
    for (int from = 0; from < AFC__EARLY_STATES; from++) {
        for (int to = 0; to < AFC__EARLY_STATES; to++) {
            bool may = afc__early_may_become((afc__early_state)from, (afc__early_state)to);
            assert_int_equal(may, followers[from][to] != '.');
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(only_a_sent_request_gets_a_response),
        cmocka_unit_test(connection_is_never_lost_within_an_attempt),
        cmocka_unit_test(early_response_is_reinjected_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
