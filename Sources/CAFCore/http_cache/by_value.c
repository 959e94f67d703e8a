/* Responses as values: a program looks one up, or stores one of its own. */
#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "base/text.h"
#include "http_cache/memory/key.h"
#include "http_cache/rules/freshness.h"
#include "http_cache/rules/identity.h"
#include "http_cache/rules/storability.h"
#include "http_cache/rules/stored_fields.h"
#include "http_cache/rules/vary.h"
#include "http_cache/store_body.h"
#include "message/head.h"
#include "run/waiter.h"

#include <time.h>

/* ---- The request --------------------------------------------------------------------------- */

typedef struct cache_query {
    afc__buffer key;
    char identity[AFC__FINGERPRINT_SIZE];
    afc__http_cache_request request;
    bool accepts_any;
} cache_query;

static afc_slice key_of(const cache_query *query) {
    return afc__buffer_slice(&query->key);
}

/**
 * Returns whether the request asks for something that the URL doesn't name, so that sessions neither store nor use a
 * response to it.
 */
static bool is_unkeyed(const cache_query *query) {
    return afc__request_is_unkeyed(query->request.headers, query->request.header_count);
}

static void clear_query(cache_query *query) {
    afc__buffer_clear(&query->key);
}

/** Checks a request and makes its key and identity. On failure there is nothing to clear. */
static afc_status read_query(cache_query *out, const afc_http_cache_request *given,
                             afc_failure *failure) {
    AFC__READ_SIZED(afc_http_cache_request, AFC_HTTP_CACHE_REQUEST_INIT, credentials, given,
                    failure);
    if (given->url == NULL) return afc__fail(failure, AFC_EINVAL, "the request has no URL");
    afc_status status = afc__check_header_pointers(given->headers, given->header_count, failure);
    if (status != AFC_OK) return status;
    afc__buffer_init(&out->key, AFC__HTTP_CACHE_KEY_MAX);
    status = afc__http_cache_key_parse(&out->key, given->partition, given->url, failure);
    afc__identity_question whose = {given->headers, given->header_count, given->credentials, false};
    if (status == AFC_OK && !afc__identity_of(out->identity, &whose)) {
        status = afc__fail_memory(failure);
    }
    out->request = (afc__http_cache_request){
        .headers = given->headers, .header_count = given->header_count, .identity = out->identity};
    out->accepts_any = given->accepts_any;
    if (status != AFC_OK) clear_query(out);
    return status;
}

/* ---- Looking up ---------------------------------------------------------------------------- */

typedef struct response_copy {
    afc_http_cache_response response;
    afc__http_cache_stored *stored; /* Owns the head. */
    afc__buffer body;
} response_copy;

static bool has_field(const afc__http_cache_request *request, afc_slice name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (afc__same_names(request->headers[i].name, name)) return true;
    }
    return false;
}

/**
 * Returns whether the request selects this response. Fields that sessions add are compared only if the request has
 * them.
 */
static bool is_selected(const afc__http_cache_meta *meta, const afc__http_cache_request *request) {
    for (size_t i = 0; i < meta->request_field_count; i++) {
        const afc_header *field = &meta->request_fields[i];
        bool is_added = afc__same_name(field->name, "User-Agent") ||
                        afc__same_name(field->name, "Accept-Encoding");
        if (is_added && !has_field(request, field->name)) continue;
        if (!afc__selecting_fields_match(field, 1, request)) return false;
    }
    return true;
}

/**
 * Returns the newest response that the query selects, without parts (206), and releases the others. Returns NULL if no
 * response fits.
 */
static afc__http_cache_stored *take_selected(afc__http_cache_found *found,
                                             const cache_query *query) {
    afc__http_cache_stored *taken = NULL;
    for (size_t i = 0; i < found->count; i++) {
        const afc__http_cache_meta *meta = afc__http_cache_stored_meta(found->stored[i]);
        bool is_wanted = taken == NULL && meta->head.status != 206 &&
                         (query->accepts_any || is_selected(meta, &query->request));
        if (is_wanted) {
            taken = found->stored[i];
        } else {
            afc__http_cache_stored_release(found->stored[i]);
        }
    }
    return taken;
}

/** Finds the response that the request selects; `*out` is NULL if none is stored. */
static afc_status find(afc__http_cache_stored **out, afc_http_cache *cache,
                       const cache_query *query) {
    afc__waiter waiter = AFC__WAITER_INIT;
    afc__http_cache_find *op;
    afc__http_cache_found found;
    afc__http_cache_wake wake = {afc__waiter_wake, &waiter};
    if (afc__http_cache_find_begin(cache, key_of(query), wake, &op, &found) ==
        AFC__HTTP_CACHE_PENDING) {
        afc__waiter_wait(&waiter);
        afc__http_cache_find_take(op, &found);
        afc__http_cache_find_free(op);
    }
    *out = take_selected(&found, query);
    if (!found.lacks_memory) return AFC_OK;
    /* A variant that couldn't be read may be the one that the request selects, or a newer one. */
    afc__http_cache_stored_release(*out);
    *out = NULL;
    return AFC_ENOMEM;
}

