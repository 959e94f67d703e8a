/* Finds a stored response before a hop, and decides whether it is used, validated, completed, or not used. */
#include "http_cache/memory/key.h"
#include "http_cache/rules/identity.h"
#include "http_cache/rules/storability.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache_internal.h"
#include "transfer/cookies_hsts.h"
#include "transfer/transfer.h"

#include <string.h>
#include <time.h>

/* ---- The request --------------------------------------------------------------------------- */

/** Returns whether credentials are sent that replace the request's own field. */
static bool sends_credentials(const afc__transfer *transfer) {
    return afc__transfer_authorization(transfer) != NULL ||
           afc__transfer_authenticates_connection(transfer);
}

bool afc__transfer_cache_identify(const afc__transfer *transfer, char out[AFC__FINGERPRINT_SIZE]) {
    const afc__request_head *request = &transfer->request;
    afc__identity_question whose = {request->headers, request->header_count,
                                    afc__transfer_credentials(transfer),
                                    sends_credentials(transfer)};
    return afc__identity_of(out, &whose);
}

static bool make_key(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->key.size = 0;
    /* The key has A-labels, so that all spellings of a host have the same key. */
    if (afc__url_use_a_labels(&transfer->request.url, afc__transfer_to_ascii(transfer), NULL) !=
        AFC_OK) {
        return false;
    }
    return afc__http_cache_key_make(&cache->key, afc_slice_of(transfer->stores->cache_partition),
                                    afc_slice_of(transfer->request.url.text)) == AFC_OK;
}

/** Returns whether the URL doesn't identify the server: there may be a different one behind each Unix-domain socket. */
static bool is_elsewhere(const afc__transfer *transfer) {
    return transfer->unix_socket != NULL;
}

/**
 * Returns whether the cache is bypassed. A download that may be resumed keeps the bytes received so far in its own
 * file.
 */
static bool is_ignored(const afc__transfer *transfer) {
    const afc__request_head *request = &transfer->request;
    return transfer->cache_policy == AFC_HTTP_CACHE_BYPASS ||
           afc__sink_is_resumable(&transfer->sink) || is_elsewhere(transfer) ||
           request->sends_body ||
           (!afc__request_head_is(&transfer->request, "GET") &&
            !afc__request_head_is(&transfer->request, "HEAD")) ||
           afc__request_is_unkeyed(request->headers, request->header_count);
}

/* ---- Choosing ------------------------------------------------------------------------------ */

/** Returns whether the stored body has the form that the request needs, encoded or decoded. */
static bool fits_coding(const afc__transfer *transfer, afc__http_cache_stored *stored) {
    afc__http_cache_terms storage;
    bool is_decoded = (afc__http_cache_stored_meta(stored)->flags & AFC__META_DECODED) != 0;
    return is_decoded == (transfer->coding != AFC__CODING_KEPT) ||
           !afc__http_cache_stored_terms(stored, &storage)->is_encoded;
}

static bool is_whole(const afc__http_cache_stored *stored) {
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored);
    return meta->head.status != 206;
}

/**
 * Chooses the part of the stored body to pass on: sets `*is_part`, and `range` if the request asks for a part. Returns
 * false if the stored response can't be used for this request, whatever its age.
 */
static bool choose_part(afc__transfer *transfer, const afc__http_cache_stored *stored,
                        bool *is_part) {
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored);
    const afc__request_head *request = &transfer->request;
    int64_t size = (int64_t)afc__http_cache_stored_body_size(stored);
    int64_t total = is_whole(stored) ? size : meta->total;
    afc__byte_range *range = &transfer->hop_cache->range;
    *is_part = false;
    switch (afc__part_read(request->headers, request->header_count, total, range)) {
    case AFC__PART_ABSENT:
        return is_whole(stored);
    case AFC__PART_SATISFIABLE:
        break;
    case AFC__PART_UNSATISFIABLE:
    case AFC__PART_OTHER:
        return false;
    }
    bool is_alike = (meta->head.status == 200 || meta->head.status == 206) &&
                    (meta->flags & AFC__META_DECODED) == 0;
    bool is_within = range->first >= meta->range_start && range->last - meta->range_start < size;
    if (!is_alike || !is_within || afc__request_head_is(&transfer->request, "HEAD")) return false;
    *is_part = true;
    for (size_t i = 0; i < request->header_count; i++) {
        if (!afc__same_name(request->headers[i].name, "If-Range")) continue;
        *is_part = afc__if_range_allows(request->headers[i].value, &meta->head);
    }
    return *is_part || is_whole(stored);
}

