/** The phases of a hop, and which may follow which. Pure functions. */
#ifndef AFC_TRANSFER_PHASE_H
#define AFC_TRANSFER_PHASE_H

#include <stdbool.h>

/**
 * Only afc__hop_enter() changes the phase. Each hop begins with HEAD.
 *
 *     from              to
 *     HEAD              itself (a head that needs no other round), HEAD_PENDING, and all that follow it
 *     HEAD_PENDING      HEAD
 *     AWAITING_ANSWER   HEAD, which is then handled as if it had just been received
 *     all others        nothing: the hop ends
 */
typedef enum afc__phase {
    AFC__PHASE_HEAD, /**< Waiting for the final head of the hop. */
    /** A final head was received, but may belong to a round of NTLM or Negotiate that isn't the last. */
    AFC__PHASE_HEAD_PENDING,
    AFC__PHASE_BODY, /**< The response was accepted: its body goes to the sink. */
    /** A redirect, or a useless part: the body is discarded, and the hop's `next` is sent. */
    AFC__PHASE_DISCARDING,
    AFC__PHASE_EXPECT_FAILED, /**< 417: the same request is sent again, without Expect. */
    /** 401, 407: the caller hasn't answered yet. The body is kept until then. */
    AFC__PHASE_AWAITING_ANSWER,
    /** A stored response is used instead, or the server is asked again: the body is discarded. */
    AFC__PHASE_SUPERSEDED,
    /** 401, 407: the body is discarded, and the same request is sent with credentials. */
    AFC__PHASE_CHALLENGED
} afc__phase;

enum { AFC__PHASES = AFC__PHASE_CHALLENGED + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__phase_may_follow(afc__phase from, afc__phase to);

#endif
