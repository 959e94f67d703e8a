/* Stores the response of a hop: decides at the head whether it may, appends its body, and commits it at the end. */
#include "http_cache/completion.h"
#include "http_cache/rules/invalidation.h"
#include "http_cache/rules/storability.h"
#include "http_cache/rules/stored_fields.h"
#include "message/resume.h"
#include "transfer/caching/hop_cache_internal.h"
#include "transfer/transfer.h"

#include <string.h>
#include <time.h>

enum { PARTIAL_CONTENT = 206 };

/* ---- Eligibility --------------------------------------------------------------------------- */

static const char outdated[] = "it was removed meanwhile, or an unsafe request has changed it";
static const char unverified[] = "the server's certificate wasn't verified without a fault";

bool afc__hop_cache_is_current(const afc__hop_cache *cache) {
    return afc__http_cache_is_current(cache->http_cache, afc__buffer_slice(&cache->key),
                                      cache->mark);
}

/**
 * Returns why this hop's response must not affect what is stored, whatever its fields are; NULL if its fields decide.
 */
static const char *why_foreign(const afc__transfer *transfer) {
    char identity[AFC__FINGERPRINT_SIZE];
    const afc_result *result = transfer->result;
    bool is_verified = afc__verification_is_faultless(result->verification);
    /* Another session with this cache may have a stricter trust policy. */
    if (transfer->request.url.is_https && !is_verified) return unverified;
    /* The lookup was for the request's own credentials, or none. */
    bool is_known = afc__transfer_cache_identify(transfer, identity);
    if (is_known && strcmp(identity, transfer->hop_cache->identity) == 0) return NULL;
    return "it was made for credentials of a challenge";
}

const char *afc__hop_cache_why_not_kept(const afc__transfer *transfer) {
    const char *why = why_foreign(transfer);
    return why == NULL && !afc__hop_cache_is_current(transfer->hop_cache) ? outdated : why;
}

afc_status afc__hop_cache_add_selecting(const afc__transfer *transfer, afc__fields *out,
                                        const afc_head *head,
                                        const afc__http_cache_control *control) {
    afc__http_cache_request request = afc__transfer_cache_request(transfer);
    bool is_public = afc__control_is_public(control);
    afc__fields_init(out, AFC__SELECTING_MAX);
    afc_status status = afc__selecting_fields_add(out, head, &request, is_public);
    if (status == AFC_OK) afc__fields_bind(out, 0);
    return status;
}

/* ---- The head ------------------------------------------------------------------------------ */

/**
 * Makes what was stored for the request unusable, if this hop's response, which isn't stored, is what the server has
 * now. A request with no-store leaves the cache alone, as it wouldn't have used it.
 */
static void supersede_stored(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool is_of_cache = (cache->request.flags & AFC__CONTROL_NO_STORE) == 0;
    if (cache->seen_count == 0 || !is_of_cache ||
        !afc__status_supersedes(afc__hop_cache_received(transfer)->status) ||
        why_foreign(transfer) != NULL)
        return;
    afc__http_cache_supersede(cache->http_cache, cache->seen, cache->seen_count);
}

/**
 * Describes a part (206) to store. Returns false if it can't be stored, because it isn't known which part it is, or
 * something longer is stored. If the content ends before its range, the part is what was received (RFC 9111 section
 * 3.3).
 */
static bool describe_part(const afc__transfer *transfer, afc__http_cache_meta *meta) {
    afc__byte_range range;
    int64_t total;
    const afc__framing *framing = &transfer->hop.framing;
    if (framing->is_encoded || afc__has_several_ranges(afc__hop_cache_received(transfer)))
        return false;
    afc__content_range kind = afc__content_range_read(afc__hop_cache_received(transfer), &range,
                                                      &total);
    if (kind != AFC__CONTENT_RANGE_PART || total < 0) return false;
    meta->range_start = range.first;
    meta->total = total;
    return framing->length < 0 || framing->length <= range.last - range.first + 1;
}

/**
 * Returns why HTTP forbids to store a response with this head, whose directives are `control`; NULL if it allows it.
 */
static const char *why_not_storable(const afc__transfer *transfer, const afc_head *head,
                                    const afc__http_cache_control *control) {
    const afc__hop_cache *cache = transfer->hop_cache;
    afc__storable_question question = {
        .method = transfer->request.method,
        .head = head,
        .request = &cache->request,
        .response = control,
        .is_content_of_url = !afc__request_head_is(&transfer->request, "GET") &&
                             afc__content_is_of_url(&transfer->request.url, head),
    };
    return afc__storable_text(afc__storable_of(&question));
}

