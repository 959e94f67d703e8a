/**
 * A transfer and the HTTP cache of its session: one decision before a hop, one at its head, and the responses that come
 * from the cache. Loop thread.
 *
 *     before a hop   lookup.c         finds a stored response; it is used, or is validated, or isn't used
 *     at its head    update.c         stores the response, updates or removes what is stored
 *     instead of it  replay.c         passes a stored head and body on, as if they had been received
 */
#ifndef AFC_TRANSFER_CACHING_HOP_CACHE_H
#define AFC_TRANSFER_CACHING_HOP_CACHE_H

#include "http_cache/cache_status.h"
#include "http_cache/completion.h"
#include "http_cache/fingerprint.h"
#include "http_cache/reuse.h"
#include "http_cache/store.h"
#include "http_cache/validators.h"
#include "http_cache/vary.h"
#include "transfer/caching/state.h"
#include "transfer/transfer.h"

enum {
    /** Longest part that is completed, in bytes: it is in memory while the server is asked for the rest. */
    AFC__HOP_CACHE_MOST_COMPLETED = 1024 * 1024,
    /** Longest key that needs no memory of its own, in bytes. */
    AFC__HOP_CACHE_KEY_SIZE = 128
};

typedef struct afc__hop_cache {
    afc__hop_cache_state state;
    afc_http_cache *http_cache; /**< The session's. */
    afc__http_cache_wake wake;
    afc__buffer key;
    char identity[AFC__FINGERPRINT_SIZE];
    afc__http_cache_control request; /**< The request's directives. */
    int64_t request_time;            /**< When the hop began. */

    /* WAITING. */
    afc__node waiter; /**< In `waiters` of the other transfer. */
    bool has_waited;  /**< It waits only once. */
    bool
        is_next; /**< It takes the place of the transfer that it waited for, and hasn't asked the server yet. */

    /* FINDING. */
    afc__http_cache_find *find;

    /* The response that was found. */
    afc__http_cache_stored *stored;
    afc_head head;       /**< The stored one, or, after a 304, that updated. */
    afc__fields updated; /**< The fields of the latter. */
    afc__http_cache_control control;
    afc__freshness freshness;
    int64_t response_time;
    afc_header conditions[AFC__CONDITIONS_MOST]; /**< VALIDATING, COMPLETING: sent with it. */
    size_t condition_count;

    /* COLLECTING, COMPLETING. */
    afc__buffer part; /**< The bytes of the stored part. */
    char range_text[AFC__REST_RANGE_SIZE];

    /* REPLAYING. */
    afc__cached_response response;
    afc_http_cache_use use;
    afc__byte_range range; /**< The part of the representation that is asked for. */
    afc__http_cache_reader *reader;
    afc_slice piece; /**< The rest of what was read last. */
    int64_t left;    /**< Bytes of the body to pass on; negative: all. */
    int64_t passed;
    bool has_head;         /**< The head was passed on. */
    bool has_end;          /**< The reader has no more pieces. */
    bool wants_validation; /**< The response is stale, and is to be validated in the background. */

    /* PASSING, VALIDATING. */
    afc__http_cache_writing *writing;
    uint64_t written;
    afc__node fill;    /**< In the session's list; zeroed: its response won't be stored. */
    afc__list waiters; /**< That want the same response. */
    afc__http_cache_mark
        mark; /**< When the hop began. Of what was removed since, an older response isn't stored. */
    const char *not_stored; /**< Why the response isn't stored. Static. */

    char key_storage[AFC__HOP_CACHE_KEY_SIZE]; /**< The last one: it isn't zeroed. */
} afc__hop_cache;

/** What follows before a hop. */
typedef enum afc__cache_next {
    AFC__CACHE_NEXT_SEND,   /**< Send the hop. */
    AFC__CACHE_NEXT_WAIT,   /**< The wake comes, then call afc__transfer_ask_cache() again. */
    AFC__CACHE_NEXT_REPLAY, /**< Call afc__transfer_replay() until it is done. */
    AFC__CACHE_NEXT_FAIL    /**< The transfer has failed. */
} afc__cache_next;

