/* Before a hop: is there a stored response, and may it answer? */
#include "base/alloc.h"
#include "http_cache/identity.h"
#include "http_cache/key.h"
#include "http_cache/storability.h"
#include "transfer/auth.h"
#include "transfer/cached.h"
#include "transfer/cookies_hsts.h"
#include "transfer/transfer_internal.h"

#include <string.h>
#include <time.h>

/* ---- The request --------------------------------------------------------------------------- */

/** Returns whether credentials are sent that replace the request's own field. */
static bool sends_credentials(const afc__transfer *transfer) {
    unsigned scheme;
    return afc__transfer_authorization(transfer) != NULL ||
           afc__transfer_connection_auth(transfer, false, &scheme) != NULL;
}

bool afc__cached_identify(const afc__transfer *transfer, char out[AFC__FINGERPRINT_ROOM]) {
    const afc__request_head *request = &transfer->request;
    return afc__identity_of(out, request->headers,
                            sends_credentials(transfer) ? 0 : request->header_count,
                            afc__transfer_credentials(transfer));
}

static bool make_key(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    cached->key.size = 0;
    /* All spellings of a host are one. */
    if (afc__url_use_a_labels(&transfer->request.url, afc__transfer_to_ascii(transfer), NULL) !=
        AFC_OK) {
        return false;
    }
    return afc__cache_key_make(&cached->key, afc_slice_of(transfer->store->cache_partition),
                               afc_slice_of(transfer->request.url.text)) == AFC_OK;
}

/** Returns whether the URL doesn't name the server: another one may be behind each Unix socket. */
static bool is_elsewhere(const afc__transfer *transfer) {
    return transfer->unix_socket != NULL;
}

/** Returns whether the cache is bypassed. A download that may be resumed keeps the bytes received so far in its own file. */
static bool is_ignored(const afc__transfer *transfer) {
    const afc__request_head *request = &transfer->request;
    return transfer->cache_policy == AFC_CACHE_BYPASS || transfer->sink.is_resumable ||
           is_elsewhere(transfer) || request->sends_body ||
           (!afc__request_head_is(&transfer->request, "GET") &&
            !afc__request_head_is(&transfer->request, "HEAD")) ||
           afc__request_is_unkeyed(request->headers, request->header_count);
}

/* ---- Choosing ------------------------------------------------------------------------------ */

/** Is the body in the form that the task wants, encoded or decoded? */
static bool fits_coding(const afc__transfer *transfer, afc__cache_stored *stored) {
    afc__cache_terms room;
    bool is_decoded = (afc__cache_stored_meta(stored)->flags & AFC__META_DECODED) != 0;
    return is_decoded == (transfer->coding != AFC__CODING_KEPT) ||
           !afc__cache_stored_terms(stored, &room)->is_encoded;
}

static bool is_whole(const afc__cache_stored *stored) {
    const afc__cache_meta *meta = afc__cache_stored_meta(stored);
    return meta->head.status != 206;
}

/**
 * Which part of the stored body answers: sets `range` if one is asked for. false: the stored response can't answer this
 * request, whatever its age.
 */
