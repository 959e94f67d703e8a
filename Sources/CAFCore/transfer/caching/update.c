/* At the final head of a hop: updates or removes what is stored, or uses it instead of the response. */
#include "http_cache/completion.h"
#include "http_cache/memory/key.h"
#include "http_cache/rules/invalidation.h"
#include "http_cache/rules/storability.h"
#include "http_cache/rules/stored_fields.h"
#include "transfer/caching/hop_cache_internal.h"

#include <time.h>

enum { PARTIAL_CONTENT = 206, NOT_MODIFIED = 304, RANGE_NOT_SATISFIABLE = 416 };

/* ---- Updating ------------------------------------------------------------------------------ */

static bool has_field(const afc_header *fields, size_t count, afc_slice name) {
    for (size_t i = 0; i < count; i++) {
        if (afc__same_names(fields[i].name, name)) return true;
    }
    return false;
}

/**
 * Writes the selecting fields of a stored response that `update` has updated: Vary and the directives may have changed.
 * If `update` has no Vary, the old selecting fields are kept and others may be added. They can't be derived from the
 * stored head, which on_cache may have edited.
 */
static afc_status select_updated(const afc__transfer *transfer, afc__fields *out,
                                 const afc__http_cache_meta *meta, const afc_head *update) {
    const afc__http_cache_control *control = &transfer->hop_cache->control;
    const afc_header *old = meta->request_fields;
    if (afc_head_find(update, "Vary") != NULL)
        return afc__hop_cache_add_selecting(transfer, out, &meta->head, control);
    afc__fields added;
    afc_status status = afc__hop_cache_add_selecting(transfer, &added, &meta->head, control);
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
 * Stores `meta`, whose head was updated by the later head `update`, in place of the stored response. `changes` are the
 * directives of that later head.
 */
static void store_updated(afc__transfer *transfer, afc__http_cache_meta *meta,
                          const afc_head *update, const afc__http_cache_control *changes) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__field_list kept;
    afc__fields selecting;
    bool is_forbidden = (changes->flags & AFC__CONTROL_NO_STORE) != 0 ||
                        afc__vary_is_any(&meta->head);
    if (!is_forbidden && afc__hop_cache_why_not_kept(transfer) != NULL) return;
    /*
     * Fields that no-cache="..." names were validated for this response only, and aren't stored (RFC 9111 section
     * 5.2.2.4).
     */
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
 * Copies the fields of a stored head, updated by those of a later one. The latter gets the time of its receipt as its
 * Date if it has none (RFC 9110 section 6.6.1). Returns false if there are too many fields, or when out of memory.
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
 * Updates the stored response by the fields of a later head (RFC 9111 section 3.2). If there are too many, or out of
 * memory, the stored response is used unchanged, and removed.
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

/** Updates or removes the stored response to GET by a response to HEAD (RFC 9111 section 4.3.5). */
static void update_by_head(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = afc__hop_cache_received(transfer), *stored = &cache->head;
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
    const afc_head *head = afc__hop_cache_received(transfer);
    const afc__url *url = &transfer->request.url;
    if (afc__method_is_safe(transfer->request.method) || !afc__status_invalidates(head->status))
        return;
    bool was_current = afc__hop_cache_is_current(transfer->hop_cache);
    remove_url(transfer, url);
    for (size_t i = 0; i < 2; i++) {
        afc__url other;
        if (!afc__invalidated_url(&other, url, head, i)) continue;
        remove_url(transfer, &other);
        afc__url_clear(&other);
    }
    /* The mark is taken anew, so that the response to the unsafe request itself may be stored. */
    afc__hop_cache *cache = transfer->hop_cache;
    if (was_current)
        cache->mark = afc__http_cache_take_mark(cache->http_cache, afc__buffer_slice(&cache->key));
}

/* ---- Verdicts of the server ----------------------------------------------------------------- */

static bool supersede(afc__transfer *transfer, afc_http_cache_use use) {
    afc__hop_cache *cache = transfer->hop_cache;
    cache->use = use;
    if (use == AFC_CACHE_USE_STALE)
        cache->done = (afc__stored_body){AFC__FILLED_BY_STALE, cache->content};
    afc__hop_cache_enter(transfer->hop_cache, AFC__HOP_CACHE_CHOSEN);
    afc__hop_enter(&transfer->hop, AFC__PHASE_SUPERSEDED);
    return true;
}

/** Drops the stored response, which is useless: the lookup, and then a request without conditions, begin anew. */
static bool ask_again(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    afc__http_cache_drop(cache->http_cache, cache->stored);
    afc__hop_cache_release_stored(cache);
    afc__hop_cache_enter(cache, AFC__HOP_CACHE_NEW);
    afc__hop_enter(&transfer->hop, AFC__PHASE_SUPERSEDED);
    return true;
}

/**
 * Handles the response to a validation. Returns true if it isn't the task's response: the stored one is used, or the
 * server is asked again.
 */
static bool take_verdict(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = afc__hop_cache_received(transfer);
    bool is_head = afc__request_head_is(&transfer->request, "HEAD");
    if (head->status == NOT_MODIFIED) {
        bool is_ours = cache->condition_count > 0;
        bool is_other = afc__validators_contradict(head, &cache->head);
        if (is_ours && is_other) return ask_again(transfer);
        /* A 304 to the request's own conditions may be about another response than the stored one. */
        if (!is_ours && (is_other || !afc__validators_agree(head, &cache->head))) return false;
        update_stored(transfer, head);
        return is_ours && supersede(transfer, AFC_CACHE_USE_VALIDATED);
    }
    afc__reuse_question question = afc__transfer_cache_question(transfer);
    if (afc__status_is_error(head->status) && afc__reuse_on_error(&question)) {
        return supersede(transfer, AFC_CACHE_USE_STALE);
    }
    if (is_head) update_by_head(transfer);
    /* A part of the new version wouldn't replace a longer part of the old one by itself. */
    if (head->status == PARTIAL_CONTENT && afc__validators_contradict(head, &cache->head)) {
        afc__http_cache_drop(cache->http_cache, cache->stored);
    }
    return false;
}

/* ---- The rest of a part ------------------------------------------------------------------------ */

/** Replaces the received head by that of the whole response, and puts the stored part before the body. */
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
    hop->from_cache = (uint32_t)cache->part.size; /* may_complete() limits the size. */
    hop->kept = cache->part;
    hop->kept_offset = 0;
    hop->kept_received = (int64_t)cache->part.size;
    afc__buffer_init(&cache->part, 0);
}

