/* At the head of a hop: store the response, update what is stored, or remove it. */
#include "http_cache/completion.h"
#include "http_cache/memory/key.h"
#include "http_cache/rules/invalidation.h"
#include "http_cache/rules/storability.h"
#include "http_cache/rules/stored_fields.h"
#include "message/resume.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache_internal.h"
#include "transfer/transfer.h"

#include <string.h>
#include <time.h>

enum { PARTIAL_CONTENT = 206, NOT_MODIFIED = 304, RANGE_NOT_SATISFIABLE = 416 };

static const afc_head *received_head(const afc__transfer *transfer) {
    return &transfer->hop.reader->head;
}

/* ---- Eligibility --------------------------------------------------------------------------- */

static const char outdated[] = "it was removed meanwhile, or an unsafe request has changed it";
static const char unverified[] = "the server's certificate wasn't verified without a fault";

static bool is_current(const afc__hop_cache *cache) {
    return afc__http_cache_is_current(cache->http_cache, afc__buffer_slice(&cache->key),
                                      cache->mark);
}

/** Returns why this hop's response has no effect on what is stored, whatever its fields say; NULL if they decide. */
static const char *why_foreign(const afc__transfer *transfer) {
    char identity[AFC__FINGERPRINT_SIZE];
    const afc_result *result = transfer->result;
    bool is_verified = afc__verification_is_faultless(result->verification);
    /* Another session may be stricter. */
    if (transfer->request.url.is_https && !is_verified) return unverified;
    /* The lookup was for the credentials that the request has, or none. */
    bool is_known = afc__transfer_cache_identify(transfer, identity);
    if (is_known && strcmp(identity, transfer->hop_cache->identity) == 0) return NULL;
    return "it was made for credentials of a challenge";
}

/** Returns why this hop's response may not be stored, whatever its fields say; NULL if they decide. */
static const char *why_not_kept(const afc__transfer *transfer) {
    if (afc__transfer_has_unknown_end(transfer)) return "the end of its body can't be known";
    const char *why = why_foreign(transfer);
    return why == NULL && !is_current(transfer->hop_cache) ? outdated : why;
}

/** Appends the fields of the request that select a response with this head. */
static afc_status add_selecting(const afc__transfer *transfer, afc__fields *out,
                                const afc_head *head, const afc__http_cache_control *control) {
    afc__http_cache_request request = afc__transfer_cache_request(transfer);
    bool is_public = afc__control_is_public(control);
    afc__fields_init(out, AFC__SELECTING_MAX);
    afc_status status = afc__selecting_fields_add(out, head, &request, is_public);
    if (status == AFC_OK) afc__fields_bind(out, 0);
    return status;
}

static bool has_field(const afc_header *fields, size_t count, afc_slice name) {
    for (size_t i = 0; i < count; i++) {
        if (afc__same_names(fields[i].name, name)) return true;
    }
    return false;
}

/* ---- Updating ------------------------------------------------------------------------------ */

/**
 * Decides anew which requests a stored response fits that `update` has updated: Vary and the directives may be others
 * now. Without Vary the old fields stay and others may join them. The stored head doesn't tell them: on_cache may have
 * edited it.
 */
static afc_status select_updated(const afc__transfer *transfer, afc__fields *out,
                                 const afc__http_cache_meta *meta, const afc_head *update) {
    const afc__http_cache_control *control = &transfer->hop_cache->control;
    const afc_header *old = meta->request_fields;
    if (afc_head_find(update, "Vary") != NULL)
        return add_selecting(transfer, out, &meta->head, control);
    afc__fields added;
    afc_status status = add_selecting(transfer, &added, &meta->head, control);
    afc__fields_init(out, AFC__SELECTING_MAX);
    if (status == AFC_OK) status = afc__fields_add_all(out, old, meta->request_field_count);
    for (size_t i = 0; status == AFC_OK && i < added.count; i++) {
        const afc_header *one = &added.headers[i];
        if (has_field(old, meta->request_field_count, one->name)) continue;
        status = afc__fields_add(out, one->name, one->value);
    }
    if (status == AFC_OK) afc__fields_bind(out, 0);
    afc__fields_clear(&added);
    return status;
}

/**
 * Stores `meta`, whose head `update` has updated, in place of the stored response. `changes` are the directives of that
 * later head.
 */
