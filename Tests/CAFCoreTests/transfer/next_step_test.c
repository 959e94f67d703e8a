/* What follows after a hop: every row of the table, and every phase with every combination of facts. */
#include "support/check.h"
#include "transfer/next_step.h"

/** The facts of a row are just those that it needs. */
static const struct {
    afc__phase phase;
    unsigned facts;
    afc__step step;
} rows[] = {
    {AFC__PHASE_BODY, AFC__FACT_TASK_FAILED, AFC__STEP_FINISH},
    {AFC__PHASE_AWAITING_ANSWER, 0, AFC__STEP_AWAIT_ANSWER},
    {AFC__PHASE_DISCARDING, 0, AFC__STEP_SEND_NEXT},
    {AFC__PHASE_EXPECT_FAILED, 0, AFC__STEP_SEND_UNANNOUNCED},
    {AFC__PHASE_CHALLENGED, 0, AFC__STEP_SEND_CREDENTIALS},
    {AFC__PHASE_SUPERSEDED, 0, AFC__STEP_USE_STORED},
    {AFC__PHASE_HEAD, AFC__FACT_UNREACHABLE | AFC__FACT_NO_RESPONSE | AFC__FACT_MAY_WAIT,
     AFC__STEP_SEND_WHEN_REACHABLE},
    {AFC__PHASE_HEAD,
     AFC__FACT_LOST | AFC__FACT_REUSED | AFC__FACT_NO_RESPONSE | AFC__FACT_FIRST_TRY |
         AFC__FACT_REPLAYABLE,
     AFC__STEP_SEND_AGAIN},
    {AFC__PHASE_HEAD,
     AFC__FACT_LOST | AFC__FACT_WENT_AWAY | AFC__FACT_NO_RESPONSE | AFC__FACT_FIRST_TRY |
         AFC__FACT_REPLAYABLE,
     AFC__STEP_SEND_AGAIN},
    {AFC__PHASE_HEAD, AFC__FACT_MAY_BE_STALE, AFC__STEP_USE_STALE},
    {AFC__PHASE_BODY, AFC__FACT_HOP_FAILED, AFC__STEP_FAIL_AS_HOP},
    {AFC__PHASE_HEAD, AFC__FACT_HOP_FAILED, AFC__STEP_FAIL_AS_HOP},
    {AFC__PHASE_HEAD, AFC__FACT_CONNECT_ONLY, AFC__STEP_FINISH},
    {AFC__PHASE_HEAD, AFC__FACT_NO_RESPONSE, AFC__STEP_FAIL_NO_RESPONSE},
    {AFC__PHASE_HEAD, 0, AFC__STEP_FAIL_CUT_HEAD},
    {AFC__PHASE_HEAD_PENDING, 0, AFC__STEP_FAIL_CUT_HEAD},
    {AFC__PHASE_BODY, 0, AFC__STEP_FINISH},
};

static void each_row_needs_its_phase_and_all_of_its_facts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned facts = rows[i].facts;
        if (afc__next_step(rows[i].phase, facts) != rows[i].step) fail_msg("row %zu", i);
        assert_int_equal(afc__next_step(rows[i].phase, facts | AFC__FACT_TASK_FAILED),
                         AFC__STEP_FINISH);
        for (unsigned fact = 1; fact < 1u << AFC__FACTS; fact <<= 1) {
            bool is_needed = (facts & fact) != 0 && rows[i].step != AFC__STEP_FINISH;
            if (is_needed && afc__next_step(rows[i].phase, facts & ~fact) == rows[i].step) {
                fail_msg("row %zu without fact %u", i, fact);
            }
        }
    }
}

static bool has(unsigned facts, unsigned all) {
    return (facts & all) == all;
}

/** The same decision as sentences. */
static afc__step expected(afc__phase phase, unsigned facts) {
    bool in_head = phase == AFC__PHASE_HEAD || phase == AFC__PHASE_HEAD_PENDING;
    if (has(facts, AFC__FACT_TASK_FAILED)) return AFC__STEP_FINISH;
    if (phase == AFC__PHASE_AWAITING_ANSWER) return AFC__STEP_AWAIT_ANSWER;
    if (phase == AFC__PHASE_DISCARDING) return AFC__STEP_SEND_NEXT;
    if (phase == AFC__PHASE_EXPECT_FAILED) return AFC__STEP_SEND_UNANNOUNCED;
    if (phase == AFC__PHASE_CHALLENGED) return AFC__STEP_SEND_CREDENTIALS;
    if (phase == AFC__PHASE_SUPERSEDED) return AFC__STEP_USE_STORED;
    if (phase == AFC__PHASE_HEAD && has(facts, AFC__FACT_NO_RESPONSE)) {
        if (has(facts, AFC__FACT_UNREACHABLE | AFC__FACT_MAY_WAIT)) {
            return AFC__STEP_SEND_WHEN_REACHABLE;
        }
        bool may_end = has(facts, AFC__FACT_REUSED) || has(facts, AFC__FACT_WENT_AWAY);
        bool was_first = may_end && has(facts, AFC__FACT_LOST | AFC__FACT_FIRST_TRY);
        if (was_first && has(facts, AFC__FACT_REPLAYABLE)) return AFC__STEP_SEND_AGAIN;
    }
    if (phase == AFC__PHASE_HEAD && has(facts, AFC__FACT_MAY_BE_STALE)) {
        return AFC__STEP_USE_STALE;
    }
    if (has(facts, AFC__FACT_HOP_FAILED)) return AFC__STEP_FAIL_AS_HOP;
    if (has(facts, AFC__FACT_CONNECT_ONLY)) return AFC__STEP_FINISH;
    if (has(facts, AFC__FACT_NO_RESPONSE)) return AFC__STEP_FAIL_NO_RESPONSE;
    return in_head ? AFC__STEP_FAIL_CUT_HEAD : AFC__STEP_FINISH;
}

static void each_combination_gives_the_expected_step(void **state) {
    (void)state;
    for (unsigned i = 0; i < (unsigned)AFC__PHASES << AFC__FACTS; i++) {
        afc__phase phase = (afc__phase)(i >> AFC__FACTS);
        unsigned facts = i & ((1u << AFC__FACTS) - 1);
        if (afc__next_step(phase, facts) != expected(phase, facts)) {
            fail_msg("phase %d with facts 0x%x", (int)phase, facts);
        }
    }
}

static void requests_that_may_be_processed_are_not_repeated(void **state) {
    (void)state;
    for (unsigned facts = 0; facts < 1u << AFC__FACTS; facts++) {
        if (has(facts, AFC__FACT_REPLAYABLE | AFC__FACT_NO_RESPONSE)) continue;
        assert_int_not_equal(afc__next_step(AFC__PHASE_HEAD, facts), AFC__STEP_SEND_AGAIN);
    }
}

static void only_steps_that_send_the_same_repeat_it(void **state) {
    (void)state;
    static const bool repeats[] = {
        [AFC__STEP_SEND_UNANNOUNCED] = true,
        [AFC__STEP_SEND_CREDENTIALS] = true,
        [AFC__STEP_SEND_AGAIN] = true,
        [AFC__STEP_SEND_WHEN_REACHABLE] = true,
    };
    for (size_t i = 0; i < COUNT_OF(repeats); i++) {
        assert_int_equal(afc__step_repeats((afc__step)i), repeats[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_needs_its_phase_and_all_of_its_facts),
        cmocka_unit_test(each_combination_gives_the_expected_step),
        cmocka_unit_test(requests_that_may_be_processed_are_not_repeated),
        cmocka_unit_test(only_steps_that_send_the_same_repeat_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
