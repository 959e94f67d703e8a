/* Which state of a task may follow which: every pair. */
#include "session/task_state.h"
#include "support/check.h"

/* One row for each state that is left, one column for each that is entered, both in the order of afc__task_state. */
static const char allowed[AFC__TASK_STATES][AFC__TASK_STATES + 1] = {
    /*                  N Q H + = S n c $ W C L D */
    [AFC__STATE_NEW] = ".Q...S..$W...",
    [AFC__STATE_QUEUED] = "..H..S...W...",
    [AFC__STATE_IN_HOP] = ".QH+=Snc$W...",
    [AFC__STATE_CONNECTING] = ".QH+=Snc$W...",
    [AFC__STATE_CONNECTED] = ".QH+=Snc$W...",
    [AFC__STATE_SUSPENDED] = ".Q...S..$W...",
    [AFC__STATE_WAITING_FOR_NETWORK] = ".Q...Sn.$W...",
    [AFC__STATE_WAITING_FOR_CREDENTIALS] = ".Q...S..$W...",
    [AFC__STATE_IN_CACHE] = ".Q...S..$W...",
    [AFC__STATE_WRITING] = ".........WC..",
    [AFC__STATE_COMPLETED] = "...........LD",
    [AFC__STATE_LEAVING] = "............D",
    [AFC__STATE_DETACHED] = ".............",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__TASK_STATES; from++) {
        for (int to = 0; to < AFC__TASK_STATES; to++) {
            bool expected = allowed[from][to] != '.';
            if (afc__task_may_enter((afc__task_state)from, (afc__task_state)to) == expected)
                continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** The states that can be reached from `from` in any number of steps, as bits. */
static unsigned reachable(afc__task_state from) {
    unsigned found = 1u << from, before;
    do {
        before = found;
        for (unsigned pair = 0; pair < AFC__TASK_STATES * AFC__TASK_STATES; pair++) {
            unsigned via = pair / AFC__TASK_STATES, to = pair % AFC__TASK_STATES;
            bool leads = (found >> via & 1) != 0 &&
                         afc__task_may_enter((afc__task_state)via, (afc__task_state)to);
            if (leads) found |= 1u << to;
        }
    } while (found != before);
    return found;
}

static void each_state_leads_to_completion(void **state) {
    (void)state;
    for (int from = 0; from < AFC__TASK_STATES; from++) {
        assert_true((reachable((afc__task_state)from) & 1u << AFC__STATE_DETACHED) != 0);
    }
}

static void completed_task_never_becomes_active(void **state) {
    (void)state;
    unsigned last = 1u << AFC__STATE_COMPLETED | 1u << AFC__STATE_LEAVING |
                    1u << AFC__STATE_DETACHED;
    assert_int_equal(reachable(AFC__STATE_COMPLETED) & ~last, 0);
    assert_int_equal(reachable(AFC__STATE_WRITING) & ~(last | 1u << AFC__STATE_WRITING), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(each_state_leads_to_completion),
        cmocka_unit_test(completed_task_never_becomes_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
