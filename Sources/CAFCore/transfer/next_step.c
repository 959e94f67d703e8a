#include "transfer/next_step.h"

#define IN(phase) (1u << AF__PHASE_##phase)
#define ANY (~0u)

typedef struct row {
    unsigned phases; /**< One of these, */
    unsigned facts;  /**< and all of these, */
    af__step step;
} row;

/** The first that fits counts. */
static const row rows[] = {
    {ANY, AF__FACT_TASK_FAILED, AF__STEP_FINISH},
    {IN(AWAITING_ANSWER), 0, AF__STEP_AWAIT_ANSWER},
    {IN(DISCARDING), 0, AF__STEP_SEND_NEXT},
    {IN(EXPECT_FAILED), 0, AF__STEP_SEND_UNANNOUNCED},
    {IN(CHALLENGED), 0, AF__STEP_SEND_CREDENTIALS},
    {IN(HEAD), AF__FACT_UNREACHABLE | AF__FACT_UNANSWERED | AF__FACT_MAY_WAIT,
     AF__STEP_SEND_WHEN_REACHABLE},
    {IN(HEAD),
     AF__FACT_LOST | AF__FACT_REUSED | AF__FACT_UNANSWERED | AF__FACT_FIRST_TRY |
         AF__FACT_REPLAYABLE,
     AF__STEP_SEND_AGAIN},
    {ANY, AF__FACT_HOP_FAILED, AF__STEP_FAIL_AS_HOP},
    {ANY, AF__FACT_UNANSWERED, AF__STEP_FAIL_UNANSWERED},
    {IN(HEAD) | IN(HEAD_PENDING), 0, AF__STEP_FAIL_CUT_HEAD},
};

af__step af__next_step(af__phase phase, unsigned facts) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool fits = (rows[i].phases >> phase & 1) != 0 && (rows[i].facts & ~facts) == 0;
        if (fits) return rows[i].step;
    }
    return AF__STEP_FINISH;
}