static void store_updated(afc__transfer *transfer, afc__http_cache_meta *meta,
                          const afc_head *update, const afc__http_cache_control *changes) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__field_list kept;
    afc__fields selecting;
    bool is_forbidden = (changes->flags & AFC__CONTROL_NO_STORE) != 0 ||
                        afc__vary_is_any(&meta->head);
    if (!is_forbidden && why_not_kept(transfer) != NULL) return;
    /* What no-cache="..." names was confirmed for this response only (RFC 9111 5.2.2.4). */
    if (is_forbidden || afc__stored_fields_select(&kept, &meta->head, &cache->control) != AFC_OK) {
        afc__http_cache_drop(cache->http_cache, cache->stored);
        return;
    }
    afc_status status = select_updated(transfer, &selecting, meta, update);
    if (status == AFC_OK) {
        meta->head.headers = kept.headers;
        meta->head.header_count = kept.count;
        meta->request_fields = selecting.headers;
        meta->request_field_count = selecting.count;
        afc__http_cache_update(cache->http_cache, cache->stored, meta);
        cache->done = (afc__stored_body){AFC__FILLED_BY_CONFIRMING, cache->content};
    } else {
        afc__http_cache_drop(cache->http_cache, cache->stored);
    }
    afc__field_list_clear(&kept);
    afc__fields_clear(&selecting);
}

/**
 * Copies the fields of a stored head, updated by those of a later one, which gets the time of its receipt if it has no Date
 * (RFC 9110 6.6.1). false: they are too many, or memory is out.
 */
static bool copy_updated(afc__fields *out, const afc_head *stored, const afc_head *update,
                         const afc__http_cache_control *control) {
    afc__field_list list;
    char date[AFC_DATE_SIZE];
    bool has_date = afc_head_find(update, "Date") != NULL;
    if (afc__stored_fields_update(&list, stored, update, control) != AFC_OK) return false;
    afc__fields_init(out, AFC__STORED_FIELDS_SIZE_MAX);
    afc_status status = afc__fields_add_all(out, list.headers, list.count);
    if (status == AFC_OK && !has_date && afc_date_write(date, (int64_t)time(NULL))) {
        status = afc__fields_add(out, afc_slice_of("Date"), afc_slice_of(date));
    }
    afc__field_list_clear(&list);
    if (status == AFC_OK) {
        afc__fields_bind(out, 0);
    } else {
        afc__fields_clear(out);
    }
    return status == AFC_OK;
}

/**
 * Gives the stored response the fields of a later head (RFC 9111 3.2). If they are too many, or memory is out, it is
 * used as it was and removed.
 */
static void update_stored(afc__transfer *transfer, const afc_head *head) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc__http_cache_meta *old = afc__http_cache_stored_meta(cache->stored);
    afc__http_cache_control control;
    afc__fields fields;
    afc__response_control_read(&control, head->headers, head->header_count);
    if (!copy_updated(&fields, &old->head, head, &control)) {
        afc__http_cache_drop(cache->http_cache, cache->stored);
        return;
    }
    afc__fields_clear(&cache->updated);
    cache->updated = fields;
    afc__http_cache_meta meta = *old;
    meta.flags &= ~(uint32_t)AFC__META_OF_PROGRAM;
    meta.head.headers = fields.headers;
    meta.head.header_count = fields.count;
    meta.request_time = cache->request_time;
    meta.response_time = (int64_t)time(NULL);
    afc__transfer_cache_set_head(transfer, &meta.head, meta.request_time, meta.response_time);
    store_updated(transfer, &meta, head, &control);
}

/** HEAD describes what GET would return (RFC 9111 4.3.5). */
static void update_by_head(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = received_head(transfer), *stored = &cache->head;
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(cache->stored);
    if (head->status != 200 || stored->status != 200) return;
    bool is_decoded = (meta->flags & AFC__META_DECODED) != 0;
    int64_t size = is_decoded ? AFC_LENGTH_UNKNOWN
                              : (int64_t)afc__http_cache_stored_body_size(cache->stored);
    if (afc__head_describes_stored(head, stored, size)) {
        update_stored(transfer, head);
    } else {
        afc__http_cache_drop(cache->http_cache, cache->stored);
    }
}

/* ---- Invalidating -------------------------------------------------------------------------- */

static void remove_url(afc__transfer *transfer, const afc__url *url) {
    afc__buffer key;
    afc__buffer_init(&key, AFC__HTTP_CACHE_KEY_MAX);
    if (afc__http_cache_key_make(&key, afc_slice_of(transfer->stores->cache_partition),
                                 afc_slice_of(url->text)) == AFC_OK) {
        afc__http_cache_remove_key(transfer->hop_cache->http_cache, afc__buffer_slice(&key));
    }
    afc__buffer_clear(&key);
}