/** Calls on_cache, which may change the fields. Returns NULL if `*head` may be stored, or why not. */
static const char *ask_caller(afc__transfer *transfer, afc_head *head) {
    if (transfer->events.on_cache == NULL) return NULL;
    afc_http_cache_candidate candidate = {.head = afc__hop_cache_received(transfer),
                                          .url = transfer->request.url.text,
                                          .headers = head->headers,
                                          .header_count = head->header_count};
    afc__transfer_count_event(transfer);
    if (!transfer->events.on_cache(transfer->events.context, &candidate)) {
        return "on_cache refused it";
    }
    if (afc__check_header_pointers(candidate.headers, candidate.header_count, NULL) != AFC_OK) {
        return "on_cache returned an invalid field";
    }
    for (size_t i = 0; i < candidate.header_count; i++) {
        const afc_header *header = &candidate.headers[i];
        if (!afc__is_token(header->name) || !afc__is_field_value(header->value)) {
            return "on_cache returned an invalid field";
        }
    }
    head->headers = candidate.headers;
    head->header_count = candidate.header_count;
    return NULL;
}

static bool is_edited(const afc__transfer *transfer, const afc_head *head) {
    const afc_head *received = afc__hop_cache_received(transfer);
    return head->headers != received->headers || head->header_count != received->header_count;
}

static const char no_memory[] = "out of memory";

static const char *why_no_fields(afc_status status) {
    return status == AFC_ENOMEM ? no_memory : "its fields are too large";
}

/** Returns why the response isn't stored after this status of the store; NULL for AFC_OK. */
static const char *why_not_written(afc_status status) {
    switch (status) {
    case AFC_OK:
        return NULL;
    case AFC_ETOOBIG:
        return "it is too large for the cache";
    case AFC_ENOMEM:
        return no_memory;
    default:
        return "it came too fast for the cache's disk, or that can't be written";
    }
}

/**
 * Begins to write the response to the store. `head` is the received one, perhaps with fields of on_cache; `control` are
 * its directives. Returns NULL, or why the response isn't stored.
 */
static const char *begin_writing(afc__transfer *transfer, const afc_head *head,
                                 const afc__http_cache_control *control) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__framing *framing = &transfer->hop.framing;
    afc__http_cache_meta meta = {.head = *head,
                                 .request_time = cache->request_time,
                                 .response_time = (int64_t)time(NULL),
                                 .total = AFC_LENGTH_UNKNOWN};
    if (head->status == PARTIAL_CONTENT && !describe_part(transfer, &meta)) {
        return "the part of a 206 isn't known";
    }
    if (afc__transfer_decodes_body(transfer)) meta.flags = AFC__META_DECODED;
    afc__field_list fields;
    afc__fields selecting;
    afc_status status = is_edited(transfer, head)
                            ? afc__stored_fields_edit(&fields, afc__hop_cache_received(transfer),
                                                      head, control)
                            : afc__stored_fields_select(&fields, head, control);
    if (status != AFC_OK) return why_no_fields(status);
    status = afc__hop_cache_add_selecting(transfer, &selecting, afc__hop_cache_received(transfer),
                                          control);
    afc_status begun = AFC_OK;
    if (status == AFC_OK) {
        meta.head.headers = fields.headers;
        meta.head.header_count = fields.count;
        meta.request_fields = selecting.headers;
        meta.request_field_count = selecting.count;
        bool has_body = framing->kind != AFC__FRAMING_NONE;
        int64_t expected = !has_body                              ? 0
                           : afc__transfer_decodes_body(transfer) ? AFC_LENGTH_UNKNOWN
                                                                  : framing->length;
        begun = afc__http_cache_begin(&cache->writing, cache->http_cache,
                                      afc__buffer_slice(&cache->key), &meta, expected);
        if (begun == AFC_OK) {
            afc__http_cache_set_mark(cache->writing, cache->mark);
            afc__http_cache_set_seen(cache->writing, cache->seen, cache->seen_count);
        }
        cache->written = 0;
    }
    afc__field_list_clear(&fields);
    afc__fields_clear(&selecting);
    if (status != AFC_OK) return why_no_fields(status);
    return why_not_written(begun);
}

static bool is_challenge(int status) {
    return status == 401 || status == 407;
}

void afc__hop_cache_begin_fill(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = afc__hop_cache_received(transfer);
    afc__http_cache_control control;
    afc__response_control_read(&control, head->headers, head->header_count);
    cache->not_stored = why_not_storable(transfer, head, &control);
    if (cache->not_stored == NULL) cache->not_stored = afc__hop_cache_why_not_kept(transfer);
    afc_head stored = *head;
    if (cache->not_stored == NULL) cache->not_stored = ask_caller(transfer, &stored);
    if (cache->not_stored == NULL && is_edited(transfer, &stored)) {
        /* With the fields of on_cache, storing may be forbidden or useless. */
        afc__response_control_read(&control, stored.headers, stored.header_count);
        cache->not_stored = why_not_storable(transfer, &stored, &control);
    }
    if (cache->not_stored == NULL) cache->not_stored = begin_writing(transfer, &stored, &control);
    if (cache->not_stored == NULL) return;
    supersede_stored(transfer);
    afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_REFUSED);
    /* If a challenge is answered, the repeated hop may still store a response. */
    if (!is_challenge(head->status)) afc__hop_cache_release_waiters(cache);
}