/** Reads the body into `copy`. If it is damaged, `*is_broken` becomes true: that counts as a miss. */
static afc_status read_body(afc_http_cache *cache, response_copy *copy, bool *is_broken) {
    afc__waiter waiter = AFC__WAITER_INIT;
    afc__http_cache_wake wake = {afc__waiter_wake, &waiter};
    afc__http_cache_reader *reader = afc__http_cache_reader_open(cache, copy->stored, 0, wake);
    if (reader == NULL) return AFC_ENOMEM;
    afc_status status = AFC_OK;
    afc__http_cache_step step = AFC__HTTP_CACHE_PENDING;
    while (status == AFC_OK && step != AFC__HTTP_CACHE_END && step != AFC__HTTP_CACHE_BROKEN) {
        afc_slice piece;
        step = afc__http_cache_read(reader, &piece);
        if (step == AFC__HTTP_CACHE_PENDING) afc__waiter_wait(&waiter);
        if (step == AFC__HTTP_CACHE_READY) {
            status = afc__buffer_append(&copy->body, piece.bytes, piece.size);
        }
    }
    *is_broken = step == AFC__HTTP_CACHE_BROKEN;
    afc__http_cache_reader_close(reader);
    return status;
}

static void describe(response_copy *copy) {
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(copy->stored);
    afc__http_cache_terms storage;
    const afc__http_cache_terms *terms = afc__http_cache_stored_terms(copy->stored, &storage);
    copy->response = (afc_http_cache_response){
        .size = sizeof copy->response,
        .head = meta->head,
        .body = {copy->body.bytes, copy->body.size},
        .is_decoded = (meta->flags & AFC__META_DECODED) != 0,
        .response_time_s = meta->response_time,
        .age_s = afc__current_age(&terms->freshness, meta->response_time, (int64_t)time(NULL)),
        .lifetime_s = terms->freshness.lifetime,
    };
}

static void free_copy(response_copy *copy) {
    afc__http_cache_stored_release(copy->stored);
    afc__buffer_clear(&copy->body);
    afc_free(copy);
}

afc_status afc_http_cache_lookup(const afc_http_cache_response **out, afc_http_cache *cache,
                                 const afc_http_cache_request *request, afc_failure *failure) {
    afc_failure ignored;
    cache_query query;
    bool is_broken = false;
    if (failure == NULL) failure = &ignored;
    *out = NULL;
    afc_status status = read_query(&query, request, failure);
    if (status != AFC_OK) return status;
    response_copy *copy = afc__zalloc(sizeof *copy);
    if (copy == NULL) {
        clear_query(&query);
        return afc__fail_memory(failure);
    }
    if (!is_unkeyed(&query)) status = find(&copy->stored, cache, &query);
    bool is_found = copy->stored != NULL;
    if (is_found) {
        afc__buffer_init(&copy->body, afc__http_cache_stored_body_size(copy->stored));
        status = read_body(cache, copy, &is_broken);
        is_found = status == AFC_OK && !is_broken;
    }
    if (is_found) {
        describe(copy);
        *out = &copy->response;
    } else {
        free_copy(copy);
    }
    clear_query(&query);
    return status == AFC_OK ? AFC_OK : afc__fail_memory(failure);
}

void afc_http_cache_response_free(const afc_http_cache_response *response) {
    if (response == NULL) return;
    /* The struct is const only for the program. */
    free_copy((response_copy *)(uintptr_t)response);
}

/* ---- Storing ------------------------------------------------------------------------------- */

static afc_status check_length(const afc_http_cache_response *response, afc_failure *failure) {
    const afc_header *field = afc_head_find(&response->head, "Content-Length");
    int64_t length;
    if (response->head.status == 204 && response->body.size != 0) {
        return afc__fail(failure, AFC_EINVAL, "a response with status 204 has no body");
    }
    if (field == NULL || (response->is_decoded && afc__head_is_encoded(&response->head)))
        return AFC_OK;
    bool is_same = afc__parse_length(field->value, &length) &&
                   (uint64_t)length == response->body.size;
    if (is_same) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "Content-Length isn't the size of the body, %zu",
                     response->body.size);
}