static void invalidate(afc__transfer *transfer) {
    const afc_head *head = received_head(transfer);
    const afc__url *url = &transfer->request.url;
    if (afc__method_is_safe(transfer->request.method) || !afc__status_invalidates(head->status))
        return;
    bool was_current = is_current(transfer->hop_cache);
    remove_url(transfer, url);
    for (size_t i = 0; i < 2; i++) {
        afc__url other;
        if (!afc__invalidated_url(&other, url, head, i)) continue;
        remove_url(transfer, &other);
        afc__url_clear(&other);
    }
    /* The response to the change itself may be stored. */
    afc__hop_cache *cache = transfer->hop_cache;
    if (was_current)
        cache->mark = afc__http_cache_take_mark(cache->http_cache, afc__buffer_slice(&cache->key));
}

/**
 * This hop's response isn't stored. What was stored for its request must no longer be used if it is what the server has
 * now. A request with no-store leaves the cache alone, as it wouldn't have used it.
 */
static void supersede_stored(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool is_of_cache = (cache->request.flags & AFC__CONTROL_NO_STORE) == 0;
    if (cache->seen_count == 0 || !is_of_cache ||
        !afc__status_supersedes(received_head(transfer)->status) || why_foreign(transfer) != NULL)
        return;
    afc__http_cache_supersede(cache->http_cache, cache->seen, cache->seen_count);
}

/* ---- Storing ------------------------------------------------------------------------------- */

/**
 * A part is stored only if it is known which one, and if nothing longer is. One whose content ends before its range is
 * the part that there is (RFC 9111 3.3).
 */
static bool describe_part(const afc__transfer *transfer, afc__http_cache_meta *meta) {
    afc__byte_range range;
    int64_t total;
    const afc__framing *framing = &transfer->hop.framing;
    if (framing->is_encoded || afc__has_several_ranges(received_head(transfer))) return false;
    afc__content_range kind = afc__content_range_read(received_head(transfer), &range, &total);
    if (kind != AFC__CONTENT_RANGE_PART || total < 0) return false;
    meta->range_start = range.first;
    meta->total = total;
    return framing->length < 0 || framing->length <= range.last - range.first + 1;
}

/** Returns why a response with this head, whose directives are `control`, isn't stored; NULL if HTTP allows it. */
static const char *why_not_storable(const afc__transfer *transfer, const afc_head *head,
                                    const afc__http_cache_control *control) {
    const afc__hop_cache *cache = transfer->hop_cache;
    afc__storable_question question = {
        .method = transfer->request.method,
        .head = head,
        .request = &cache->request,
        .response = control,
        .has_query = afc__transfer_cache_has_query(transfer),
        .is_content_of_url = !afc__request_head_is(&transfer->request, "GET") &&
                             afc__content_is_of_url(&transfer->request.url, head),
    };
    return afc__storable_text(afc__storable_of(&question));
}

/** Asks the caller, who may change the fields. NULL: `*head` is stored. */
static const char *ask_caller(afc__transfer *transfer, afc_head *head) {
    if (transfer->events.on_cache == NULL) return NULL;
    afc_http_cache_candidate candidate = {.head = received_head(transfer),
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
    const afc_head *received = received_head(transfer);
    return head->headers != received->headers || head->header_count != received->header_count;
}

static const char no_memory[] = "out of memory";

static const char *why_no_fields(afc_status status) {
    return status == AFC_ENOMEM ? no_memory : "its fields are too large";
}

/** Returns what the store's status means; NULL: nothing has failed. */
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

/** `head` is the received one, perhaps with other fields; `control` is what it says. */
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
                            ? afc__stored_fields_edit(&fields, received_head(transfer), head,
                                                      control)
                            : afc__stored_fields_select(&fields, head, control);
    if (status != AFC_OK) return why_no_fields(status);
    status = add_selecting(transfer, &selecting, received_head(transfer), control);
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

static void begin_storing(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = received_head(transfer);
    afc__http_cache_control control;
    afc__response_control_read(&control, head->headers, head->header_count);
    cache->not_stored = why_not_storable(transfer, head, &control);
    if (cache->not_stored == NULL) cache->not_stored = why_not_kept(transfer);
    afc_head stored = *head;
    if (cache->not_stored == NULL) cache->not_stored = ask_caller(transfer, &stored);
    if (cache->not_stored == NULL && is_edited(transfer, &stored)) {
        /* The caller may have forbidden it, or removed what makes it of use. */
        afc__response_control_read(&control, stored.headers, stored.header_count);
        cache->not_stored = why_not_storable(transfer, &stored, &control);
    }
    if (cache->not_stored == NULL) cache->not_stored = begin_writing(transfer, &stored, &control);
    if (cache->not_stored == NULL) return;
    supersede_stored(transfer);
    afc__http_cache_count(cache->http_cache, AFC__HTTP_CACHE_REFUSED);
    /* A challenge may be answered: the hop's end decides. */
    if (!is_challenge(head->status)) afc__hop_cache_release_waiters(cache);
}

/* ---- The head ------------------------------------------------------------------------------ */

static bool supersede(afc__transfer *transfer, afc_http_cache_use use) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->use = use;
    if (use == AFC_CACHE_USE_STALE)
        cache->done = (afc__stored_body){AFC__FILLED_BY_STALE, cache->content};
    afc__hop_cache_enter(transfer->hop_cache, AFC__HOP_CACHE_CHOSEN);
    afc__hop_enter(&transfer->hop, AFC__PHASE_SUPERSEDED);
    return true;
}

