/* Which state of a hop's request, and of its early response, may follow which: every pair. */
#include "curl/attempt.h"
#include "curl/body/early_response.h"
#include "support/check.h"

/* One row for each state that is left, one column for each that is entered, both in the order of afc__attempt. */
static const char allowed[AFC__ATTEMPTS][AFC__ATTEMPTS + 1] = {
    /*                    N S H U */
    [AFC__ATTEMPT_NONE] = ".S.U",
    [AFC__ATTEMPT_SENT] = ".SHU",
    [AFC__ATTEMPT_HEARD] = ".SH.",
    [AFC__ATTEMPT_UNCLEAN] = "....",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__ATTEMPTS; from++) {
        for (int to = 0; to < AFC__ATTEMPTS; to++) {
            bool expected = allowed[from][to] != '.';
            if (afc__attempt_may_become((afc__attempt)from, (afc__attempt)to) == expected) continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** Nothing of a response is received before the request was sent, nor after it wasn't. */
static void only_a_sent_request_gets_a_response(void **state) {
    (void)state;
    for (int from = 0; from < AFC__ATTEMPTS; from++) {
        bool is_sent = from == AFC__ATTEMPT_SENT || from == AFC__ATTEMPT_HEARD;
        assert_int_equal(afc__attempt_may_become((afc__attempt)from, AFC__ATTEMPT_HEARD), is_sent);
    }
}

static void connection_is_never_lost_within_an_attempt(void **state) {
    (void)state;
    for (int from = 0; from < AFC__ATTEMPTS; from++) {
        for (int to = 0; to < AFC__ATTEMPTS; to++) {
            if (!afc__attempt_may_become((afc__attempt)from, (afc__attempt)to)) continue;
            assert_true(afc__attempt_is_connected((afc__attempt)to));
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