/** Makes the hop cache of a transfer whose session has a cache. NULL: out of memory. */
afc__hop_cache *afc__transfer_make_hop_cache(afc__transfer *transfer);

/** Frees the memory that is kept for later ones. Any thread. */
void afc__hop_cache_free_kept(void);

void afc__transfer_clear_hop_cache(afc__transfer *transfer);

/** Forgets the lookup, as the next hop has another request. */
void afc__transfer_forget_hop_cache(afc__transfer *transfer);

/** Asks the cache before a hop. `wake` is called on any thread. */
afc__cache_next afc__transfer_ask_cache(afc__transfer *transfer, afc__http_cache_wake wake);

/** Begins the hop. If its URL isn't that of the lookup any more, the cache leaves it alone. */
void afc__transfer_cache_begin_hop(afc__transfer *transfer);

/** Returns the fields that make the hop conditional, and their number. */
static inline const afc_header *afc__transfer_conditions(const afc__transfer *transfer,
                                                         size_t *count) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool has_some = cache != NULL && (cache->state == AFC__HOP_CACHE_VALIDATING ||
                                      cache->state == AFC__HOP_CACHE_COMPLETING);
    *count = has_some ? cache->condition_count : 0;
    return has_some ? cache->conditions : NULL;
}

/** Returns whether a stale response waits for its validation in the background. Only once. */
bool afc__transfer_takes_validation(afc__transfer *transfer);

/** Returns whether a stored response is passed on instead of the server's. */
static inline bool afc__transfer_is_replaying(const afc__transfer *transfer) {
    return transfer->hop_cache != NULL && transfer->hop_cache->state == AFC__HOP_CACHE_REPLAYING;
}

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

/** Lets those look again that wait for the response, whether it was stored or won't be. */
void afc__hop_cache_release_waiters(afc__hop_cache *cache);

/**
 * Call it when the transfer has ended. If that was its own doing, by a cancellation or a limit, the first of those that
 * wait takes its place and the others wait for that one. Otherwise all look again.
 */
void afc__transfer_release_waiters(afc__transfer *transfer);

/** Returns another transfer of the session that asks the server for the same URL. NULL: none. */
afc__hop_cache *afc__hop_cache_find_fill(const afc__transfer *transfer);

/** Ends the hop. `is_whole`: its response is complete. */
void afc__transfer_cache_end(afc__transfer *transfer, bool is_whole);

/** Returns whether the stored response may be used now that the server can't be reached. */
bool afc__transfer_may_use_stale(const afc__transfer *transfer);

/** Uses the stored response instead of a hop that failed. */
void afc__transfer_choose_stale(afc__transfer *transfer);

/* ---- Shared by the files of the cache ------------------------------------------------------ */

/**
 * Writes whose request it is: the fingerprint of the credentials that it sends or would send; empty without any. false:
 * out of memory.
 */
bool afc__hop_cache_identify(const afc__transfer *transfer, char out[AFC__FINGERPRINT_SIZE]);

/** Returns the request as selecting fields see it. */
afc__http_cache_request afc__hop_cache_request(const afc__transfer *transfer);

/** Returns whether the URL of the request has a query. */
static inline bool afc__hop_cache_has_query(const afc__transfer *transfer) {
    return transfer->request.url.query.bytes != NULL;
}

afc__reuse_question afc__hop_cache_question(const afc__transfer *transfer);

/** Reads what the stored head says; `head` must live as long as it is used. */
void afc__hop_cache_set_head(afc__transfer *transfer, const afc_head *head, int64_t request_time,
                             int64_t response_time);

/** Takes over what a stored head says. */
void afc__hop_cache_set_stored(afc__transfer *transfer, afc__http_cache_stored *stored);

/** Enters a state, which the one before must allow; see transfer/caching/state.h. */
void afc__hop_cache_enter(afc__hop_cache *cache, afc__hop_cache_state state);

void afc__hop_cache_release_stored(afc__hop_cache *cache);

static inline int64_t afc__hop_cache_age(const afc__hop_cache *cache, int64_t now) {
    return afc__current_age(&cache->freshness, cache->response_time, now);
}

#endif