/** The stored response is of no use: the lookup, and then a request without conditions, begin anew. */
static bool ask_again(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_drop(cache->http_cache, cache->stored);
    afc__hop_cache_release_stored(cache);
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_NEW);
    afc__hop_enter(&transfer->hop, AFC__PHASE_SUPERSEDED);
    return true;
}

/** The server was asked about the stored response. true: this hop's response isn't the task's. */
static bool take_verdict(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = received_head(transfer);
    bool is_head = afc__request_head_is(&transfer->request, "HEAD");
    if (head->status == NOT_MODIFIED) {
        bool is_ours = cache->condition_count > 0;
        bool is_other = afc__validators_contradict(head, &cache->head);
        if (is_ours && is_other) return ask_again(transfer);
        /* In response to the request's own conditions it may be about another response than the stored one. */
        if (!is_ours && (is_other || !afc__validators_agree(head, &cache->head))) return false;
        update_stored(transfer, head);
        return is_ours && supersede(transfer, AFC_CACHE_USE_VALIDATED);
    }
    afc__reuse_question question = afc__transfer_cache_question(transfer);
    if (afc__status_is_error(head->status) && afc__reuse_on_error(&question)) {
        return supersede(transfer, AFC_CACHE_USE_STALE);
    }
    if (is_head) update_by_head(transfer);
    /* Otherwise a part of the new version wouldn't replace more of the old one. */
    if (head->status == PARTIAL_CONTENT && afc__validators_contradict(head, &cache->head)) {
        afc__http_cache_drop(cache->http_cache, cache->stored);
    }
    return false;
}

/* ---- The rest of a part ------------------------------------------------------------------------ */

/** Replaces the received head by that of the whole, and puts the part in front of the body. */
static void complete(afc__transfer *transfer, const afc_head *whole) {
    afc_failure failure;
    afc__hop_cache *cache = transfer->hop_cache;
    afc__hop *hop = &transfer->hop;
    afc__head_reader_reopen(hop->reader);
    afc_status status = afc__head_reader_set(hop->reader, whole, &failure);
    if (status == AFC_OK) {
        status = afc__head_framing(&hop->reader->head, false, &hop->framing, &failure);
    }
    if (status != AFC_OK) {
        afc__transfer_fail(transfer, &failure);
        return;
    }
    hop->from_cache = (uint32_t)cache->part.size; /* Limited by may_complete(). */
    hop->kept = cache->part;
    hop->kept_offset = 0;
    hop->kept_received = (int64_t)cache->part.size;
    afc__buffer_init(&cache->part, 0);
}

/**
 * Makes the head of the whole: the fields of the rest, and those of the part that the rest doesn't have (RFC 9111 3.4).
 * false: memory is out, or the reader has no room for a second head.
 */
static bool complete_head(afc__transfer *transfer) {
    const afc_head *received = received_head(transfer);
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(transfer->hop_cache->stored);
    afc__http_cache_control control;
    afc__fields fields;
    afc__cached_response_head whole;
    afc_head head = *received;
    bool fits = false;
    afc__response_control_read(&control, received->headers, received->header_count);
    /* A copy: the reader that has the received fields is about to get the whole. */
    if (!copy_updated(&fields, &meta->head, received, &control)) return false;
    head.headers = fields.headers;
    head.header_count = fields.count;
    afc__cached_response response = {
        .kind = AFC__CACHED_RESPONSE_COMPLETED, .head = &head, .total = meta->total};
    if (afc__cached_response_make_head(&whole, &response) == AFC_OK) {
        fits = afc__head_reader_fits(transfer->hop.reader, &whole.head);
        if (fits) complete(transfer, &whole.head);
        afc__cached_response_clear_head(&whole);
    }
    afc__fields_clear(&fields);
    return fits;
}

