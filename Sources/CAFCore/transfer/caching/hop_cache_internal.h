/** What the files of the cache share: its members for a transfer. */
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
    /** Longest part that is completed, in bytes: it is in memory while the server is asked for the rest. */
    AFC__HOP_CACHE_COMPLETED_MAX = 1024 * 1024,
    /** How often a transfer waits for others: what the first one stores may fit another request only, by Vary. */
    AFC__HOP_CACHE_WAITS_MAX = 3,
    /** Longest key that needs no memory of its own, in bytes. */
    AFC__HOP_CACHE_KEY_SIZE = 128
};

/** What a transfer has made of a stored response, for those that wait for it. */
typedef enum afc__filled_by {
    AFC__FILLED_BY_NOTHING,
    AFC__FILLED_BY_RECEIVING,  /**< All of its body was received. */
    AFC__FILLED_BY_CONFIRMING, /**< The server has said that it is valid. */
    AFC__FILLED_BY_STALE /**< It is used as it is, though stale: the server has failed (RFC 5861 4). */
} afc__filled_by;

/** The body of a stored response. */
typedef struct afc__stored_body {
    afc__filled_by by;
    uint64_t content; /**< Its number, unless `by` is NOTHING. */
} afc__stored_body;

/** What the cache knows about the hop that is or will be under way. */
typedef struct afc__hop_cache {
    afc__hop_cache_state state;
    afc_http_cache *http_cache; /**< The session's. */
    afc__http_cache_wake wake;
    afc__buffer key;
    char identity[AFC__FINGERPRINT_SIZE];
    afc__http_cache_control request; /**< The request's directives. */
    int64_t request_time;            /**< When the hop began. */

    /* WAITING. Its flags count for the lookup that follows, until the cache is asked for another request. */
    afc__node waiter; /**< In `waiters` of the other transfer. */
    unsigned waits;   /**< How often it has waited. */
    /** It takes the place of the transfer that it waited for, and hasn't asked the server yet. */
    bool is_next;

    /** What the transfer that it waited for has stored or validated meanwhile. */
    afc__stored_body awaited;

    /* FINDING. */
    afc__http_cache_find *find;

    size_t seen_count; /**< In `seen`. */

    /* The response that was found. */
    afc__http_cache_stored *stored;
    afc_head head;       /**< The stored one, or, after a 304, that updated. */
    afc__fields updated; /**< The fields of the latter. */
    afc__http_cache_control control;
    afc__freshness freshness;
    int64_t response_time;
    uint64_t content;                           /**< The number of its body. */
    afc_header conditions[AFC__CONDITIONS_MAX]; /**< VALIDATING, COMPLETING: sent with it. */
    size_t condition_count;

    /* COLLECTING, COMPLETING. */
    afc__buffer part; /**< The bytes of the stored part. */
    char range_text[AFC__REST_RANGE_SIZE];

    /* OPENING makes it ready; REPLAYING. */
    afc__cached_response response;
    afc_http_cache_use use;
    afc__byte_range range; /**< The part of the representation that is asked for. */
    afc__http_cache_reader *reader;
    afc_slice piece; /**< The rest of what was read last. */
    int64_t left;    /**< Bytes of the body to pass on; negative: all. */
    int64_t passed;
    bool has_head; /**< REPLAYING: the head was passed on. */
    bool has_end;  /**< The reader has no more pieces. */
    /** The response is stale, and is to be validated in the background once REPLAYING begins. */
    bool wants_validation;

    /* PASSING, VALIDATING. */
    afc__http_cache_writing *writing;
    uint64_t written;
    afc__node fill;    /**< In the session's fills; zeroed: its response won't be stored. */
    afc__list waiters; /**< That want the same response. */
    /** When the hop began. Of what was removed since, an older response isn't stored. */
    afc__http_cache_mark mark;
    const char *not_stored; /**< Why the response isn't stored. Static. */
    afc__stored_body done;  /**< What the response has stored or validated. */

    /* These aren't zeroed. */
    char key_storage[AFC__HOP_CACHE_KEY_SIZE];
    /** What was stored for such a request at the lookup, used or not. A later response replaces all of it. */
    afc__http_cache_seen seen[AFC__HTTP_CACHE_VARIANTS_MAX];
} afc__hop_cache;

