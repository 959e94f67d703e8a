/* Writes the fields of a request in libcurl's notation. */
#include "curl/request/request_fields.h"

#include "base/alloc.h"
#include "curl/exchange_state.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache.h"

#include <string.h>

enum {
    /*
     * The largest head. libcurl's own limit is 1 MiB for a head with a small body, and its error would be
     * CURLE_OUT_OF_MEMORY.
     */
    MAX_HEAD = 900 * 1024,
    /* The longest field: MAX_HTTP_RESP_HEADER_SIZE of libcurl; see has_long_field(). */
    MAX_FIELD = 300 * 1024
};

/**
 * Writes a field in libcurl's notation: "Name: value", "Name;" for an empty value, "Name:" to
 * suppress the field.
 */
static afc_status add_field(afc__buffer *text, afc_slice name, const char *mark, afc_slice value) {
    afc_status status = afc__buffer_append(text, name.bytes, name.size);
    if (status == AFC_OK) status = afc__buffer_append(text, mark, strlen(mark));
    if (status == AFC_OK) status = afc__buffer_append(text, value.bytes, value.size);
    if (status == AFC_OK) status = afc__buffer_append(text, "", 1);
    return status;
}

static afc_status remove_field(afc__buffer *text, const char *name) {
    return add_field(text, afc_slice_of(name), ":", afc_slice_of(""));
}

/**
 * Writes a default field, unless the request sets or suppresses it. Default fields are in the same list as the
 * request's, so that one rule decides which are sent.
 */
static afc_status add_default(const afc__exchange *exchange, afc__buffer *text, const char *name,
                              const char *value, size_t *count) {
    const afc__request_head *request = &exchange->hop.transfer->request;
    if (value == NULL || afc__request_head_mentions(request, name)) return AFC_OK;
    ++*count;
    return add_field(text, afc_slice_of(name), ": ", afc_slice_of(value));
}

/**
 * Returns whether Expect must be suppressed: by default libcurl adds "Expect: 100-continue" for every body that it
 * reads through a callback, of any size. Any other expectation of the caller is sent.
 */
static bool must_not_ask(const afc__transfer *transfer) {
    const afc__request_head *request = &transfer->request;
    if (afc__transfer_expects(transfer)) return false;
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header *header = &request->headers[i];
        bool is_other = afc__same_name(header->name, "Expect") &&
                        !afc__is_continue_expectation(header);
        if (is_other) return false;
    }
    return true;
}

/** Returns whether Expect must be added, as libcurl would omit it although the caller demands it. */
static bool must_ask(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    return afc__transfer_expects(transfer) && transfer->expect == AFC_EXPECT_ALWAYS &&
           exchange->driver->quirks.omits_expect_of_short_bodies;
}

/** Suppresses fields that libcurl would add by default. */
static afc_status remove_additions(const afc__exchange *exchange, afc__buffer *text,
                                   size_t *count) {
    const afc__transfer *transfer = exchange->hop.transfer;
    const char *const unwanted[] = {
        afc__request_head_sends(&transfer->request, afc_slice_of("Content-Type")) ? NULL
                                                                                  : "Content-Type",
        must_not_ask(transfer) ? "Expect" : NULL,
        /* libcurl chunks a body of unknown length; after a 101 it must not. */
        transfer->purpose == AFC__PURPOSE_UPGRADE ? "Transfer-Encoding" : NULL};
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) {
        if (unwanted[i] == NULL) continue;
        if (remove_field(text, unwanted[i]) != AFC_OK) return AFC_ENOMEM;
        ++*count;
    }
    return AFC_OK;
}

/** Writes the caller's fields. Suppressing a field has no effect if the caller also sets it. */
static afc_status add_own(const afc__request_head *request, afc__buffer *text,
                          const afc_header *header, size_t *count) {
    if (header->flags & AFC_HEADER_REMOVE) {
        if (afc__request_head_sends(request, header->name)) return AFC_OK;
        ++*count;
        return add_field(text, header->name, ":", afc_slice_of(""));
    }
    ++*count;
    /* Trimmed, as libcurl would take "Name:   " for a field that is to be removed. */
    afc_slice value = afc__trim(header->value);
    return add_field(text, header->name, value.size == 0 ? ";" : ": ", value);
}

