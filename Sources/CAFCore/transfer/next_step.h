/**
 * What follows after a hop: one table. Pure.
 *
 * What is repeated inside a hop doesn't get here: libcurl and curl/connection_reuse.c send a request again on another
 * connection if its stream was refused (RFC 9113 8.7) or its pooled connection had input before it was sent.
 */
#ifndef AF_TRANSFER_NEXT_STEP_H
#define AF_TRANSFER_NEXT_STEP_H

#include "transfer/transfer.h"

/** What is true when a hop has ended; bits. */
enum {
    AF__FACT_TASK_FAILED = 1u,  /**< Or it was cancelled. */
    AF__FACT_HOP_FAILED = 2u,   /**< For any reason, those of the next two lines among them. */
    AF__FACT_UNREACHABLE = 4u,  /**< No connection was made: there was no route, or no name. */
    AF__FACT_LOST = 8u,         /**< The connection ended. */
    AF__FACT_REUSED = 16u,      /**< The connection came from the pool. */
    AF__FACT_UNANSWERED = 32u,  /**< Nothing of a response has come. */
    AF__FACT_FIRST_TRY = 64u,   /**< The hop doesn't repeat one that lost its connection. */
    AF__FACT_REPLAYABLE = 128u, /**< Idempotent (RFC 9110 9.2.2), and its body can be sent again. */
    AF__FACT_MAY_WAIT = 256u,   /**< The request waits for the network, and not too often yet. */
    AF__FACTS = 9
};

typedef enum af__step {
    AF__STEP_FINISH,
    AF__STEP_FAIL_AS_HOP,        /**< The task fails as its hop did. */
    AF__STEP_FAIL_UNANSWERED,    /**< The connection was closed before any response. */
    AF__STEP_FAIL_CUT_HEAD,      /**< It was closed before the end of the head. */
    AF__STEP_AWAIT_ANSWER,       /**< Of the caller, to a challenge; then this is decided again. */
    AF__STEP_SEND_NEXT,          /**< The hop's `next`. */
    AF__STEP_SEND_UNANNOUNCED,   /**< The same without Expect. */
    AF__STEP_SEND_CREDENTIALS,   /**< The same with credentials. */
    AF__STEP_SEND_AGAIN,         /**< The same on a fresh connection. */
    AF__STEP_SEND_WHEN_REACHABLE /**< The same once there is a route; without one, as FAIL_AS_HOP. */
} af__step;

af__step af__next_step(af__phase phase, unsigned facts);

/** Is the same request sent again? */
static inline bool af__step_repeats(af__step step) {
    return step >= AF__STEP_SEND_UNANNOUNCED;
}

#endif
