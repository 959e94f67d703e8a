/* What the files of this folder share: the state of a transfer's cache, and what a stored head says. */
#include "transfer/caching/hop_cache_internal.h"

#include "base/freelist.h"
#include "base/text.h"
#include "http_cache/memory/key.h"
#include "transfer/caching/fills.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/** With a cache, a busy program needs one for each request. */
static afc__freelist freelist = AFC__FREELIST_INIT(sizeof(afc__hop_cache), AFC__RESULTS_KEPT);

/* ---- Making -------------------------------------------------------------------------------- */

afc__hop_cache *afc__transfer_make_hop_cache(afc__transfer *transfer) {
    afc__hop_cache *cache = afc__freelist_take(&freelist);
    if (cache == NULL) return NULL;
    memset(cache, 0, offsetof(afc__hop_cache, key_storage));
    cache->http_cache = transfer->stores->http_cache;
    afc__storage key = {cache->key_storage, sizeof cache->key_storage};
    afc__buffer_init(&cache->key, AFC__HTTP_CACHE_KEY_MAX);
    afc__buffer_use_storage(&cache->key, key);
    afc__buffer_init(&cache->part, AFC__HOP_CACHE_COMPLETED_MAX);
    afc__list_init(&cache->waiters);
    transfer->hop_cache = cache;
    return cache;
}

void afc__hop_cache_free_kept(void) {
    afc__freelist_empty(&freelist);
}

void afc__hop_cache_enter(afc__hop_cache *cache, afc__hop_cache_state state) {
    assert(afc__hop_cache_may_enter(cache->state, state));
    cache->state = state;
}

/* ---- Forgetting ---------------------------------------------------------------------------- */

void afc__hop_cache_release_stored(afc__hop_cache *cache) {
    afc__http_cache_reader_close(cache->reader);
    cache->reader = NULL;
    cache->piece = (afc_slice){NULL, 0};
    afc__http_cache_stored_release(cache->stored);
    cache->stored = NULL;
    afc__fields_clear(&cache->updated);
    afc__buffer_clear(&cache->part);
    cache->condition_count = 0;
    cache->has_head = cache->has_end = false;
    cache->passed = 0;
}

void afc__hop_cache_release_waiters(afc__hop_cache *cache) {
    afc__node *node;
    afc__list_remove(&cache->fill);
    cache->is_next = false;
    while ((node = afc__list_first(&cache->waiters)) != NULL) {
        afc__hop_cache *waiter = AFC__OWNER(node, afc__hop_cache, waiter);
        afc__list_remove(node);
        waiter->awaited = cache->done;
        afc__hop_cache_enter(waiter, AFC__HOP_CACHE_NEW);
        waiter->wake.wake(waiter->wake.context);
    }
}

/** Returns whether the failure is the transfer's own, and so tells nothing about the response that others wait for. */
static bool has_ended_by_itself(const afc_failure *failure) {
    return failure->status == AFC_ECANCELED || failure->status == AFC_ETOOBIG ||
           (failure->status == AFC_ETIMEOUT && failure->timeout == AFC_TIMEOUT_TOTAL);
}

afc__list *afc__transfer_cache_fills(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    uint64_t hash = afc__http_cache_hash_key(cache->http_cache, afc__buffer_slice(&cache->key));
    return afc__fills_with(transfer->stores->fills, hash);
}

static void pass_on_waiters(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__node *node = afc__list_first(&cache->waiters);
    afc__list_remove(&cache->fill);
    cache->is_next = false;
    if (node == NULL) return;
    afc__hop_cache *next = AFC__OWNER(node, afc__hop_cache, waiter);
    afc__list_remove(node);
    while ((node = afc__list_first(&cache->waiters)) != NULL) {
        afc__list_remove(node);
        afc__list_append(&next->waiters, node);
    }
    /* Other transfers find it there at once, although it looks into the cache first. */
    afc__list_append(afc__transfer_cache_fills(transfer), &next->fill);
    next->is_next = true;
    afc__hop_cache_enter(next, AFC__HOP_CACHE_NEW);
    next->wake.wake(next->wake.context);
}

void afc__transfer_release_waiters(afc__transfer *transfer) {
    const afc_result *result = transfer->result;
    bool passes_on = transfer->hop_cache->is_next ||
                     (result != NULL && has_ended_by_itself(&result->failure));
    if (passes_on) {
        pass_on_waiters(transfer);
    } else {
        afc__hop_cache_release_waiters(transfer->hop_cache);
    }
}

static bool is_same_key(const afc__hop_cache *a, const afc__hop_cache *b) {
    return afc__is_same(afc__buffer_slice(&a->key), afc__buffer_slice(&b->key));
}

afc__hop_cache *afc__transfer_cache_find_fill(const afc__transfer *transfer) {
    const afc__list *fills = afc__transfer_cache_fills(transfer);
    for (afc__node *node = fills->head.next; node != &fills->head; node = node->next) {
        afc__hop_cache *other = AFC__OWNER(node, afc__hop_cache, fill);
        if (other != transfer->hop_cache && is_same_key(other, transfer->hop_cache)) return other;
    }
    return NULL;
}