/** Returns whether a field is for a proxy (RFC 9110 section 11.7.2), but this head goes to the server. */
static bool is_for_proxy(const afc__transfer *transfer, const afc_header *header) {
    const afc__proxy *proxy = transfer->hop.proxy;
    bool forwards = proxy != NULL && afc__proxy_speaks_http(proxy) &&
                    !afc__transfer_needs_tunnel(transfer);
    return !forwards && afc__same_name(header->name, "Proxy-Authorization");
}

/** Returns whether a field of the request is a Cookie field that was merged into the hop's Cookie field. */
static bool is_merged_cookie(const afc__transfer *transfer, const afc_header *header) {
    return transfer->hop.cookies != NULL && afc__same_name(header->name, "Cookie");
}

static afc_status write_fields(afc__exchange *exchange, afc__buffer *text, size_t *count) {
    const afc__request_head *request = &exchange->hop.transfer->request;
    const afc__driver *driver = exchange->driver;
    const afc__transfer *transfer = exchange->hop.transfer;
    bool is_plain = transfer->coding != AFC__CODING_DECODED;
    const char *encodings = is_plain ? "identity" : driver->encodings;
    *count = 0;
    afc_status status = add_default(exchange, text, "Accept-Encoding", encodings, count);
    if (status == AFC_OK) {
        status = add_default(exchange, text, "User-Agent", driver->user_agent, count);
    }
    const char *authorization = afc__transfer_authorization(transfer);
    if (status == AFC_OK) {
        status = add_default(exchange, text, "Authorization", authorization, count);
    }
    if (status == AFC_OK && transfer->hop.cookies != NULL) {
        ++*count;
        status = add_field(text, afc_slice_of("Cookie"), ": ", afc_slice_of(transfer->hop.cookies));
    }
    size_t condition_count;
    const afc_header *conditions = afc__transfer_conditions(transfer, &condition_count);
    for (size_t i = 0; i < condition_count && status == AFC_OK; i++) {
        status = add_own(request, text, &conditions[i], count);
    }
    for (size_t i = 0; i < request->header_count && status == AFC_OK; i++) {
        /* libcurl adds "Expect: 100-continue" where it can, and then waits for the response. */
        if (afc__is_continue_expectation(&request->headers[i])) continue;
        if (is_for_proxy(transfer, &request->headers[i])) continue;
        if (is_merged_cookie(transfer, &request->headers[i])) continue;
        status = add_own(request, text, &request->headers[i], count);
    }
    int kind = exchange->state.request_kind;
    bool has_content = kind == AFC__KIND_POST || kind == AFC__KIND_UPLOAD;
    if (status == AFC_OK && has_content) status = remove_additions(exchange, text, count);
    if (status == AFC_OK && has_content && must_ask(exchange)) {
        ++*count;
        status = add_field(text, afc_slice_of("Expect"), ": ", afc_slice_of("100-continue"));
    }
    return status;
}

static size_t size_of_text(const char *text) {
    return text != NULL ? strlen(text) : 0;
}

/** Returns an upper limit of the size that write_fields() writes. */
static size_t size_of_fields(const afc__exchange *exchange) {
    enum { NAMES_OF_DEFAULTS = 256, MARKS = 3 };
    const afc__transfer *transfer = exchange->hop.transfer;
    const afc__request_head *request = &transfer->request;
    size_t size = NAMES_OF_DEFAULTS + size_of_text(exchange->driver->encodings) +
                  size_of_text(exchange->driver->user_agent) +
                  size_of_text(afc__transfer_authorization(transfer)) +
                  size_of_text(transfer->hop.cookies);
    for (size_t i = 0; i < request->header_count; i++) {
        size += request->headers[i].name.size + request->headers[i].value.size + MARKS;
    }
    size_t count;
    const afc_header *conditions = afc__transfer_conditions(transfer, &count);
    for (size_t i = 0; i < count; i++) {
        size += conditions[i].name.size + conditions[i].value.size + MARKS;
    }
    return size;
}