/** The server was asked for the rest of a part. true: it is asked again, for the whole. */
static bool take_rest(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = received_head(transfer);
    bool is_about_part = head->status == PARTIAL_CONTENT || head->status == NOT_MODIFIED ||
                         head->status == RANGE_NOT_SATISFIABLE;
    if (!is_about_part) return false;
    bool completes = afc__rest_completes(afc__http_cache_stored_meta(cache->stored),
                                         cache->part.size, head, &transfer->hop.framing);
    return !(completes && complete_head(transfer)) && ask_again(transfer);
}

bool afc__transfer_cache_head(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL || cache->state == AFC__HOP_CACHE_REPLAYING) return false;
    if (cache->key.size == 0) return false;
    invalidate(transfer);
    if (cache->state == AFC__HOP_CACHE_IGNORED) {
        const afc__request_head *request = &transfer->request;
        bool may_store = afc__request_head_is(&transfer->request, "POST") &&
                         transfer->cache_policy != AFC_HTTP_CACHE_BYPASS &&
                         !afc__request_is_unkeyed(request->headers, request->header_count);
        if (may_store) begin_storing(transfer);
        return false;
    }
    if (cache->state == AFC__HOP_CACHE_VALIDATING && take_verdict(transfer)) return true;
    if (cache->state == AFC__HOP_CACHE_COMPLETING && take_rest(transfer)) return true;
    if (!afc__transfer_has_failed(transfer) && afc__request_head_is(&transfer->request, "GET"))
        begin_storing(transfer);
    return false;
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

/** A part without a length may be longer than its range: then it is unknown which part it is. */
static bool is_within_range(const afc__transfer *transfer) {
    afc__byte_range range;
    int64_t total;
    const afc_head *head = received_head(transfer);
    if (head->status != PARTIAL_CONTENT) return true;
    return afc__content_range_read(head, &range, &total) == AFC__CONTENT_RANGE_PART &&
           transfer->hop_cache->written <= (uint64_t)(range.last - range.first + 1);
}

static bool has_all(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    if (!is_within_range(transfer)) return false;
    /* Cut before its first byte, it would look like an empty one. */
    if (afc__transfer_ends_with_gzip(transfer) && transfer->hop.decoded == 0) return false;
    if (framing->kind != AFC__FRAMING_LENGTH || afc__transfer_decodes_body(transfer)) return true;
    return transfer->hop_cache->written == (uint64_t)framing->length;
}

/**
 * Returns whether the beginning of an incomplete body is stored, so that the rest can be requested later (RFC 9111
 * 3.3). The store keeps what is longer.
 */
static bool keeps_beginning(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    return cache->written <= AFC__HOP_CACHE_COMPLETED_MAX &&
           !afc__transfer_decodes_body(transfer) &&
           afc__beginning_is_useful(received_head(transfer), &transfer->hop.framing,
                                    cache->written);
}

/**
 * The new response was stored, perhaps for other requests than the one that was validated: that is of the past in any case
 * (RFC 9111 4.3.3). Without a validation the answer may be an older one of a cache between.
 */
static void drop_validated(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    bool is_replaced = cache->state == AFC__HOP_CACHE_VALIDATING &&
                       afc__status_supersedes(received_head(transfer)->status);
    if (is_replaced) afc__http_cache_drop(cache->http_cache, cache->stored);
}

/** NULL: it is stored. */
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

void afc__transfer_cache_release(afc__transfer *transfer) {
    if (transfer->hop_cache != NULL) afc__transfer_release_waiters(transfer);
}

/* ---- Errors -------------------------------------------------------------------------------- */

bool afc__transfer_may_use_stale(const afc__transfer *transfer) {
    const afc__hop_cache *cache = transfer->hop_cache;
    if (cache == NULL || cache->state != AFC__HOP_CACHE_VALIDATING) return false;
    afc__reuse_question question = afc__transfer_cache_question(transfer);
    return afc__reuse_on_error(&question);
}

void afc__transfer_choose_stale(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->use = AFC_CACHE_USE_STALE;
    cache->done = (afc__stored_body){AFC__FILLED_BY_STALE, cache->content};
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_CHOSEN);
}
