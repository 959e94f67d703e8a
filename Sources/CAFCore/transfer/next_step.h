/**
 * What follows after a hop: one table. Pure.
 *
 * What is repeated inside a hop doesn't get here: libcurl and curl/connection/connection_reuse.c send a request again
 * on another connection if its stream was refused (RFC 9113 8.7) or its pooled connection had input before it was sent.
 */
#ifndef AFC_TRANSFER_NEXT_STEP_H
#define AFC_TRANSFER_NEXT_STEP_H

#include "transfer/transfer.h"

/** What is true when a hop has ended; bits. */
enum {
    AFC__FACT_TASK_FAILED = 1u,  /**< Or it was cancelled. */
    AFC__FACT_HOP_FAILED = 2u,   /**< For any reason, those of the next two lines among them. */
    AFC__FACT_UNREACHABLE = 4u,  /**< No connection was made: there was no route, or no name. */
    AFC__FACT_LOST = 8u,         /**< The connection ended. */
    AFC__FACT_REUSED = 16u,      /**< The connection came from the pool. */
    AFC__FACT_NO_RESPONSE = 32u, /**< Nothing of a response was received. */
    AFC__FACT_FIRST_TRY = 64u,   /**< The hop doesn't repeat one that lost its connection. */
    /** Idempotent (RFC 9110 9.2.2), and its body can be sent again. */
    AFC__FACT_REPLAYABLE = 128u,
    AFC__FACT_MAY_WAIT = 256u, /**< The request waits for the network, and not too often yet. */
    AFC__FACT_MAY_BE_STALE =
        512u, /**< There is no valid head, and a stored response may be used instead (RFC 5861 4). */
    AFC__FACT_CONNECT_ONLY = 1024u, /**< No request was to be sent. */
    AFC__FACT_WENT_AWAY = 2048u,    /**< The connection ended with GOAWAY (RFC 9113 6.8). */
    AFC__FACTS = 12                 /**< Their number. For tests, which try all combinations. */
};

typedef enum afc__step {
    AFC__STEP_FINISH,
    AFC__STEP_FAIL_AS_HOP,      /**< The task fails as its hop did. */
    AFC__STEP_FAIL_NO_RESPONSE, /**< The connection was closed before any response. */
    AFC__STEP_FAIL_CUT_HEAD,    /**< It was closed before the end of the head. */
    AFC__STEP_AWAIT_ANSWER, /**< Wait for the caller's answer to a challenge; then this is decided again. */
    AFC__STEP_SEND_NEXT,           /**< The hop's `next`. */
    AFC__STEP_SEND_UNANNOUNCED,    /**< The same without Expect. */
    AFC__STEP_SEND_CREDENTIALS,    /**< The same with credentials. */
    AFC__STEP_SEND_AGAIN,          /**< The same on a fresh connection. */
    AFC__STEP_SEND_WHEN_REACHABLE, /**< The same once there is a route; without one, as FAIL_AS_HOP. */
    AFC__STEP_USE_STORED,          /**< The same, with the stored response that was validated. */
    AFC__STEP_USE_STALE            /**< The same, with the stored response although it is stale. */
} afc__step;

/** Returns what follows a hop that ended in this phase, with these AFC__FACT_… bits. */
afc__step afc__next_step(afc__phase phase, unsigned facts);

/** Returns whether the same request is sent again. */
static inline bool afc__step_repeats(afc__step step) {
    return step >= AFC__STEP_SEND_UNANNOUNCED;
}

#endif