/** Returns whether libcurl would omit a field because of its length. */
static bool has_long_field(const afc__exchange *exchange, size_t count) {
    if (!exchange->driver->quirks.omits_long_fields) return false;
    if (exchange->field_text.size <= MAX_FIELD) return false;
    for (size_t i = 0; i < count; i++) {
        if (strlen(exchange->fields[i].data) > MAX_FIELD) return true;
    }
    return false;
}

/** Returns AFC__FIELDS_OF_REQUEST if the hop has fields of its own, or which of the shared lists it uses. */
static unsigned kind_of_fields(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    size_t condition_count;
    (void)afc__transfer_conditions(transfer, &condition_count);
    int kind = exchange->state.request_kind;
    bool has_own = transfer->request.header_count > 0 || condition_count > 0 ||
                   transfer->hop.cookies != NULL || kind == AFC__KIND_POST ||
                   kind == AFC__KIND_UPLOAD || afc__transfer_authorization(transfer) != NULL;
    if (has_own) return AFC__FIELDS_OF_REQUEST;
    return transfer->coding == AFC__CODING_DECODED ? AFC__FIELDS_DECODED : AFC__FIELDS_PLAIN;
}

static afc_status set_fields(afc__exchange *exchange) {
    afc__buffer *text = &exchange->field_text;
    size_t count;
    unsigned kind = kind_of_fields(exchange);
    if (kind != AFC__FIELDS_OF_REQUEST && kind == exchange->state.fields) return AFC_OK;
    exchange->state.fields = AFC__FIELDS_OF_REQUEST;
    text->size = 0;
    /* Reserved at once, because a growing buffer would leave copies of secrets behind that aren't overwritten. */
    afc_status status = afc__buffer_reserve(text, size_of_fields(exchange));
    if (status == AFC_OK) status = write_fields(exchange, text, &count);
    if (status != AFC_OK) return status;
    if (count > exchange->field_capacity) {
        size_t capacity = count + 8;
        struct curl_slist *fields = afc__realloc(exchange->fields,
                                                 capacity * sizeof *exchange->fields);
        if (fields == NULL) return AFC_ENOMEM;
        exchange->fields = fields;
        exchange->field_capacity = capacity;
    }
    char *line = text->bytes;
    for (size_t i = 0; i < count; i++) {
        exchange->fields[i].data = line;
        exchange->fields[i].next = i + 1 < count ? &exchange->fields[i + 1] : NULL;
        line += strlen(line) + 1;
    }
    AFC__SET(exchange, CURLOPT_HTTPHEADER, count > 0 ? exchange->fields : NULL);
    if (has_long_field(exchange, count)) return AFC_ETOOBIG;
    if (exchange->state.refusal == CURLE_OK) exchange->state.fields = kind;
    return AFC_OK;
}

/** Returns whether libcurl can build the head: the request line, which may contain the whole URL, and the fields. */
static bool has_short_head(const afc__exchange *exchange) {
    const afc__request_head *request = &exchange->hop.transfer->request;
    size_t line = strlen(request->method) + strlen(request->url.text);
    return line <= MAX_HEAD && exchange->field_text.size <= MAX_HEAD - line;
}

afc_status afc__exchange_set_fields(afc__exchange *exchange) {
    afc_status status = set_fields(exchange);
    return status == AFC_OK && !has_short_head(exchange) ? AFC_ETOOBIG : status;
}

void afc__exchange_forget_fields(afc__exchange *exchange) {
    /*
     * Always overwritten, unless they are the session's default ones, which stay for the next hop: any field of a
     * request may be a secret, such as its own Authorization or Cookie.
     */
    bool is_own = exchange->state.fields == AFC__FIELDS_OF_REQUEST;
    if (is_own) afc__buffer_wipe(&exchange->field_text);
    afc__buffer_wipe(&exchange->proxy_text);
}