void afc__transfer_forget_hop_cache(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL) return;
    afc__transfer_release_waiters(transfer);
    if (cache->state == AFC__HOP_CACHE_WAITING) {
        /* Calls the wake, which releases the reference that was taken for it. */
        afc__list_remove(&cache->waiter);
        cache->wake.wake(cache->wake.context);
    }
    cache->waits = 0;
    cache->awaited = cache->done = (afc__stored_body){0};
    afc__http_cache_find_free(cache->find);
    cache->find = NULL;
    afc__hop_cache_release_stored(cache);
    afc__http_cache_abandon(cache->writing);
    cache->writing = NULL;
    cache->not_stored = NULL;
    cache->seen_count = 0;
    cache->wants_validation = false;
    cache->use = AFC_CACHE_USE_UNUSED;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_NEW);
}

void afc__transfer_clear_hop_cache(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL) return;
    afc__transfer_forget_hop_cache(transfer);
    afc__buffer_clear(&cache->key);
    afc__freelist_give(&freelist, cache);
    transfer->hop_cache = NULL;
}

/* ---- What is asked, and what is stored ------------------------------------------------------ */

afc__http_cache_request afc__transfer_cache_request(const afc__transfer *transfer) {
    bool decodes = transfer->coding == AFC__CODING_DECODED;
    return (afc__http_cache_request){
        .headers = transfer->request.headers,
        .header_count = transfer->request.header_count,
        .cookies = transfer->hop.cookies,
        .user_agent = transfer->stores->user_agent,
        .accept_encoding = decodes ? transfer->stores->accept_encoding : "identity",
        .identity = transfer->hop_cache->identity,
        .trust = transfer->request.url.is_https ? transfer->stores->trust : NULL,
    };
}

void afc__transfer_cache_set_head(afc__transfer *transfer, const afc_head *head,
                                  int64_t request_time, int64_t response_time) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->head = *head;
    cache->response_time = response_time;
    afc__response_control_read(&cache->control, head->headers, head->header_count);
    afc__freshness_question question = {head, &cache->control, request_time, response_time,
                                        afc__transfer_cache_has_query(transfer)};
    cache->freshness = afc__freshness_of(&question);
}

void afc__transfer_cache_set_stored(afc__transfer *transfer, afc__http_cache_stored *stored) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_terms storage;
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored);
    const afc__http_cache_terms *terms = afc__http_cache_stored_terms(stored, &storage);
    cache->head = meta->head;
    cache->response_time = meta->response_time;
    cache->content = afc__http_cache_stored_id(stored).content;
    cache->control = terms->control;
    cache->freshness = terms->freshness;
}

/**
 * Returns the cache policy of the request. A response that another transfer has received or validated while this one
 * waited needs no validation. A reload requires that it was received.
 */
static afc_http_cache_policy policy_of(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    afc_http_cache_policy policy = transfer->cache_policy;
    afc__filled_by by = afc__hop_cache_awaited_by(cache);
    bool is_received = by == AFC__FILLED_BY_RECEIVING;
    bool is_valid = is_received || by == AFC__FILLED_BY_CONFIRMING;
    bool is_new = (policy == AFC_HTTP_CACHE_REVALIDATE && is_valid) ||
                  (policy == AFC_HTTP_CACHE_RELOAD && is_received);
    return is_new ? AFC_HTTP_CACHE_PROTOCOL : policy;
}

afc__reuse_question afc__transfer_cache_question(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    return (afc__reuse_question){
        .request = &cache->request,
        .response = &cache->control,
        .freshness = &cache->freshness,
        .age = afc__hop_cache_age(cache, (int64_t)time(NULL)),
        .policy = policy_of(transfer),
    };
}

/* ---- The hop ------------------------------------------------------------------------------- */

/** Returns whether the URL is still that of the lookup: HSTS may have upgraded it since. */
static bool has_key_of_url(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    afc_slice key = afc__buffer_slice(&cache->key);
    return afc__is_same(afc__http_cache_key_url(key), afc_slice_of(transfer->request.url.text));
}

void afc__transfer_cache_begin_hop(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL) return;
    cache->request_time = (int64_t)time(NULL);
    if (cache->key.size == 0) return;
    if (has_key_of_url(transfer)) {
        afc_slice key = afc__buffer_slice(&cache->key);
        cache->mark = afc__http_cache_take_mark(cache->http_cache, key);
        return;
    }
    afc__transfer_forget_hop_cache(transfer);
    cache->key.size = 0;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_IGNORED);
}

bool afc__transfer_takes_validation(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    bool wants = cache != NULL && cache->wants_validation;
    if (wants) cache->wants_validation = false;
    return wants;
}

const afc_header *afc__transfer_conditions(const afc__transfer *transfer, size_t *count) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool has_some = cache != NULL && (cache->state == AFC__HOP_CACHE_VALIDATING ||
                                      cache->state == AFC__HOP_CACHE_COMPLETING);
    *count = has_some ? cache->condition_count : 0;
    return has_some ? cache->conditions : NULL;
}

bool afc__transfer_is_replaying(const afc__transfer *transfer) {
    return transfer->hop_cache != NULL && transfer->hop_cache->state == AFC__HOP_CACHE_REPLAYING;
}

bool afc__transfer_stores_body(const afc__transfer *transfer) {
    return transfer->hop_cache != NULL && transfer->hop_cache->writing != NULL;
}

afc_http_cache_use afc__transfer_cache_use(const afc__transfer *transfer) {
    bool is_stored = afc__transfer_is_replaying(transfer);
    return is_stored ? transfer->hop_cache->use : AFC_CACHE_USE_UNUSED;
}

void afc__transfer_record_cache(const afc__transfer *transfer, afc_hop *hop) {
    const afc__hop_cache *cache = transfer->hop_cache;
    hop->cache = afc__transfer_cache_use(transfer);
    transfer->result->not_stored = cache != NULL ? cache->not_stored : NULL;
}