/** How well a stored response fits the selecting fields of the request. */
typedef enum fit { FITS_NOT, FITS_BY_LANGUAGE, FITS_EXACTLY } fit;

static fit fit_of(const afc__transfer *transfer, afc__http_cache_stored *stored) {
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored);
    afc__http_cache_request request = afc__transfer_cache_request(transfer);
    const afc_header *selecting = meta->request_fields;
    size_t count = meta->request_field_count;
    /* What the program itself has stored needs no check of the trust policy. */
    bool is_trusted = (meta->flags & AFC__META_OF_PROGRAM) != 0 ||
                      afc__selecting_fields_match_trust(selecting, count, &request);
    if (!is_trusted || !fits_coding(transfer, stored)) return FITS_NOT;
    if (afc__selecting_fields_match(selecting, count, &request)) return FITS_EXACTLY;
    return afc__selecting_fields_match_language(selecting, count, &request, &meta->head)
               ? FITS_BY_LANGUAGE
               : FITS_NOT;
}

/* ---- Completing a part --------------------------------------------------------------------- */

static bool asks_for_whole(const afc__transfer *transfer) {
    const afc__request_head *request = &transfer->request;
    return afc__request_head_is(&transfer->request, "GET") &&
           !afc__has_conditions(request->headers, request->header_count) &&
           !afc__request_head_sends(request, afc_slice_of("Range")) &&
           !afc__request_head_sends(request, afc_slice_of("If-Range"));
}

static bool may_complete(afc__transfer *transfer, afc__http_cache_stored *stored) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(stored);
    uint64_t size = afc__http_cache_stored_body_size(stored);
    if (size > AFC__HOP_CACHE_COMPLETED_MAX || !afc__part_is_beginning(meta, size)) return false;
    if (fit_of(transfer, stored) != FITS_EXACTLY || !asks_for_whole(transfer)) return false;
    afc__transfer_cache_set_stored(transfer, stored);
    cache->condition_count = afc__rest_fields_write(cache->conditions, cache->range_text,
                                                    &cache->head, size);
    /* With If-Range the server checks whether the stored part is current. Without it, the part must be fresh. */
    afc__reuse_question question = afc__transfer_cache_question(transfer);
    afc__reuse reuse = afc__reuse_of(&question);
    return cache->condition_count == AFC__REST_FIELDS ? reuse != AFC__REUSE_NEVER
                                                      : reuse == AFC__REUSE_FRESH;
}

/* ---- Using a response ---------------------------------------------------------------------- */

/** Sends the request and enters `state`, or waits if another transfer is asking for the same response. */
static afc__cache_next send_or_wait(afc__transfer *transfer, afc__hop_cache_state state) {
    afc__hop_cache *cache = transfer->hop_cache;
    /* Waits again only if the last response was one that others can use. */
    bool is_useful = cache->waits == 0 || cache->awaited.by != AFC__FILLED_BY_NOTHING;
    /* A transfer that others may wait for doesn't wait itself, so that no two wait for each other. */
    bool is_fill = cache->fill.next != NULL;
    bool may_wait = transfer->collapses && !is_fill && is_useful &&
                    cache->waits < AFC__HOP_CACHE_WAITS_MAX;
    afc__hop_cache *other = may_wait ? afc__transfer_cache_find_fill(transfer) : NULL;
    if (other != NULL) {
        afc__hop_cache_release_stored(cache);
        afc__list_append(&other->waiters, &cache->waiter);
        cache->waits++;
        afc__hop_cache_enter(cache, AFC__HOP_CACHE_WAITING);
        return AFC__CACHE_NEXT_WAIT;
    }
    afc__hop_cache_enter(cache, state);
    if (!afc__request_head_is(&transfer->request, "GET")) {
        /* The response to HEAD has no body for those that waited for the transfer whose place this one took. */
        afc__hop_cache_release_waiters(cache);
    } else if (!is_fill) {
        afc__list_append(afc__transfer_cache_fills(transfer), &cache->fill);
    }
    cache->is_next = false;
    if (state != AFC__HOP_CACHE_VALIDATING)
        afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_MISS);
    return AFC__CACHE_NEXT_SEND;
}

/** Makes the response a 504 of our own, as nothing is stored and the server may not be asked (only-if-cached). */
static afc__cache_next use_gateway_timeout(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (!afc__transfer_reset_hop(transfer)) return AFC__CACHE_NEXT_FAIL;
    cache->response = (afc__cached_response){.kind = AFC__CACHED_RESPONSE_MISSING};
    cache->use = AFC_CACHE_USE_MISSING;
    cache->left = 0;
    cache->has_end = true;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_REPLAYING);
    afc__hop_cache_release_waiters(cache);
    return AFC__CACHE_NEXT_REPLAY;
}

