/** The state of a transfer's cache, for the files of this folder. */
#ifndef AFC_TRANSFER_CACHING_HOP_CACHE_INTERNAL_H
#define AFC_TRANSFER_CACHING_HOP_CACHE_INTERNAL_H

#include "http_cache/completion.h"
#include "http_cache/rules/cache_status.h"
#include "http_cache/rules/fingerprint.h"
#include "http_cache/rules/reuse.h"
#include "http_cache/rules/validators.h"
#include "http_cache/rules/vary.h"
#include "http_cache/store_body.h"
#include "transfer/caching/hop_cache.h"
#include "transfer/caching/state.h"

enum {
    /**
     * Maximum size of a stored beginning that is completed, in bytes: it is in memory while the server is asked for the
     * rest.
     */
    AFC__HOP_CACHE_COMPLETED_MAX = 1024 * 1024,
    /**
     * How often a transfer waits for others: by Vary, what the first one stores may not fit the requests of those that
     * wait.
     */
    AFC__HOP_CACHE_WAITS_MAX = 3,
    /** The longest key that needs no allocation, in bytes. */
    AFC__HOP_CACHE_KEY_SIZE = 128
};

/** How a transfer has made a stored response usable, for the transfers that wait for it. */
typedef enum afc__filled_by {
    AFC__FILLED_BY_NOTHING,
    AFC__FILLED_BY_RECEIVING,  /**< Its whole body was received. */
    AFC__FILLED_BY_CONFIRMING, /**< The server has validated it. */
    /** It is used although it is stale, as the server has failed (RFC 5861 section 4). */
    AFC__FILLED_BY_STALE
} afc__filled_by;

/** A stored response, identified by the number of its body. */
typedef struct afc__stored_body {
    afc__filled_by by;
    uint64_t content; /**< The number of the body, unless `by` is NOTHING. */
} afc__stored_body;

/** What the cache knows about the current or the next hop of a transfer. */
typedef struct afc__hop_cache {
    afc__hop_cache_state state;
    afc_http_cache *http_cache; /**< The session's. */
    afc__http_cache_wake wake;
    afc__buffer key;
    char identity[AFC__FINGERPRINT_SIZE];
    afc__http_cache_control request; /**< The request's directives (Cache-Control, Pragma). */
    int64_t request_time;            /**< When the hop began, in seconds since 1970. */

    /* For WAITING. These count also for the lookup that follows, until the cache is asked for another request. */
    afc__node waiter; /**< In the `waiters` of the other transfer. */
    unsigned waits;   /**< How often this transfer has waited. */
    /** This transfer takes the place of the one that it waited for, and hasn't asked the server yet. */
    bool is_next;

    afc__stored_body awaited; /**< What the other transfer has stored or validated meanwhile. */

    /* FINDING. */
    afc__http_cache_find *find;

    size_t seen_count; /**< Number of elements of `seen`. */

    /* The response that was found. */
    afc__http_cache_stored *stored;
    afc_head head;       /**< The stored head, or, after a 304, the updated one. */
    afc__fields updated; /**< The fields of an updated `head`. */
    afc__http_cache_control control;
    afc__freshness freshness;
    int64_t response_time;
    uint64_t content; /**< The number of the stored body. */
    /** VALIDATING, COMPLETING: fields that are added to the request. */
    afc_header conditions[AFC__CONDITIONS_MAX];
    size_t condition_count;

    /* COLLECTING, COMPLETING. */
    afc__buffer part; /**< The bytes of the stored beginning. */
    char range_text[AFC__REST_RANGE_SIZE];

    /* For REPLAYING; prepared in OPENING. */
    afc__cached_response response;
    afc_http_cache_use use;
    afc__byte_range range; /**< The part of the representation that the request asks for. */
    afc__http_cache_reader *reader;
    afc_slice piece; /**< The rest of the bytes that were read last. */
    int64_t left;    /**< Bytes of the body left to pass on; negative if all. */
    int64_t passed;
    bool has_head; /**< REPLAYING: the head was passed on. */
    bool has_end;  /**< The reader has no more pieces. */
    /** The response is stale, and must be validated in the background once REPLAYING begins. */
    bool wants_validation;

    /* PASSING, VALIDATING. */
    afc__http_cache_writing *writing;
    uint64_t written;
    afc__node fill;    /**< In the session's fills; zeroed if the response won't be stored. */
    afc__list waiters; /**< The `waiter` nodes of transfers that want the same response. */
    /**
     * The cache's state when the hop began. If what is stored for the key was removed since, this hop's response isn't
     * stored.
     */
    afc__http_cache_mark mark;
    const char *not_stored; /**< Why the response isn't stored, a static string; or NULL. */
    afc__stored_body done;  /**< What this hop has stored or validated, for the waiters. */

    /* The members below aren't zeroed. */
    char key_storage[AFC__HOP_CACHE_KEY_SIZE];
    /** What was stored for this request at the lookup, used or not. A later response replaces all of them. */
    afc__http_cache_seen seen[AFC__HTTP_CACHE_VARIANTS_MAX];
} afc__hop_cache;