static bool choose_part(afc__transfer *transfer, const afc__cache_stored *stored, bool *is_part) {
    const afc__cache_meta *meta = afc__cache_stored_meta(stored);
    const afc__request_head *request = &transfer->request;
    int64_t size = (int64_t)afc__cache_stored_body_size(stored);
    int64_t total = is_whole(stored) ? size : meta->total;
    afc__byte_range *range = &transfer->cached->range;
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
    bool is_within = range->first >= meta->range_start && range->last < meta->range_start + size;
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

static fit fit_of(const afc__transfer *transfer, afc__cache_stored *stored) {
    const afc__cache_meta *meta = afc__cache_stored_meta(stored);
    afc__cache_request request = afc__cached_request(transfer);
    const afc_header *selecting = meta->request_fields;
    size_t count = meta->request_field_count;
    if (!fits_coding(transfer, stored)) return FITS_NOT;
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

static bool may_complete(afc__transfer *transfer, afc__cache_stored *stored) {
    afc__cached *cached = transfer->cached;
    const afc__cache_meta *meta = afc__cache_stored_meta(stored);
    uint64_t size = afc__cache_stored_body_size(stored);
    if (size > AFC__CACHED_MOST_COMPLETED || !afc__part_is_beginning(meta, size)) return false;
    if (fit_of(transfer, stored) != FITS_EXACTLY || !asks_for_whole(transfer)) return false;
    afc__cached_set_stored(transfer, stored);
    cached->condition_count = afc__rest_fields_write(cached->conditions, cached->range_text,
                                                     &cached->head, size);
    /* If-Range says whether it is still the same. Without that it must be fresh. */
    afc__reuse_question question = afc__cached_question(transfer);
    afc__reuse reuse = afc__reuse_of(&question);
    return cached->condition_count == AFC__REST_FIELDS ? reuse != AFC__REUSE_NEVER
                                                       : reuse == AFC__REUSE_FRESH;
}

/* ---- Answering ----------------------------------------------------------------------------- */

/** The server is asked, unless another transfer does that for both. */
static afc__cached_next send_or_wait(afc__transfer *transfer, afc__cached_state state) {
    afc__cached *cached = transfer->cached;
    bool may_wait = transfer->collapses && !cached->has_waited;
    afc__cached *other = may_wait ? afc__cached_find_fill(transfer) : NULL;
    if (other != NULL) {
        afc__cached_release_stored(cached);
        afc__list_append(&other->waiters, &cached->waiter);
        cached->has_waited = true;
        cached->state = AFC__CACHED_WAITING;
        return AFC__CACHED_WAIT;
    }
    cached->state = state;
    if (afc__request_head_is(&transfer->request, "GET"))
        afc__list_append(transfer->store->fills, &cached->fill);
    if (state != AFC__CACHED_VALIDATING) afc__cache_count(cached->cache, AFC__CACHE_MISS);
    return AFC__CACHED_SEND;
}

/** The server may not be asked. */
static afc__cached_next answer_missing(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    if (!afc__transfer_reset_hop(transfer)) return AFC__CACHED_FAIL;
    cached->answer = (afc__answer){.kind = AFC__ANSWER_MISSING};
    cached->use = AFC_CACHE_MISSING;
    cached->left = 0;
    cached->has_end = true;
    cached->state = AFC__CACHED_ANSWERING;
    return AFC__CACHED_ANSWER;
}

/** Nothing is stored that may be used. */
static afc__cached_next miss(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    afc__cached_release_stored(cached);
    cached->use = AFC_CACHE_UNUSED;
    cached->wants_validation = false;
    return afc__reuse_is_local(&cached->request, transfer->cache_policy)
               ? answer_missing(transfer)
               : send_or_wait(transfer, AFC__CACHED_PASSING);
}

/** false: its body can't be read. */
static bool open_answer(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    const afc__cache_meta *meta = afc__cache_stored_meta(cached->stored);
    uint64_t offset = 0;
    int64_t size = (int64_t)afc__cache_stored_body_size(cached->stored);
    cached->left = size;
    cached->answer.head = &cached->head;
    if (cached->answer.range != NULL) {
        cached->answer.total = is_whole(cached->stored) ? size : meta->total;
        offset = (uint64_t)(cached->range.first - meta->range_start);
        cached->left = cached->range.last - cached->range.first + 1;
    }
    if (afc__request_head_is(&transfer->request, "HEAD") || cached->answer.is_not_modified)
        cached->left = 0;
    cached->state = AFC__CACHED_OPENING;
    if (cached->left == 0) return true;
    cached->reader = afc__cache_reader_open(cached->cache, cached->stored, offset, cached->wake);
    return cached->reader != NULL;
}

/** The first piece is read before the head is passed on: an entry that is gone is a miss. */
static afc__cached_next read_first(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    afc__cache_step step = cached->left == 0 ? AFC__CACHE_END
                                             : afc__cache_read(cached->reader, &cached->piece);
    if (step == AFC__CACHE_PENDING) return AFC__CACHED_WAIT;
    if (step == AFC__CACHE_BROKEN) return miss(transfer);
    cached->has_end = step == AFC__CACHE_END;
    int64_t now = (int64_t)time(NULL);
    cached->answer.age = afc__cached_age(cached, now);
    cached->answer.lifetime = cached->freshness.lifetime;
    cached->state = AFC__CACHED_ANSWERING;
    afc__cache_touch(cached->cache, cached->stored);
    return AFC__CACHED_ANSWER;
}

/** The server is asked for the rest once all of the part is in memory: it may leave the store meanwhile. */
static afc__cached_next collect(afc__transfer *transfer) {
    afc_slice piece;
    afc__cached *cached = transfer->cached;
    afc__cache_step step = AFC__CACHE_BROKEN;
    if (cached->reader != NULL) step = afc__cache_read(cached->reader, &piece);
    while (step == AFC__CACHE_READY) {
        if (afc__buffer_append(&cached->part, piece.bytes, piece.size) != AFC_OK) {
            return miss(transfer);
        }
        step = afc__cache_read(cached->reader, &piece);
    }
    if (step == AFC__CACHE_PENDING) return AFC__CACHED_WAIT;
    afc__cache_reader_close(cached->reader);
    cached->reader = NULL;
    bool is_whole_part = step == AFC__CACHE_END &&
                         cached->part.size == afc__cache_stored_body_size(cached->stored);
    return is_whole_part ? send_or_wait(transfer, AFC__CACHED_COMPLETING) : miss(transfer);
}

static afc__cached_next begin_collecting(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    cached->state = AFC__CACHED_COLLECTING;
    cached->reader = afc__cache_reader_open(cached->cache, cached->stored, 0, cached->wake);
    return collect(transfer);
}

static afc__cached_next answer(afc__transfer *transfer, afc_cache_use use) {
    afc__cached *cached = transfer->cached;
    cached->use = use;
    cached->answer.kind = use == AFC_CACHE_VALIDATED ? AFC__ANSWER_VALIDATED : AFC__ANSWER_HIT;
    return open_answer(transfer) ? read_first(transfer) : miss(transfer);
}

static afc__cached_next validate(afc__transfer *transfer) {
    afc__cached *cached = transfer->cached;
    const afc__request_head *request = &transfer->request;
    if (afc__reuse_is_local(&cached->request, transfer->cache_policy)) return miss(transfer);
    /* The request's own conditions are the server's to decide. */
    bool has_own = afc__has_conditions(request->headers, request->header_count);
    cached->condition_count = has_own ? 0
                                      : afc__conditions_write(cached->conditions, &cached->head);
    return send_or_wait(transfer, AFC__CACHED_VALIDATING);
}

/**
 * Returns whether the stored response can be validated without its task: only if the request needs no credentials, no
 * on_cache callback and no proxy of its own.
 */
static bool may_validate_alone(const afc__transfer *transfer) {
    return transfer->auth == NULL && transfer->events.on_cache == NULL && !transfer->has_own_proxy;
}

/** A stored response fits; may it be used? */
static afc__cached_next consider(afc__transfer *transfer, bool is_part) {
    afc__cached *cached = transfer->cached;
    const afc__request_head *request = &transfer->request;
    const afc__cache_meta *meta = afc__cache_stored_meta(cached->stored);
    afc__cached_set_stored(transfer, cached->stored);
    afc__condition condition = afc__condition_of(request->headers, request->header_count,
                                                 &cached->head, cached->response_time);
    cached->answer = (afc__answer){.range = is_part ? &cached->range : NULL};
    cached->answer.is_not_modified = condition == AFC__CONDITION_NOT_MODIFIED &&
                                     meta->head.status == 200;
    afc__reuse_question question = afc__cached_question(transfer);
    afc__reuse reuse = condition == AFC__CONDITION_OTHER ? AFC__REUSE_NEVER
                                                         : afc__reuse_of(&question);
    if (reuse == AFC__REUSE_WHILE_VALIDATING && !may_validate_alone(transfer)) {
        reuse = AFC__REUSE_AFTER_VALIDATING;
    }
    switch (reuse) {
    case AFC__REUSE_FRESH:
        return answer(transfer, AFC_CACHE_HIT);
    case AFC__REUSE_WHILE_VALIDATING:
        cached->wants_validation = afc__cached_find_fill(transfer) == NULL;
        return answer(transfer, AFC_CACHE_STALE);
    case AFC__REUSE_STALE:
        return answer(transfer, AFC_CACHE_STALE);
    case AFC__REUSE_AFTER_VALIDATING:
        return validate(transfer);
    case AFC__REUSE_NEVER:
        break;
    }
    return miss(transfer);
}

/** The newest of those that fit best. Without any, the newest part that can be completed. */
static afc__cached_next choose(afc__transfer *transfer, const afc__cache_found *found) {
    afc__cached *cached = transfer->cached;
    fit best = FITS_NOT;
    size_t chosen = found->count;
    bool is_part = false, is_chosen_part = false;
    afc__byte_range range = {0, 0};
    bool is_local = afc__reuse_is_local(&cached->request, transfer->cache_policy);
    for (size_t i = 0; i < found->count; i++) {
        fit each = fit_of(transfer, found->stored[i]);
        if (each <= best || !choose_part(transfer, found->stored[i], &is_part)) continue;
        best = each;
        chosen = i;
        is_chosen_part = is_part;
        range = cached->range;
    }
    for (size_t i = 0; i < found->count && chosen == found->count && !is_local; i++) {
        if (may_complete(transfer, found->stored[i])) chosen = i;
    }
    for (size_t i = 0; i < found->count; i++) {
        if (i != chosen) afc__cache_stored_release(found->stored[i]);
    }
    if (chosen == found->count) return miss(transfer);
    cached->stored = found->stored[chosen];
    if (best == FITS_NOT) return begin_collecting(transfer);
    cached->range = range;
    return consider(transfer, is_chosen_part);
}

/* ---- Asking -------------------------------------------------------------------------------- */

static afc__cached_next begin(afc__transfer *transfer, afc__cache_wake wake) {
    afc__cache_found found;
    afc__cached *cached = transfer->cached;
    const afc__request_head *request = &transfer->request;
    cached->wake = wake;
    afc__cache_control_read(&cached->request, request->headers, request->header_count, true);
    bool is_local = afc__reuse_is_local(&cached->request, transfer->cache_policy);
    bool is_usable = afc__cached_identify(transfer, cached->identity) && make_key(transfer) &&
                     !is_elsewhere(transfer);
    if (!is_usable || is_ignored(transfer)) {
        if (!is_usable) cached->key.size = 0;
        if (is_local) return answer_missing(transfer);
        cached->state = AFC__CACHED_IGNORED;
        return AFC__CACHED_SEND;
    }
    /* Cookies may select. */
    if (!afc__transfer_reset_hop(transfer)) return AFC__CACHED_FAIL;
    if (transfer->cache_policy == AFC_CACHE_RELOAD) return miss(transfer);
    cached->state = AFC__CACHED_FINDING;
    afc_slice key = {cached->key.bytes, cached->key.size};
    afc__cache_step step = afc__cache_find_begin(cached->cache, key, wake, &cached->find, &found);
    return step == AFC__CACHE_PENDING ? AFC__CACHED_WAIT : choose(transfer, &found);
}

static afc__cached_next take_found(afc__transfer *transfer) {
    afc__cache_found found;
    afc__cached *cached = transfer->cached;
    afc__cache_find_take(cached->find, &found);
    afc__cache_find_free(cached->find);
    cached->find = NULL;
    return choose(transfer, &found);
}

/** Without a cache nothing is stored. */
static afc__cached_next ask_none(afc__transfer *transfer) {
    if (transfer->cache_policy != AFC_CACHE_ONLY) return AFC__CACHED_SEND;
    afc__transfer_fail_text(transfer, AFC_EINVAL,
                            "cache_policy is AFC_CACHE_ONLY, but the session has no cache");
    return AFC__CACHED_FAIL;
}

/** There is no memory for the cache. */
static afc__cached_next leave_out(afc__transfer *transfer) {
    if (transfer->cache_policy != AFC_CACHE_ONLY) return AFC__CACHED_SEND;
    afc__transfer_fail_memory(transfer);
    return AFC__CACHED_FAIL;
}

afc__cached_next afc__transfer_ask_cache(afc__transfer *transfer, afc__cache_wake wake) {
    if (transfer->store == NULL || transfer->store->http_cache == NULL) return ask_none(transfer);
    afc__cached *cached = transfer->cached;
    if (cached == NULL) cached = afc__transfer_make_cached(transfer);
    if (cached == NULL) return leave_out(transfer);
    switch (cached->state) {
    case AFC__CACHED_NEW:
        return begin(transfer, wake);
    case AFC__CACHED_WAITING:
        return AFC__CACHED_WAIT;
    case AFC__CACHED_FINDING:
        return take_found(transfer);
    case AFC__CACHED_OPENING:
        return read_first(transfer);
    case AFC__CACHED_COLLECTING:
        return collect(transfer);
    case AFC__CACHED_CHOSEN:
        if (!afc__transfer_reset_hop(transfer)) return AFC__CACHED_FAIL;
        return answer(transfer, cached->use);
    case AFC__CACHED_ANSWERING:
        return AFC__CACHED_ANSWER;
    case AFC__CACHED_PASSING:
    case AFC__CACHED_VALIDATING:
    case AFC__CACHED_COMPLETING:
    case AFC__CACHED_IGNORED:
        break;
    }
    return AFC__CACHED_SEND;
}