static afc_status check_head(const afc_http_cache_response *response, const cache_query *query,
                             afc__http_cache_control *control, afc_failure *failure) {
    const afc_head *head = &response->head;
    afc__http_cache_control asked;
    if (head->status < 200 || head->status > 599 || head->status == 206) {
        return afc__fail(failure, AFC_EINVAL,
                         "status %d can't be stored: expected 200 to 599, not 206", head->status);
    }
    afc_status status = afc__check_header_pointers(head->headers, head->header_count, failure);
    if (status != AFC_OK) return status;
    if (afc__lacks_bytes(response->body) || afc__lacks_bytes(head->reason)) {
        return afc__fail(failure, AFC_EINVAL, "the body or the reason has a size but no bytes");
    }
    if (response->response_time_s < 0) {
        return afc__fail(failure, AFC_EINVAL, "response_time_s is before 1970: %lld",
                         (long long)response->response_time_s);
    }
    if (!afc__may_be_sent(head->reason)) {
        return afc__fail(failure, AFC_EINVAL, "the reason phrase contains control characters");
    }
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__is_token(head->headers[i].name) || !afc__may_be_sent(head->headers[i].value)) {
            return afc__fail(failure, AFC_EINVAL, "field %zu has an invalid name or value", i);
        }
    }
    if (is_unkeyed(query)) {
        return afc__fail(
            failure, AFC_EINVAL,
            "the request has a field that says what the URL doesn't: Host or a method");
    }
    afc__request_control_read(&asked, query->request.headers, query->request.header_count);
    afc__response_control_read(control, head->headers, head->header_count);
    afc__storable_question question = {
        .method = "GET", .head = head, .request = &asked, .response = control};
    const char *reason = afc__storable_text(afc__storable_of(&question));
    if (reason == NULL) return check_length(response, failure);
    return afc__fail(failure, AFC_EINVAL, "the response must not be stored: %s", reason);
}

/** Writes a response that was checked, and counts a failure. */
static afc_status write_response(afc_http_cache *cache, const cache_query *query,
                                 const afc_http_cache_response *response,
                                 afc__http_cache_meta *meta) {
    afc__http_cache_writing *writing;
    afc_status status = afc__http_cache_begin(&writing, cache, key_of(query), meta,
                                              (int64_t)response->body.size);
    if (status == AFC_OK) {
        status = afc__http_cache_append(writing, response->body, AFC__HTTP_CACHE_WAIT);
    }
    if (status == AFC_OK) {
        /*
         * If it isn't stored because of a removal or a newer response, the result is as if that had followed this call.
         */
        (void)afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT);
        return AFC_OK;
    }
    afc__http_cache_abandon(writing);
    afc__http_cache_count(cache, AFC__HTTP_CACHE_REFUSED);
    /* A failed write isn't an error: the next lookup misses. */
    return status == AFC_EFILE ? AFC_OK : status;
}

/**
 * Returns when a response was received. The precise clock of a caller is up to a tick ahead of time(): right after a
 * second begins, `response_time_s` may be a second in the future, and a response from the future is never fresh.
 */
static int64_t time_received(const afc_http_cache_response *response) {
    int64_t now = (int64_t)time(NULL);
    bool is_now = response->response_time_s == 0 || response->response_time_s == now + 1;
    return is_now ? now : response->response_time_s;
}

static afc_status store(afc_http_cache *cache, const cache_query *query,
                        const afc_http_cache_response *response,
                        const afc__http_cache_control *control) {
    const afc_head *head = &response->head;
    int64_t received = time_received(response);
    afc__http_cache_meta meta = {
        .head = *head, .request_time = received, .response_time = received, .total = -1};
    meta.head.reason = afc__trim(head->reason);
    afc__field_list fields;
    afc__fields selecting;
    meta.flags = AFC__META_OF_PROGRAM;
    if (response->is_decoded) meta.flags |= AFC__META_DECODED;
    afc_status status = afc__stored_fields_select(&fields, head, control);
    if (status != AFC_OK) return status;
    afc__fields_init(&selecting, AFC__SELECTING_MAX);
    bool is_public = afc__control_is_public(control);
    status = afc__selecting_fields_add(&selecting, head, &query->request, is_public);
    if (status == AFC_OK) {
        afc__fields_bind(&selecting, 0);
        meta.head.headers = fields.headers;
        meta.head.header_count = fields.count;
        meta.request_fields = selecting.headers;
        meta.request_field_count = selecting.count;
        status = write_response(cache, query, response, &meta);
    }
    afc__field_list_clear(&fields);
    afc__fields_clear(&selecting);
    return status;
}

afc_status afc_http_cache_store(afc_http_cache *cache, const afc_http_cache_request *request,
                                const afc_http_cache_response *response, afc_failure *failure) {
    afc__http_cache_control control;
    cache_query query;
    AFC__READ_SIZED(afc_http_cache_response, AFC_HTTP_CACHE_RESPONSE_INIT, lifetime_s, response,
                    failure);
    afc_status status = read_query(&query, request, failure);
    if (status != AFC_OK) return status;
    status = check_head(response, &query, &control, failure);
    if (status == AFC_OK) {
        status = store(cache, &query, response, &control);
        if (status == AFC_ENOMEM) (void)afc__fail_memory(failure);
        if (status == AFC_ETOOBIG) {
            (void)afc__fail(failure, status, "the response is too large for the cache");
        }
    }
    clear_query(&query);
    return status;
}