/** Continues without a stored response, as none may be used. */
static afc__cache_next miss(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__hop_cache_release_stored(cache);
    cache->use = AFC_CACHE_USE_UNUSED;
    cache->wants_validation = false;
    return afc__reuse_is_local(&cache->request, transfer->cache_policy)
               ? use_gateway_timeout(transfer)
               : send_or_wait(transfer, AFC__HOP_CACHE_PASSING);
}

/** Opens the body of the chosen response. Returns false if it can't be read. */
static bool open_stored(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(cache->stored);
    uint64_t offset = 0;
    int64_t size = (int64_t)afc__http_cache_stored_body_size(cache->stored);
    cache->left = size;
    cache->response.head = &cache->head;
    if (cache->response.range != NULL) {
        cache->response.total = is_whole(cache->stored) ? size : meta->total;
        offset = (uint64_t)(cache->range.first - meta->range_start);
        cache->left = cache->range.last - cache->range.first + 1;
    }
    if (afc__request_head_is(&transfer->request, "HEAD") || cache->response.is_not_modified)
        cache->left = 0;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_OPENING);
    if (cache->left == 0) return true;
    cache->reader = afc__http_cache_reader_open(cache->http_cache, cache->stored, offset,
                                                cache->wake);
    return cache->reader != NULL;
}

/** Reads the first piece before the head is passed on, so that a response whose file is gone counts as a miss. */
static afc__cache_next read_first(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_step step = cache->left == 0
                                    ? AFC__HTTP_CACHE_END
                                    : afc__http_cache_read(cache->reader, &cache->piece);
    if (step == AFC__HTTP_CACHE_PENDING) return AFC__CACHE_NEXT_WAIT;
    if (step == AFC__HTTP_CACHE_BROKEN) return miss(transfer);
    cache->has_end = step == AFC__HTTP_CACHE_END;
    int64_t now = (int64_t)time(NULL);
    cache->response.age = afc__hop_cache_age(cache, now);
    cache->response.lifetime = cache->freshness.lifetime;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_REPLAYING);
    afc__hop_cache_release_waiters(cache);
    afc__http_cache_touch(cache->http_cache, cache->stored);
    return AFC__CACHE_NEXT_REPLAY;
}

/** Reads all of the part into memory, as it may be evicted meanwhile, and then asks the server for the rest. */
static afc__cache_next collect(afc__transfer *transfer) {
    afc_slice piece;
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_step step = AFC__HTTP_CACHE_BROKEN;
    if (cache->reader != NULL) step = afc__http_cache_read(cache->reader, &piece);
    while (step == AFC__HTTP_CACHE_READY) {
        if (afc__buffer_append(&cache->part, piece.bytes, piece.size) != AFC_OK) {
            return miss(transfer);
        }
        step = afc__http_cache_read(cache->reader, &piece);
    }
    if (step == AFC__HTTP_CACHE_PENDING) return AFC__CACHE_NEXT_WAIT;
    afc__http_cache_reader_close(cache->reader);
    cache->reader = NULL;
    bool is_whole_part = step == AFC__HTTP_CACHE_END &&
                         cache->part.size == afc__http_cache_stored_body_size(cache->stored);
    return is_whole_part ? send_or_wait(transfer, AFC__HOP_CACHE_COMPLETING) : miss(transfer);
}

static afc__cache_next begin_collecting(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_COLLECTING);
    cache->reader = afc__http_cache_reader_open(cache->http_cache, cache->stored, 0, cache->wake);
    return collect(transfer);
}

static afc__cache_next use_stored(afc__transfer *transfer, afc_http_cache_use use) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->use = use;
    cache->response.kind = use == AFC_CACHE_USE_VALIDATED ? AFC__CACHED_RESPONSE_VALIDATED
                                                          : AFC__CACHED_RESPONSE_HIT;
    return open_stored(transfer) ? read_first(transfer) : miss(transfer);
}

static afc__cache_next validate(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__request_head *request = &transfer->request;
    if (afc__reuse_is_local(&cache->request, transfer->cache_policy)) return miss(transfer);
    /* If the request has conditions of its own, none are added: the server decides about those. */
    bool has_own = afc__has_conditions(request->headers, request->header_count);
    cache->condition_count = has_own ? 0 : afc__conditions_write(cache->conditions, &cache->head);
    return send_or_wait(transfer, AFC__HOP_CACHE_VALIDATING);
}

/**
 * Returns whether the stored response can be validated without its task: only if the request needs no credentials, no
 * on_cache callback and no proxy of its own.
 */