/* ---- The body and the end ------------------------------------------------------------------ */

void afc__transfer_cache_body(afc__transfer *transfer, afc_slice bytes) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL || cache->writing == NULL) return;
    cache->written += bytes.size;
    afc_status status = afc__http_cache_append(cache->writing, bytes, AFC__HTTP_CACHE_DROP);
    if (status == AFC_OK) return;
    afc__http_cache_abandon(cache->writing);
    cache->writing = NULL;
    cache->not_stored = why_not_written(status);
    supersede_stored(transfer);
    afc__hop_cache_release_waiters(cache);
    afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_REFUSED);
}

/** Returns whether a part isn't longer than its range, without which it isn't known which part it is. */
static bool is_within_range(const afc__transfer *transfer) {
    afc__byte_range range;
    int64_t total;
    const afc_head *head = afc__hop_cache_received(transfer);
    if (head->status != PARTIAL_CONTENT) return true;
    return afc__content_range_read(head, &range, &total) == AFC__CONTENT_RANGE_PART &&
           transfer->hop_cache->written <= (uint64_t)(range.last - range.first + 1);
}

static bool has_all(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    if (!is_within_range(transfer)) return false;
    /* An encoded body that was cut before its first byte would look like an empty one. */
    bool is_empty = afc__transfer_decodes_body(transfer) && transfer->hop.decoded == 0;
    if (is_empty && framing->kind == AFC__FRAMING_CLOSE) return false;
    if (framing->kind != AFC__FRAMING_LENGTH || afc__transfer_decodes_body(transfer)) return true;
    return transfer->hop_cache->written == (uint64_t)framing->length;
}

/**
 * Returns whether the beginning of an incomplete body is stored, so that the rest can be requested later (RFC 9111
 * section 3.3). If the store has a longer beginning, it keeps that.
 */
static bool keeps_beginning(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    return cache->written <= AFC__HOP_CACHE_COMPLETED_MAX &&
           !afc__transfer_decodes_body(transfer) &&
           afc__beginning_is_useful(afc__hop_cache_received(transfer), &transfer->hop.framing,
                                    cache->written);
}

/**
 * Removes the response that was being validated, if the server has sent a new one instead: even if that is stored for
 * other requests (Vary), the validated one is outdated (RFC 9111 section 4.3.3). Without a validation the response may
 * be an older one, from a cache in between.
 */
static void drop_validated(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool is_replaced = cache->state == AFC__HOP_CACHE_VALIDATING &&
                       afc__status_supersedes(afc__hop_cache_received(transfer)->status);
    if (is_replaced) afc__http_cache_drop(cache->http_cache, cache->stored);
}

/** Returns why the response wasn't committed; NULL if it was. */
static const char *why_not_committed(afc__http_cache_outcome outcome) {
    switch (outcome) {
    case AFC__HTTP_CACHE_COMMITTED:
    case AFC__HTTP_CACHE_NO_ROOM:
        break;
    case AFC__HTTP_CACHE_OUTDATED:
        return outdated;
    case AFC__HTTP_CACHE_OLDER:
        return "a newer response was stored meanwhile";
    case AFC__HTTP_CACHE_SHORTER:
        return "more of it is stored";
    }
    return NULL;
}

void afc__transfer_cache_end(afc__transfer *transfer, bool is_whole) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL || cache->writing == NULL) return;
    bool has_body = is_whole && !afc__transfer_has_failed(transfer) && has_all(transfer);
    if (has_body) {
        afc__stored_body body = {AFC__FILLED_BY_RECEIVING,
                                 afc__http_cache_writing_content(cache->writing)};
        afc__http_cache_outcome outcome = afc__http_cache_commit(cache->writing,
                                                                 AFC__HTTP_CACHE_DROP);
        if (outcome == AFC__HTTP_CACHE_COMMITTED) cache->done = body;
        if (outcome == AFC__HTTP_CACHE_COMMITTED || outcome == AFC__HTTP_CACHE_NO_ROOM)
            drop_validated(transfer);
        cache->not_stored = why_not_committed(outcome);
    } else if (keeps_beginning(transfer)) {
        cache->not_stored = why_not_committed(
            afc__http_cache_commit_beginning(cache->writing, transfer->hop.framing.length));
    } else {
        afc__http_cache_abandon(cache->writing);
        cache->not_stored = "its body isn't whole";
    }
    cache->writing = NULL;
}

void afc__transfer_remove_cached(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL) return;
    bool is_cached = cache->stored != NULL || cache->done.by != AFC__FILLED_BY_NOTHING;
    if (is_cached) afc__http_cache_remove_key(cache->http_cache, afc__buffer_slice(&cache->key));
}

void afc__transfer_cache_release(afc__transfer *transfer) {
    if (transfer->hop_cache != NULL) afc__transfer_release_waiters(transfer);
}
