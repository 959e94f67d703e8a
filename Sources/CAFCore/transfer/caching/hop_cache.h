/**
 * A transfer and the HTTP cache of its session: one decision before a hop, one at its head, and the responses from the
 * cache. Loop thread only, unless stated otherwise.
 *
 *     before a hop   lookup.c         finds a stored response; it is used, or is validated, or isn't used
 *     at its head    update.c         updates or removes what is stored
 *     until its end  fill.c           stores the response
 *     instead of it  replay.c         passes a stored head and body on, as if they had been received
 */
#ifndef AFC_TRANSFER_CACHING_HOP_CACHE_H
#define AFC_TRANSFER_CACHING_HOP_CACHE_H

#include "http_cache/store.h"
#include "transfer/transfer.h"

/** What the cache decides before a hop. */
typedef enum afc__cache_next {
    AFC__CACHE_NEXT_SEND, /**< Send the hop to the server. */
    /** Wait for a call of the `wake`, then call afc__transfer_ask_cache() again. */
    AFC__CACHE_NEXT_WAIT,
    /** Use a stored response: call afc__transfer_replay() until it is done. */
    AFC__CACHE_NEXT_REPLAY,
    AFC__CACHE_NEXT_FAIL /**< The transfer has failed. */
} afc__cache_next;

/** Frees the memory that is kept for later hop caches. Any thread. */
void afc__hop_cache_free_kept(void);

/** Frees the hop cache of a transfer, if it has one. */
void afc__transfer_clear_hop_cache(afc__transfer *transfer);

/** Forgets the result of the lookup, as the next hop has another request. */
void afc__transfer_forget_hop_cache(afc__transfer *transfer);

/** Asks the cache what to do before a hop. The cache may call `wake` on any thread. */
afc__cache_next afc__transfer_ask_cache(afc__transfer *transfer, afc__http_cache_wake wake);

/** Begins the hop. If its URL isn't that of the lookup any more, as HSTS has upgraded it, the cache isn't used. */
void afc__transfer_cache_begin_hop(afc__transfer *transfer);

/** Returns the fields that make the hop conditional, and sets `*count` to their number. */
const afc_header *afc__transfer_conditions(const afc__transfer *transfer, size_t *count);

/**
 * Returns whether the used response is stale and must be validated in the background. Only the first call returns true.
 */
bool afc__transfer_takes_validation(afc__transfer *transfer);

/** Returns whether a stored response is being passed on instead of the server's. */
bool afc__transfer_is_replaying(const afc__transfer *transfer);

/** The result of passing on some of a stored response. */
typedef enum afc__replay {
    AFC__REPLAY_DONE,   /**< The hop has ended: call afc__transfer_end_hop(). */
    AFC__REPLAY_MORE,   /**< Call afc__transfer_replay() again in the next turn of the loop. */
    AFC__REPLAY_PAUSED, /**< The sink or the caller isn't ready. */
    AFC__REPLAY_PENDING /**< Wait for a call of the `wake`. */
} afc__replay;

/** Passes on the next bytes of the stored response. */
afc__replay afc__transfer_replay(afc__transfer *transfer);

/**
 * Handles the final head of a hop. Returns true if the stored response is used instead, or the server is asked again:
 * the hop's phase is SUPERSEDED then. A failure is that of the transfer.
 */
bool afc__transfer_cache_head(afc__transfer *transfer);

/** Stores bytes of the body, which the sink has consumed. */
void afc__transfer_cache_body(afc__transfer *transfer, afc_slice bytes);

/** Returns whether the bytes of the body are being stored. */
bool afc__transfer_stores_body(const afc__transfer *transfer);

/** Ends the hop. `is_whole` is whether its response is complete. */
void afc__transfer_cache_end(afc__transfer *transfer, bool is_whole);

/** Makes transfers that wait for the response continue, as the hop won't be repeated. */
void afc__transfer_cache_release(afc__transfer *transfer);

/** Removes the response of this hop from the cache, as its body isn't what the caller expects. */
void afc__transfer_remove_cached(const afc__transfer *transfer);

/** Returns how the cache was used for the response of this hop. */
afc_http_cache_use afc__transfer_cache_use(const afc__transfer *transfer);

/** Records what the cache did in a hop that has ended, and why its response isn't stored. */
void afc__transfer_record_cache(const afc__transfer *transfer, afc_hop *hop);

/** Returns whether the stored response may be used now that the server can't be reached. */
bool afc__transfer_may_use_stale(const afc__transfer *transfer);

/** Uses the stored response instead of a hop that failed. */
void afc__transfer_choose_stale(afc__transfer *transfer);

#endif
