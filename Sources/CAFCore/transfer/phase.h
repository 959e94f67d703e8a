/** What a hop is doing, and which phase may follow which. Pure. */
#ifndef AFC_TRANSFER_PHASE_H
#define AFC_TRANSFER_PHASE_H

#include <stdbool.h>

/**
 * afc__hop_enter() is the only function that changes it; each hop begins with HEAD.
 *
 *     from              to
 *     HEAD              itself (a head that needs no other round), HEAD_PENDING, and all that follow it
 *     HEAD_PENDING      HEAD
 *     AWAITING_ANSWER   HEAD, which is then handled as if it had just been received
 *     all others        nothing: the hop ends
 */
typedef enum afc__phase {
    AFC__PHASE_HEAD,         /**< Waiting for the final head of the hop. */
    AFC__PHASE_HEAD_PENDING, /**< It is there, but may be one of several rounds of authentication. */
    AFC__PHASE_BODY,         /**< The body goes to the sink. */
    /** A redirect, or a useless part: the body goes nowhere, `next` follows. */
    AFC__PHASE_DISCARDING,
    AFC__PHASE_EXPECT_FAILED,   /**< 417: the same request again, without Expect. */
    AFC__PHASE_AWAITING_ANSWER, /**< 401, 407: not known yet whether the body goes anywhere. */
    /** A stored response is used instead, or the server is asked again: the body goes nowhere. */
    AFC__PHASE_SUPERSEDED,
    AFC__PHASE_CHALLENGED /**< 401, 407: the body goes nowhere, then the same with credentials. */
} afc__phase;

enum { AFC__PHASES = AFC__PHASE_CHALLENGED + 1 };

/** Returns whether a hop may go from one phase to the other. */
bool afc__phase_may_follow(afc__phase from, afc__phase to);

#endif
