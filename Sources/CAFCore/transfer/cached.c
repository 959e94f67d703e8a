/* What the files of the cache share: the state of a transfer's cache, and what a stored head says. */
#include "transfer/cached.h"

#include "base/freelist.h"
#include "base/text.h"
#include "http_cache/key.h"

#include <string.h>
#include <time.h>

/** With a cache, a busy program makes one for each request. */
static afc__freelist freelist = AFC__FREELIST_INIT(sizeof(afc__cached), AFC__RESULT_SPARES);

/* ---- Making -------------------------------------------------------------------------------- */

afc__cached *afc__transfer_make_cached(afc__transfer *transfer) {
    afc__cached *cached = afc__freelist_take(&freelist);
    if (cached == NULL) return NULL;
    memset(cached, 0, offsetof(afc__cached, key_room));
    cached->cache = transfer->store->http_cache;
    afc__storage key = {cached->key_room, sizeof cached->key_room};
    afc__buffer_init(&cached->key, AFC__CACHE_LONGEST_KEY);
    afc__buffer_use_storage(&cached->key, key);
    afc__buffer_init(&cached->part, AFC__CACHED_MOST_COMPLETED);
    afc__list_init(&cached->waiters);
    transfer->cached = cached;
    return cached;
}

void afc__cached_free_kept(void) {
    afc__freelist_empty(&freelist);
}

/* ---- Forgetting ---------------------------------------------------------------------------- */

void afc__cached_release_stored(afc__cached *cached) {
    afc__cache_reader_close(cached->reader);
    cached->reader = NULL;
    cached->piece = (afc_slice){NULL, 0};
    afc__cache_stored_release(cached->stored);
    cached->stored = NULL;
    afc__fields_clear(&cached->updated);
    afc__buffer_clear(&cached->part);
    cached->condition_count = 0;
    cached->has_head = cached->has_end = false;
    cached->passed = 0;
}

void afc__cached_release_waiters(afc__cached *cached) {
    afc__node *node;
    afc__list_remove(&cached->fill);
    while ((node = afc__list_first(&cached->waiters)) != NULL) {
        afc__cached *waiter = AFC__OWNER(node, afc__cached, waiter);
        afc__list_remove(node);
        waiter->state = AFC__CACHED_NEW;
        waiter->wake.wake(waiter->wake.context);
    }
}

static bool is_same_key(const afc__cached *a, const afc__cached *b) {
    return afc__is_same((afc_slice){a->key.bytes, a->key.size},
                        (afc_slice){b->key.bytes, b->key.size});
}

afc__cached *afc__cached_find_fill(const afc__transfer *transfer) {
    const afc__list *fills = transfer->store->fills;
    for (afc__node *node = fills->head.next; node != &fills->head; node = node->next) {
        afc__cached *other = AFC__OWNER(node, afc__cached, fill);
        if (other != transfer->cached && is_same_key(other, transfer->cached)) return other;
    }
    return NULL;
}

void afc__transfer_forget_cached(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    if (cached == NULL) return;
    afc__cached_release_waiters(cached);
    if (cached->state == AFC__CACHED_WAITING) {
        /* The reference that waits for the wake is given back. */
        afc__list_remove(&cached->waiter);
        cached->wake.wake(cached->wake.context);
    }
    cached->has_waited = false;
    afc__cache_find_free(cached->find);
    cached->find = NULL;
    afc__cached_release_stored(cached);
    afc__cache_abandon(cached->writing);
    cached->writing = NULL;
    cached->not_stored = NULL;
    cached->wants_validation = false;
    cached->use = AFC_CACHE_UNUSED;
    cached->state = AFC__CACHED_NEW;
}

void afc__transfer_clear_cached(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    if (cached == NULL) return;
    afc__transfer_forget_cached(transfer);
    afc__buffer_clear(&cached->key);
    afc__freelist_give(&freelist, cached);
    transfer->cached = NULL;
}

/* ---- What is asked, and what is stored ------------------------------------------------------ */

afc__cache_request afc__cached_request(const afc__transfer *transfer) {
    bool decodes = transfer->coding == AFC__CODING_DECODED;
    return (afc__cache_request){
        .headers = transfer->request.headers,
        .header_count = transfer->request.header_count,
        .cookies = transfer->hop.cookies,
        .user_agent = transfer->store->user_agent,
        .accept_encoding = decodes ? transfer->store->accept_encoding : "identity",
        .identity = transfer->cached->identity,
    };
}

void afc__cached_set_head(afc__transfer *transfer, const afc_head *head, int64_t request_time,
                          int64_t response_time) {
    afc__cached *cached = transfer->cached;
    cached->head = *head;
    cached->response_time = response_time;
    afc__cache_control_read(&cached->control, head->headers, head->header_count, false);
    afc__freshness_question question = {head, &cached->control, request_time, response_time,
                                        afc__cached_has_query(transfer)};
    cached->freshness = afc__freshness_of(&question);
}

void afc__cached_set_stored(afc__transfer *transfer, afc__cache_stored *stored) {
    afc__cached *cached = transfer->cached;
    afc__cache_terms room;
    const afc__cache_meta *meta = afc__cache_stored_meta(stored);
    const afc__cache_terms *terms = afc__cache_stored_terms(stored, &room);
    cached->head = meta->head;
    cached->response_time = meta->response_time;
    cached->control = terms->control;
    cached->freshness = terms->freshness;
}

afc__reuse_question afc__cached_question(const afc__transfer *transfer) {
    const afc__cached *cached = transfer->cached;
    return (afc__reuse_question){
        .request = &cached->request,
        .response = &cached->control,
        .freshness = &cached->freshness,
        .age = afc__cached_age(cached, (int64_t)time(NULL)),
        /* What another transfer has just received needs no validation. */
        .policy = transfer->cache_policy == AFC_CACHE_REVALIDATE && cached->has_waited
                      ? AFC_CACHE_PROTOCOL
                      : transfer->cache_policy,
    };
}

/* ---- The hop ------------------------------------------------------------------------------- */

/** Returns whether the URL is still that of the lookup. HSTS may have upgraded it since. */
static bool has_key_of_url(const afc__transfer *transfer) {
    const afc__cached *cached = transfer->cached;
    afc_slice key = {cached->key.bytes, cached->key.size};
    return afc__is_same(afc__cache_key_url(key), afc_slice_of(transfer->request.url.text));
}

void afc__transfer_cached_begin_hop(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    if (cached == NULL) return;
    cached->request_time = (int64_t)time(NULL);
    cached->is_outdated = false;
    if (cached->key.size == 0 || has_key_of_url(transfer)) return;
    afc__transfer_forget_cached(transfer);
    cached->key.size = 0;
    cached->state = AFC__CACHED_IGNORED;
}

bool afc__transfer_takes_validation(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    bool wants = cached != NULL && cached->wants_validation;
    if (wants) cached->wants_validation = false;
    return wants;
}
