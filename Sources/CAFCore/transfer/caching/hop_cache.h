/**
 * A transfer and the HTTP cache of its session: one decision before a hop, one at its head, and the responses that come
 * from the cache. Loop thread.
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

/** What follows before a hop. */
typedef enum afc__cache_next {
    AFC__CACHE_NEXT_SEND,   /**< Send the hop. */
    AFC__CACHE_NEXT_WAIT,   /**< The wake comes, then call afc__transfer_ask_cache() again. */
    AFC__CACHE_NEXT_REPLAY, /**< Call afc__transfer_replay() until it is done. */
    AFC__CACHE_NEXT_FAIL    /**< The transfer has failed. */
} afc__cache_next;

/** Frees the memory that is kept for later ones. Any thread. */
void afc__hop_cache_free_kept(void);

/** Frees the hop cache of a transfer, if it has one. */
void afc__transfer_clear_hop_cache(afc__transfer *transfer);

/** Forgets the lookup, as the next hop has another request. */
void afc__transfer_forget_hop_cache(afc__transfer *transfer);

/** Asks the cache before a hop. `wake` is called on any thread. */
afc__cache_next afc__transfer_ask_cache(afc__transfer *transfer, afc__http_cache_wake wake);

/** Begins the hop. If its URL isn't that of the lookup any more, the cache leaves it alone. */
void afc__transfer_cache_begin_hop(afc__transfer *transfer);

/** Returns the fields that make the hop conditional, and their number. */
const afc_header *afc__transfer_conditions(const afc__transfer *transfer, size_t *count);

/** Returns whether a stale response is to be validated in the background. Only the first call returns true. */
bool afc__transfer_takes_validation(afc__transfer *transfer);

/** Returns whether a stored response is passed on instead of the server's. */
bool afc__transfer_is_replaying(const afc__transfer *transfer);

/** What follows after some of a stored response was passed on. */
typedef enum afc__replay {
    AFC__REPLAY_DONE,   /**< The hop has ended: call afc__transfer_end_hop(). */
    AFC__REPLAY_MORE,   /**< Call it again, after others had their turn. */
    AFC__REPLAY_PAUSED, /**< The sink or the caller isn't ready. */
    AFC__REPLAY_PENDING /**< The wake comes. */
} afc__replay;

/** Passes on some of the stored response. */
afc__replay afc__transfer_replay(afc__transfer *transfer);

/**
 * Handles the final head of a hop. true: the stored response is used instead, or the server is asked again, and the
 * hop's phase is SUPERSEDED. A failure is the transfer's.
 */
bool afc__transfer_cache_head(afc__transfer *transfer);

/** Stores bytes of the body, which were consumed. */
void afc__transfer_cache_body(afc__transfer *transfer, afc_slice bytes);

/** Returns whether the bytes of the body are being stored. */
bool afc__transfer_stores_body(const afc__transfer *transfer);

/** Ends the hop. `is_whole`: its response is complete. */
void afc__transfer_cache_end(afc__transfer *transfer, bool is_whole);

/** Lets those go on that wait for the response, as the hop won't be repeated. */
void afc__transfer_cache_release(afc__transfer *transfer);

/** Removes the response of this hop from the cache, as its body isn't what the caller expects. */
void afc__transfer_remove_cached(const afc__transfer *transfer);

/** Returns how the response of this hop came from the cache, if it did. */
afc_http_cache_use afc__transfer_cache_use(const afc__transfer *transfer);

/** Records what the cache did in a hop that has ended, and why its response isn't stored. */
void afc__transfer_record_cache(const afc__transfer *transfer, afc_hop *hop);

/** Returns whether the stored response may be used now that the server can't be reached. */
bool afc__transfer_may_use_stale(const afc__transfer *transfer);

/** Uses the stored response instead of a hop that failed. */
void afc__transfer_choose_stale(afc__transfer *transfer);

#endif