static bool may_validate_alone(const afc__transfer *transfer) {
    return transfer->auth == NULL && transfer->events.on_cache == NULL && !transfer->has_own_proxy;
}

static bool has_been_at(const afc__transfer *transfer, const char *url) {
    const afc_result *result = transfer->result;
    if (strcmp(url, transfer->request.url.text) == 0) return true;
    for (size_t i = 0; i < result->hop_count; i++) {
        if (strcmp(url, result->hops[i].url) == 0) return true;
    }
    return false;
}

/**
 * Returns whether a stored redirect leads to a URL that the task has requested before, or to its own. The server may
 * redirect each client once, to set a cookie or after a login: without the server, the stored redirects would be
 * followed until their limit.
 */
static bool leads_back(const afc__transfer *transfer) {
    const afc_head *head = &transfer->hop_cache->head;
    afc__url target;
    const afc_header *location = afc_head_find(head, "Location");
    bool is_followed = location != NULL && head->status >= 300 && head->status <= 399 &&
                       transfer->limits.redirects >= 0;
    if (!is_followed ||
        afc__url_resolve(&target, &transfer->request.url, location->value, NULL) != AFC_OK) {
        return false;
    }
    bool is_known = afc__url_use_a_labels(&target, afc__transfer_to_ascii(transfer), NULL) ==
                        AFC_OK &&
                    has_been_at(transfer, target.text);
    afc__url_clear(&target);
    return is_known;
}

/** Decides whether the chosen response, which fits the request, is used, validated or not used. */
static afc__cache_next consider(afc__transfer *transfer, bool is_part) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__request_head *request = &transfer->request;
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(cache->stored);
    afc__transfer_cache_set_stored(transfer, cache->stored);
    afc__condition condition = afc__condition_of(request->headers, request->header_count,
                                                 &cache->head, cache->response_time);
    bool is_not_modified = condition == AFC__CONDITION_NOT_MODIFIED && meta->head.status == 200;
    /* Range is only evaluated if the conditions are met (RFC 9110 section 13.2.2). */
    cache->response = (afc__cached_response){.is_not_modified = is_not_modified,
                                             .range = is_part && !is_not_modified ? &cache->range
                                                                                  : NULL};
    afc__reuse_question question = afc__transfer_cache_question(transfer);
    bool may_ask = !afc__reuse_is_local(&cache->request, transfer->cache_policy);
    afc__reuse reuse = condition == AFC__CONDITION_OTHER ? AFC__REUSE_NEVER
                                                         : afc__reuse_of(&question);
    if (afc__hop_cache_awaited_by(cache) == AFC__FILLED_BY_STALE &&
        reuse == AFC__REUSE_AFTER_VALIDATING && afc__reuse_on_error(&question))
        reuse = AFC__REUSE_STALE;
    bool is_validated = (reuse == AFC__REUSE_WHILE_VALIDATING && !may_validate_alone(transfer)) ||
                        (reuse != AFC__REUSE_NEVER && may_ask && leads_back(transfer));
    if (is_validated) reuse = AFC__REUSE_AFTER_VALIDATING;
    switch (reuse) {
    case AFC__REUSE_FRESH:
        return use_stored(transfer, AFC_CACHE_USE_HIT);
    case AFC__REUSE_WHILE_VALIDATING:
        cache->wants_validation = afc__transfer_cache_find_fill(transfer) == NULL;
        return use_stored(transfer, AFC_CACHE_USE_STALE);
    case AFC__REUSE_STALE:
        return use_stored(transfer, AFC_CACHE_USE_STALE);
    case AFC__REUSE_AFTER_VALIDATING:
        return validate(transfer);
    case AFC__REUSE_NEVER:
        break;
    }
    return miss(transfer);
}

/**
 * Records all stored responses that fit in `seen`, and chooses the newest of those that fit best. If none fits, chooses
 * the newest part that can be completed.
 */