/** Makes the hop cache of a transfer whose session has a cache. NULL: out of memory. */
afc__hop_cache *afc__transfer_make_hop_cache(afc__transfer *transfer);

/**
 * Call it when the transfer has ended. If that was its own doing, by a cancellation or a limit, the first of those that
 * wait takes its place and the others wait for that one. Otherwise all look again.
 */
void afc__transfer_release_waiters(afc__transfer *transfer);

/** Lets those look again that wait for the response, whether it was stored or won't be. */
void afc__hop_cache_release_waiters(afc__hop_cache *cache);

/** Returns the list where those with the key of this one are, among a few others. */
afc__list *afc__transfer_cache_fills(const afc__transfer *transfer);

/** Returns another transfer of the session that asks the server for the same URL. NULL: none. */
afc__hop_cache *afc__transfer_cache_find_fill(const afc__transfer *transfer);

/**
 * Writes whose request it is: the fingerprint of the credentials that it sends or would send; empty without any. false:
 * out of memory.
 */
bool afc__transfer_cache_identify(const afc__transfer *transfer, char out[AFC__FINGERPRINT_SIZE]);

/** Returns the request as selecting fields see it. */
afc__http_cache_request afc__transfer_cache_request(const afc__transfer *transfer);

/** Returns whether the URL of the request has a query. */
static inline bool afc__transfer_cache_has_query(const afc__transfer *transfer) {
    return transfer->request.url.query.bytes != NULL;
}

afc__reuse_question afc__transfer_cache_question(const afc__transfer *transfer);

/** Returns the head that the hop has received. */
static inline const afc_head *afc__hop_cache_received(const afc__transfer *transfer) {
    return &transfer->hop.reader->head;
}

/** Returns whether what the lookup has seen wasn't removed or changed since. */
bool afc__hop_cache_is_current(const afc__hop_cache *cache);

/** Returns why this hop's response may not be stored, whatever its fields say; NULL if they decide. */
const char *afc__hop_cache_why_not_kept(const afc__transfer *transfer);

/** Appends the fields of the request that select a response with this head, whose directives are `control`. */
afc_status afc__hop_cache_add_selecting(const afc__transfer *transfer, afc__fields *out,
                                        const afc_head *head,
                                        const afc__http_cache_control *control);

/** Begins to store the response whose head was received, if HTTP and the caller allow it. */
void afc__hop_cache_begin_fill(afc__transfer *transfer);

/** Reads what the stored head says; `head` must live as long as it is used. */
void afc__transfer_cache_set_head(afc__transfer *transfer, const afc_head *head,
                                  int64_t request_time, int64_t response_time);

/** Takes over what a stored head says. */
void afc__transfer_cache_set_stored(afc__transfer *transfer, afc__http_cache_stored *stored);

/** Enters a state, which the one before must allow; see transfer/caching/state.h. */
void afc__hop_cache_enter(afc__hop_cache *cache, afc__hop_cache_state state);

void afc__hop_cache_release_stored(afc__hop_cache *cache);

/** Returns what the transfer that this one waited for has made of the stored response that was found. */
static inline afc__filled_by afc__hop_cache_awaited_by(const afc__hop_cache *cache) {
    bool is_awaited = cache->awaited.content == cache->content;
    return is_awaited ? cache->awaited.by : AFC__FILLED_BY_NOTHING;
}

static inline int64_t afc__hop_cache_age(const afc__hop_cache *cache, int64_t now) {
    return afc__current_age(&cache->freshness, cache->response_time, now);
}

#endif