/** Makes the hop cache of a transfer whose session has a cache. Returns NULL when out of memory. */
afc__hop_cache *afc__transfer_make_hop_cache(afc__transfer *transfer);

/**
 * Makes the waiting transfers continue; call it when the transfer has ended. If it ended by a cancellation or a limit
 * of its own, which doesn't concern the others, the first one that waits takes its place, and the others wait for that
 * one. Otherwise all of them look into the cache again.
 */
void afc__transfer_release_waiters(afc__transfer *transfer);

/** Makes the waiting transfers look into the cache again, when the response was stored or won't be. */
void afc__hop_cache_release_waiters(afc__hop_cache *cache);

/** Returns the list of fills that has those with this transfer's key, among others. */
afc__list *afc__transfer_cache_fills(const afc__transfer *transfer);

/** Returns another transfer of the session that is asking the server for the same URL, or NULL. */
afc__hop_cache *afc__transfer_cache_find_fill(const afc__transfer *transfer);

/**
 * Writes the fingerprint of the credentials that the request sends or would send; an empty string without any. Returns
 * false when out of memory.
 */
bool afc__transfer_cache_identify(const afc__transfer *transfer, char out[AFC__FINGERPRINT_SIZE]);

/** Returns the parts of the request that Vary can select by. */
afc__http_cache_request afc__transfer_cache_request(const afc__transfer *transfer);

/** Returns whether the URL of the request has a query. */
static inline bool afc__transfer_cache_has_query(const afc__transfer *transfer) {
    return transfer->request.url.query.bytes != NULL;
}

/** Returns what http_cache/rules/reuse.h must know to decide about the stored response. */
afc__reuse_question afc__transfer_cache_question(const afc__transfer *transfer);

/** Returns the head that the hop has received. */
static inline const afc_head *afc__hop_cache_received(const afc__transfer *transfer) {
    return &transfer->hop.reader->head;
}

/** Returns whether what is stored for the key wasn't removed or changed since the lookup. */
bool afc__hop_cache_is_current(const afc__hop_cache *cache);

/** Returns why this hop's response may not be stored, whatever its fields are; NULL if its fields decide. */
const char *afc__hop_cache_why_not_kept(const afc__transfer *transfer);

/** Appends the fields of the request that select a response with this head (Vary), whose directives are `control`. */
afc_status afc__hop_cache_add_selecting(const afc__transfer *transfer, afc__fields *out,
                                        const afc_head *head,
                                        const afc__http_cache_control *control);

/** Begins to store the response whose head was received, if HTTP and on_cache allow it. */
void afc__hop_cache_begin_fill(afc__transfer *transfer);

/** Sets the members that depend on the stored head. `head` must live as long as they are used. */
void afc__transfer_cache_set_head(afc__transfer *transfer, const afc_head *head,
                                  int64_t request_time, int64_t response_time);

/** Does the same for a stored response. */
void afc__transfer_cache_set_stored(afc__transfer *transfer, afc__http_cache_stored *stored);

/** Enters a state, which the one before must allow; see transfer/caching/state.h. */
void afc__hop_cache_enter(afc__hop_cache *cache, afc__hop_cache_state state);

/** Releases the stored response that was found, and its reader. */
void afc__hop_cache_release_stored(afc__hop_cache *cache);

/** Returns how the transfer that this one waited for has made the stored response usable. */
static inline afc__filled_by afc__hop_cache_awaited_by(const afc__hop_cache *cache) {
    bool is_awaited = cache->awaited.content == cache->content;
    return is_awaited ? cache->awaited.by : AFC__FILLED_BY_NOTHING;
}

/** Returns the age of the stored response in seconds (RFC 9111 section 4.2.3). */
static inline int64_t afc__hop_cache_age(const afc__hop_cache *cache, int64_t now) {
    return afc__current_age(&cache->freshness, cache->response_time, now);
}

#endif
