/** The state of a hop in the HTTP cache, and which may follow which. Pure functions. */
#ifndef AFC_TRANSFER_CACHING_STATE_H
#define AFC_TRANSFER_CACHING_STATE_H

#include <stdbool.h>

/**
 * Only afc__hop_cache_enter() changes the state. Any state may be left for NEW: a hop with another request begins with
 * it.
 *
 *     from         to
 *     NEW          FINDING; without a lookup WAITING, PASSING, REPLAYING (nothing is stored), IGNORED
 *     WAITING      nothing else: what it waits for is looked up
 *     FINDING      OPENING, COLLECTING, VALIDATING, PASSING, REPLAYING, WAITING
 *     OPENING      REPLAYING; if the body can't be read, PASSING, WAITING
 *     COLLECTING   COMPLETING; if the part can't be read, PASSING; WAITING
 *     VALIDATING   CHOSEN
 *     CHOSEN       OPENING
 *     REPLAYING, PASSING, COMPLETING, IGNORED   nothing else
 */
typedef enum afc__hop_cache_state {
    AFC__HOP_CACHE_NEW,     /**< Nothing was looked up for this request yet. */
    AFC__HOP_CACHE_WAITING, /**< Another transfer is asking the server for the same response. */
    AFC__HOP_CACHE_FINDING, /**< The store is looking for responses to the request. */
    /** A response was chosen: the store is reading the first piece of its body. */
    AFC__HOP_CACHE_OPENING,
    AFC__HOP_CACHE_REPLAYING, /**< A stored response is being passed on. */
    AFC__HOP_CACHE_PASSING,   /**< The request is sent; the response may be stored. */
    /** A conditional request asks the server whether the stored response is valid. */
    AFC__HOP_CACHE_VALIDATING,
    /** The store is reading the beginning of a body that the server will complete. */
    AFC__HOP_CACHE_COLLECTING,
    AFC__HOP_CACHE_COMPLETING, /**< A request asks the server for the rest of that body. */
    AFC__HOP_CACHE_CHOSEN,     /**< The hop has ended, and the stored response will be used. */
    /** The cache isn't used, except that unsafe methods invalidate what it stores. */
    AFC__HOP_CACHE_IGNORED
} afc__hop_cache_state;

enum { AFC__HOP_CACHE_STATES = AFC__HOP_CACHE_IGNORED + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__hop_cache_may_enter(afc__hop_cache_state from, afc__hop_cache_state to);

#endif