static afc__cache_next choose(afc__transfer *transfer, const afc__http_cache_found *found) {
    afc__hop_cache *cache = transfer->hop_cache;
    fit best = FITS_NOT;
    size_t chosen = found->count;
    bool is_part = false, is_chosen_part = false;
    afc__byte_range range = {0, 0};
    bool is_local = afc__reuse_is_local(&cache->request, transfer->cache_policy);
    cache->seen_count = 0;
    for (size_t i = 0; i < found->count; i++) {
        fit each = fit_of(transfer, found->stored[i]);
        if (each != FITS_NOT) {
            cache->seen[cache->seen_count++] = afc__http_cache_see(found->stored[i]);
        }
        if (each <= best || !choose_part(transfer, found->stored[i], &is_part)) continue;
        best = each;
        chosen = i;
        is_chosen_part = is_part;
        range = cache->range;
    }
    for (size_t i = 0; i < found->count && chosen == found->count && !is_local; i++) {
        if (may_complete(transfer, found->stored[i])) chosen = i;
    }
    for (size_t i = 0; i < found->count; i++) {
        if (i != chosen) afc__http_cache_stored_release(found->stored[i]);
    }
    if (chosen == found->count) return miss(transfer);
    cache->stored = found->stored[chosen];
    if (best == FITS_NOT) return begin_collecting(transfer);
    cache->range = range;
    return consider(transfer, is_chosen_part);
}

/* ---- Asking -------------------------------------------------------------------------------- */

static afc__cache_next begin(afc__transfer *transfer, afc__http_cache_wake wake) {
    afc__http_cache_found found;
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__request_head *request = &transfer->request;
    cache->wake = wake;
    afc__request_control_read(&cache->request, request->headers, request->header_count);
    bool is_local = afc__reuse_is_local(&cache->request, transfer->cache_policy);
    bool is_usable = afc__transfer_cache_identify(transfer, cache->identity) &&
                     make_key(transfer) && !is_elsewhere(transfer);
    if (!is_usable || is_ignored(transfer)) {
        if (!is_usable) cache->key.size = 0;
        if (is_local) return use_gateway_timeout(transfer);
        afc__hop_cache_enter(cache, AFC__HOP_CACHE_IGNORED);
        return AFC__CACHE_NEXT_SEND;
    }
    /* Sets the hop's cookies first, as Vary may select by Cookie. */
    if (!afc__transfer_reset_hop(transfer)) return AFC__CACHE_NEXT_FAIL;
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_FINDING);
    afc_slice key = afc__buffer_slice(&cache->key);
    afc__http_cache_step step = afc__http_cache_find_begin(cache->http_cache, key, wake,
                                                           &cache->find, &found);
    return step == AFC__HTTP_CACHE_PENDING ? AFC__CACHE_NEXT_WAIT : choose(transfer, &found);
}

static afc__cache_next take_found(afc__transfer *transfer) {
    afc__http_cache_found found;
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_find_take(cache->find, &found);
    afc__http_cache_find_free(cache->find);
    cache->find = NULL;
    return choose(transfer, &found);
}

/** Sends the request, as the session has no cache. */
static afc__cache_next ask_none(afc__transfer *transfer) {
    if (transfer->cache_policy != AFC_HTTP_CACHE_ONLY) return AFC__CACHE_NEXT_SEND;
    afc__transfer_fail_text(transfer, AFC_EINVAL,
                            "only the cache may answer the request, but the session has no cache");
    return AFC__CACHE_NEXT_FAIL;
}

/** Sends the request without the cache, as there is no memory for a hop cache. */
static afc__cache_next send_uncached(afc__transfer *transfer) {
    if (transfer->cache_policy != AFC_HTTP_CACHE_ONLY) return AFC__CACHE_NEXT_SEND;
    afc__transfer_fail_memory(transfer);
    return AFC__CACHE_NEXT_FAIL;
}

afc__cache_next afc__transfer_ask_cache(afc__transfer *transfer, afc__http_cache_wake wake) {
    if (transfer->stores == NULL || transfer->stores->http_cache == NULL) return ask_none(transfer);
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL) cache = afc__transfer_make_hop_cache(transfer);
    if (cache == NULL) return send_uncached(transfer);
    switch (cache->state) {
    case AFC__HOP_CACHE_NEW:
        return begin(transfer, wake);
    case AFC__HOP_CACHE_WAITING:
        return AFC__CACHE_NEXT_WAIT;
    case AFC__HOP_CACHE_FINDING:
        return take_found(transfer);
    case AFC__HOP_CACHE_OPENING:
        return read_first(transfer);
    case AFC__HOP_CACHE_COLLECTING:
        return collect(transfer);
    case AFC__HOP_CACHE_CHOSEN:
        if (!afc__transfer_reset_hop(transfer)) return AFC__CACHE_NEXT_FAIL;
        return use_stored(transfer, cache->use);
    case AFC__HOP_CACHE_REPLAYING:
        return AFC__CACHE_NEXT_REPLAY;
    case AFC__HOP_CACHE_PASSING:
    case AFC__HOP_CACHE_VALIDATING:
    case AFC__HOP_CACHE_COMPLETING:
    case AFC__HOP_CACHE_IGNORED:
        break;
    }
    return AFC__CACHE_NEXT_SEND;
}
