/* Which state of a WebSocket may follow which: every pair. */
#include "support/check.h"
#include "websocket/state.h"

/*
 * One row for each state that is left, one column for each that is entered, both in the order of afc__websocket_state.
 */
static const char allowed[AFC__WEBSOCKET_STATES][AFC__WEBSOCKET_STATES + 1] = {
    /*                            . r o c a f E */
    [AFC__WEBSOCKET_OPENING] = ".ro...E",   [AFC__WEBSOCKET_REFUSED] = "......E",
    [AFC__WEBSOCKET_OPEN] = "...cafE",      [AFC__WEBSOCKET_CLOSING] = "....afE",
    [AFC__WEBSOCKET_ANSWERING] = "......E", [AFC__WEBSOCKET_FAILING] = "......E",
    [AFC__WEBSOCKET_ENDED] = ".......",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__WEBSOCKET_STATES; from++) {
        for (int to = 0; to < AFC__WEBSOCKET_STATES; to++) {
            bool expected = allowed[from][to] != '.';
            bool got = afc__websocket_may_enter((afc__websocket_state)from,
                                                (afc__websocket_state)to);
            if (got != expected)
                fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

static void takes_messages_until_it_closes(void **state) {
    (void)state;
    for (int at = 0; at < AFC__WEBSOCKET_STATES; at++) {
        afc__websocket_state now = (afc__websocket_state)at;
        assert_int_equal(afc__websocket_takes_messages(now),
                         now == AFC__WEBSOCKET_OPENING || now == AFC__WEBSOCKET_OPEN);
        assert_int_equal(afc__websocket_receives(now),
                         now == AFC__WEBSOCKET_OPEN || now == AFC__WEBSOCKET_CLOSING);
        assert_int_equal(afc__websocket_sends(now),
                         now != AFC__WEBSOCKET_OPENING && now != AFC__WEBSOCKET_REFUSED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(takes_messages_until_it_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