/**
 * Makes the head of the whole response: the fields of the rest, and those of the stored part that the rest doesn't have
 * (RFC 9111 section 3.4). Returns false when out of memory, or if the reader has no room for a second head.
 */
static bool complete_head(afc__transfer *transfer) {
    const afc_head *received = afc__hop_cache_received(transfer);
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(transfer->hop_cache->stored);
    afc__http_cache_control control;
    afc__fields fields;
    afc__cached_response_head whole;
    afc_head head = *received;
    bool fits = false;
    afc__response_control_read(&control, received->headers, received->header_count);
    /* Copied, as the reader that has the received fields gets the head of the whole. */
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

/**
 * Handles the response to a request for the rest of a part. Returns true if the server must be asked again, for the
 * whole.
 */
static bool take_rest(afc__transfer *transfer) {
    afc__hop_cache *cache = transfer->hop_cache;
    const afc_head *head = afc__hop_cache_received(transfer);
    bool is_about_part = head->status == PARTIAL_CONTENT || head->status == NOT_MODIFIED ||
                         head->status == RANGE_NOT_SATISFIABLE;
    if (!is_about_part) return false;
    bool completes = afc__rest_completes(afc__http_cache_stored_meta(cache->stored),
                                         cache->part.size, head, &transfer->hop.framing);
    return !(completes && complete_head(transfer)) && ask_again(transfer);
}

/* ---- The final head ------------------------------------------------------------------------ */

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
        if (may_store) afc__hop_cache_begin_fill(transfer);
        return false;
    }
    if (cache->state == AFC__HOP_CACHE_VALIDATING && take_verdict(transfer)) return true;
    if (cache->state == AFC__HOP_CACHE_COMPLETING && take_rest(transfer)) return true;
    if (!afc__transfer_has_failed(transfer) && afc__request_head_is(&transfer->request, "GET"))
        afc__hop_cache_begin_fill(transfer);
    return false;
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
