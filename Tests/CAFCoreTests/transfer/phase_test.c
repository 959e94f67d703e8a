/* Which phase of a hop may follow which: every pair. */
#include "support/check.h"
#include "transfer/phase.h"

/* One row for each phase that is left, one column for each that is entered, both in the order of afc__phase. */
static const char allowed[AFC__PHASES][AFC__PHASES + 1] = {
    /*                   H P B D X A S C */
    [AFC__PHASE_HEAD] = "HPBDXASC",          [AFC__PHASE_HEAD_PENDING] = "H.......",
    [AFC__PHASE_BODY] = "........",          [AFC__PHASE_DISCARDING] = "........",
    [AFC__PHASE_EXPECT_FAILED] = "........", [AFC__PHASE_AWAITING_ANSWER] = "H.......",
    [AFC__PHASE_SUPERSEDED] = "........",    [AFC__PHASE_CHALLENGED] = "........",
};

static void allows_the_listed_pairs_and_no_other(void **state) {
    (void)state;
    for (int from = 0; from < AFC__PHASES; from++) {
        for (int to = 0; to < AFC__PHASES; to++) {
            bool expected = allowed[from][to] != '.';
            if (afc__phase_may_follow((afc__phase)from, (afc__phase)to) == expected) continue;
            fail_msg("%d to %d: expected %s", from, to, expected ? "allowed" : "refused");
        }
    }
}

/** The meaning of a head is decided once: whatever follows it can only be left through the head itself. */
static void decided_phases_are_entered_from_the_head_only(void **state) {
    (void)state;
    for (int from = AFC__PHASE_HEAD + 1; from < AFC__PHASES; from++) {
        for (int to = AFC__PHASE_HEAD + 1; to < AFC__PHASES; to++) {
            assert_false(afc__phase_may_follow((afc__phase)from, (afc__phase)to));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_the_listed_pairs_and_no_other),
        cmocka_unit_test(decided_phases_are_entered_from_the_head_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
