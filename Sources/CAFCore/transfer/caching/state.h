/** What the HTTP cache does about a hop, and which state may follow which. Pure. */
#ifndef AFC_TRANSFER_CACHING_STATE_H
#define AFC_TRANSFER_CACHING_STATE_H

#include <stdbool.h>

/**
 * afc__hop_cache_enter() is the only function that changes it. Any state may be left for NEW: a hop with another
 * request begins with it.
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
    AFC__HOP_CACHE_NEW,        /**< Nothing was looked up for this request yet. */
    AFC__HOP_CACHE_WAITING,    /**< Another transfer asks the server for the same. */
    AFC__HOP_CACHE_FINDING,    /**< The store looks for responses. */
    AFC__HOP_CACHE_OPENING,    /**< The store reads the first piece of the body. */
    AFC__HOP_CACHE_REPLAYING,  /**< A stored response is used. */
    AFC__HOP_CACHE_PASSING,    /**< The server is asked; its response may be stored. */
    AFC__HOP_CACHE_VALIDATING, /**< The server is asked whether the stored response is valid. */
    AFC__HOP_CACHE_COLLECTING, /**< The store reads a part that the server shall complete. */
    AFC__HOP_CACHE_COMPLETING, /**< The server is asked for the rest of a stored part. */
    AFC__HOP_CACHE_CHOSEN,     /**< The hop is over, and the stored response will be used. */
    AFC__HOP_CACHE_IGNORED     /**< The cache isn't used, but unsafe methods invalidate. */
} afc__hop_cache_state;

enum { AFC__HOP_CACHE_STATES = AFC__HOP_CACHE_IGNORED + 1 };

/** Returns whether the cache of a hop may go from one state to the other. */
bool afc__hop_cache_may_enter(afc__hop_cache_state from, afc__hop_cache_state to);

#endif
