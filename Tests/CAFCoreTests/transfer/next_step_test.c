/* What follows after a hop: every row of the table, and every phase with every combination of facts. */
#include "support/check.h"
#include "transfer/next_step.h"

enum { PHASES = AF__PHASE_CHALLENGED + 1 };

/** The facts of a row are just those that it needs. */
static const struct {
    af__phase phase;
    unsigned facts;
    af__step step;
} rows[] = {
    {AF__PHASE_BODY, AF__FACT_TASK_FAILED, AF__STEP_FINISH},
    {AF__PHASE_AWAITING_ANSWER, 0, AF__STEP_AWAIT_ANSWER},
    {AF__PHASE_DISCARDING, 0, AF__STEP_SEND_NEXT},
    {AF__PHASE_EXPECT_FAILED, 0, AF__STEP_SEND_UNANNOUNCED},
    {AF__PHASE_CHALLENGED, 0, AF__STEP_SEND_CREDENTIALS},
    {AF__PHASE_HEAD, AF__FACT_UNREACHABLE | AF__FACT_UNANSWERED | AF__FACT_MAY_WAIT,
     AF__STEP_SEND_WHEN_REACHABLE},
    {AF__PHASE_HEAD,
     AF__FACT_LOST | AF__FACT_REUSED | AF__FACT_UNANSWERED | AF__FACT_FIRST_TRY |
         AF__FACT_REPLAYABLE,
     AF__STEP_SEND_AGAIN},
    {AF__PHASE_BODY, AF__FACT_HOP_FAILED, AF__STEP_FAIL_AS_HOP},
    {AF__PHASE_HEAD, AF__FACT_HOP_FAILED, AF__STEP_FAIL_AS_HOP},
    {AF__PHASE_HEAD, AF__FACT_UNANSWERED, AF__STEP_FAIL_UNANSWERED},
    {AF__PHASE_HEAD, 0, AF__STEP_FAIL_CUT_HEAD},
    {AF__PHASE_HEAD_PENDING, 0, AF__STEP_FAIL_CUT_HEAD},
    {AF__PHASE_BODY, 0, AF__STEP_FINISH},
};

static void each_row_needs_its_phase_and_all_of_its_facts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned facts = rows[i].facts;
        if (af__next_step(rows[i].phase, facts) != rows[i].step) fail_msg("row %zu", i);
        assert_int_equal(af__next_step(rows[i].phase, facts | AF__FACT_TASK_FAILED),
                         AF__STEP_FINISH);
        for (unsigned fact = 1; fact < 1u << AF__FACTS; fact <<= 1) {
            bool is_needed = (facts & fact) != 0 && rows[i].step != AF__STEP_FINISH;
            if (is_needed && af__next_step(rows[i].phase, facts & ~fact) == rows[i].step) {
                fail_msg("row %zu without fact %u", i, fact);
            }
        }
    }
}

static bool has(unsigned facts, unsigned all) {
    return (facts & all) == all;
}

/** The same decision as sentences. */
static af__step expected(af__phase phase, unsigned facts) {
    bool in_head = phase == AF__PHASE_HEAD || phase == AF__PHASE_HEAD_PENDING;
    if (has(facts, AF__FACT_TASK_FAILED)) return AF__STEP_FINISH;
    if (phase == AF__PHASE_AWAITING_ANSWER) return AF__STEP_AWAIT_ANSWER;
    if (phase == AF__PHASE_DISCARDING) return AF__STEP_SEND_NEXT;
    if (phase == AF__PHASE_EXPECT_FAILED) return AF__STEP_SEND_UNANNOUNCED;
    if (phase == AF__PHASE_CHALLENGED) return AF__STEP_SEND_CREDENTIALS;
    if (phase == AF__PHASE_HEAD && has(facts, AF__FACT_UNANSWERED)) {
        if (has(facts, AF__FACT_UNREACHABLE | AF__FACT_MAY_WAIT)) {
            return AF__STEP_SEND_WHEN_REACHABLE;
        }
        bool was_stale = has(facts, AF__FACT_LOST | AF__FACT_REUSED | AF__FACT_FIRST_TRY);
        if (was_stale && has(facts, AF__FACT_REPLAYABLE)) return AF__STEP_SEND_AGAIN;
    }
    if (has(facts, AF__FACT_HOP_FAILED)) return AF__STEP_FAIL_AS_HOP;
    if (has(facts, AF__FACT_UNANSWERED)) return AF__STEP_FAIL_UNANSWERED;
    return in_head ? AF__STEP_FAIL_CUT_HEAD : AF__STEP_FINISH;
}

static void each_combination_gives_the_expected_step(void **state) {
    (void)state;
    for (unsigned i = 0; i < (unsigned)PHASES << AF__FACTS; i++) {
        af__phase phase = (af__phase)(i >> AF__FACTS);
        unsigned facts = i & ((1u << AF__FACTS) - 1);
        if (af__next_step(phase, facts) != expected(phase, facts)) {
            fail_msg("phase %d with facts 0x%x", (int)phase, facts);
        }
    }
}

static void what_may_have_been_processed_is_not_sent_again(void **state) {
    (void)state;
    for (unsigned facts = 0; facts < 1u << AF__FACTS; facts++) {
        if (has(facts, AF__FACT_REPLAYABLE | AF__FACT_UNANSWERED)) continue;
        assert_int_not_equal(af__next_step(AF__PHASE_HEAD, facts), AF__STEP_SEND_AGAIN);
    }
}

static void only_steps_that_send_the_same_repeat_it(void **state) {
    (void)state;
    static const bool repeats[] = {
        [AF__STEP_SEND_UNANNOUNCED] = true,
        [AF__STEP_SEND_CREDENTIALS] = true,
        [AF__STEP_SEND_AGAIN] = true,
        [AF__STEP_SEND_WHEN_REACHABLE] = true,
    };
    for (size_t i = 0; i < COUNT_OF(repeats); i++) {
        assert_int_equal(af__step_repeats((af__step)i), repeats[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_needs_its_phase_and_all_of_its_facts),
        cmocka_unit_test(each_combination_gives_the_expected_step),
        cmocka_unit_test(what_may_have_been_processed_is_not_sent_again),
        cmocka_unit_test(only_steps_that_send_the_same_repeat_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
