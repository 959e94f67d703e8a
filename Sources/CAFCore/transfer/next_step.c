#include "transfer/next_step.h"

#define IN(phase) (1u << AFC__PHASE_##phase)
#define ANY (~0u)

typedef struct row {
    unsigned phases; /**< The hop must be in one of these phases. */
    unsigned facts;  /**< All of these facts must be true. */
    afc__step step;
} row;

/** The first row that fits counts. */
static const row rows[] = {
    {ANY, AFC__FACT_TASK_FAILED, AFC__STEP_FINISH},
    {IN(AWAITING_ANSWER), 0, AFC__STEP_AWAIT_ANSWER},
    {IN(DISCARDING), 0, AFC__STEP_SEND_NEXT},
    {IN(EXPECT_FAILED), 0, AFC__STEP_SEND_UNANNOUNCED},
    {IN(CHALLENGED), 0, AFC__STEP_SEND_CREDENTIALS},
    {IN(SUPERSEDED), 0, AFC__STEP_USE_STORED},
    {IN(HEAD), AFC__FACT_UNREACHABLE | AFC__FACT_NO_RESPONSE | AFC__FACT_MAY_WAIT,
     AFC__STEP_SEND_WHEN_REACHABLE},
    {IN(HEAD),
     AFC__FACT_LOST | AFC__FACT_REUSED | AFC__FACT_NO_RESPONSE | AFC__FACT_FIRST_TRY |
         AFC__FACT_REPLAYABLE,
     AFC__STEP_SEND_AGAIN},
    {IN(HEAD),
     AFC__FACT_LOST | AFC__FACT_WENT_AWAY | AFC__FACT_NO_RESPONSE | AFC__FACT_FIRST_TRY |
         AFC__FACT_REPLAYABLE,
     AFC__STEP_SEND_AGAIN},
    {IN(HEAD), AFC__FACT_MAY_BE_STALE, AFC__STEP_USE_STALE},
    {ANY, AFC__FACT_HOP_FAILED, AFC__STEP_FAIL_AS_HOP},
    {ANY, AFC__FACT_CONNECT_ONLY, AFC__STEP_FINISH},
    {ANY, AFC__FACT_NO_RESPONSE, AFC__STEP_FAIL_NO_RESPONSE},
    {IN(HEAD) | IN(HEAD_PENDING), 0, AFC__STEP_FAIL_CUT_HEAD},
};

afc__step afc__next_step(afc__phase phase, unsigned facts) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool fits = (rows[i].phases >> phase & 1) != 0 && (rows[i].facts & ~facts) == 0;
        if (fits) return rows[i].step;
    }
    return AFC__STEP_FINISH;
}
