/**
 * What follows after a hop, as one table. Pure functions.
 *
 * Repetitions inside a hop aren't decided here: libcurl and curl/connection/connection_reuse.c send a request again on
 * another connection if its stream was refused (RFC 9113 section 8.7) or its pooled connection had input before it was
 * sent.
 */
#ifndef AFC_TRANSFER_NEXT_STEP_H
#define AFC_TRANSFER_NEXT_STEP_H

#include "transfer/transfer.h"

/** Facts about a hop that has ended, as bits. */
enum {
    AFC__FACT_TASK_FAILED = 1u, /**< The task has failed, or was cancelled. */
    AFC__FACT_HOP_FAILED = 2u,  /**< The hop has failed for any reason, including the next two. */
    /** No connection was made: the name wasn't resolved, or no address was reached. */
    AFC__FACT_UNREACHABLE = 4u,
    AFC__FACT_LOST = 8u,         /**< The connection ended. */
    AFC__FACT_REUSED = 16u,      /**< The connection came from the pool. */
    AFC__FACT_NO_RESPONSE = 32u, /**< No byte of a response was received. */
    /** The hop isn't the repetition of one that lost its connection. */
    AFC__FACT_FIRST_TRY = 64u,
    /** The request is idempotent (RFC 9110 section 9.2.2), and its body can be sent again. */
    AFC__FACT_REPLAYABLE = 128u,
    AFC__FACT_MAY_WAIT = 256u, /**< The request may wait for the network (again). */
    /** No valid head was received, and a stored response may be used instead (RFC 5861 section 4). */
    AFC__FACT_MAY_BE_STALE = 512u,
    AFC__FACT_CONNECT_ONLY = 1024u, /**< Only a connection was wanted: no request was sent. */
    AFC__FACT_WENT_AWAY = 2048u,    /**< The connection ended with GOAWAY (RFC 9113 section 6.8). */
    /** The number of facts, for tests, which try all combinations. */
    AFC__FACTS = 12
};

typedef enum afc__step {
    AFC__STEP_FINISH,
    AFC__STEP_FAIL_AS_HOP,      /**< The task fails with the hop's failure. */
    AFC__STEP_FAIL_NO_RESPONSE, /**< The connection was closed before any response. */
    AFC__STEP_FAIL_CUT_HEAD,    /**< The connection was closed before the end of the head. */
    /** Wait for the caller's answer to a challenge; then the next step is decided again. */
    AFC__STEP_AWAIT_ANSWER,
    AFC__STEP_SEND_NEXT,        /**< Send the hop's `next`. */
    AFC__STEP_SEND_UNANNOUNCED, /**< Send the same request without Expect. */
    AFC__STEP_SEND_CREDENTIALS, /**< Send the same request with credentials. */
    AFC__STEP_SEND_AGAIN,       /**< Send the same request on a fresh connection. */
    /** Send the same request once the network allows it; otherwise like FAIL_AS_HOP. */
    AFC__STEP_SEND_WHEN_REACHABLE,
    /** Begin the hop again: the cache answers it, or repeats it without conditions. */
    AFC__STEP_USE_STORED,
    /** Begin the hop again with the stored response, although it is stale. */
    AFC__STEP_USE_STALE
} afc__step;

/** Returns what follows a hop that ended in this phase, with these AFC__FACT_… bits. */
afc__step afc__next_step(afc__phase phase, unsigned facts);

/** Returns whether the same request is sent again. */
static inline bool afc__step_repeats(afc__step step) {
    return step >= AFC__STEP_SEND_UNANNOUNCED;
}

#endif
