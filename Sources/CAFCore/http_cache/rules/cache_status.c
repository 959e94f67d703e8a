#include "http_cache/rules/cache_status.h"

enum { OK = 200, NOT_MODIFIED = 304, PARTIAL_CONTENT = 206, GATEWAY_TIMEOUT = 504 };

/** Appends to a text that has room for it. */
static void append(char *text, size_t *size, const char *more) {
    size_t count = strlen(more);
    memcpy(text + *size, more, count);
    *size += count;
}

/**
 * Appends a number in decimal. Without snprintf(), which was a tenth of a hit's instructions (the row cache_hit in
 * Benchmarks).
 */
static void append_number(char *text, size_t *size, int64_t number) {
    char digits[AFC__CACHED_RESPONSE_NUMBER_SIZE];
    size_t first = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0) digits[--first] = '-';
    memcpy(text + *size, digits + first, sizeof digits - first);
    *size += sizeof digits - first;
}

static void add(afc__cached_response_head *out, const char *name, const char *value, size_t size) {
    afc__field_list_add(&out->fields, afc_slice_of(name), (afc_slice){value, size});
}

static void add_length(afc__cached_response_head *out, int64_t length) {
    size_t size = 0;
    append_number(out->length, &size, length);
    add(out, "Content-Length", out->length, size);
}

/**
 * Returns whether a stored field is passed on: not those that are written anew nor, in a 304, those that describe a
 * body (RFC 9110 15.4.5).
 */
static bool is_kept(const afc__cached_response *response, afc_slice name) {
    if (afc__same_name(name, "Content-Length") || afc__same_name(name, "Content-Range")) {
        return response->kind != AFC__CACHED_RESPONSE_COMPLETED && response->range == NULL &&
               !response->is_not_modified;
    }
    return response->kind == AFC__CACHED_RESPONSE_COMPLETED || !afc__same_name(name, "Age");
}

static void add_part(afc__cached_response_head *out, const afc__cached_response *response) {
    afc__content_range_write(out->range, *response->range, response->total);
    add(out, "Content-Range", out->range, strlen(out->range));
    add_length(out, response->range->last - response->range->first + 1);
}

static void add_age(afc__cached_response_head *out, const afc__cached_response *response) {
    bool is_validated = response->kind == AFC__CACHED_RESPONSE_VALIDATED;
    size_t age_size = 0, size = 0;
    append_number(out->age, &age_size, response->age);
    add(out, "Age", out->age, age_size);
    append(out->status, &size,
           is_validated ? "afcore; fwd=stale; fwd-status=304; ttl=" : "afcore; hit; ttl=");
    append_number(out->status, &size, response->lifetime - response->age);
    add(out, "Cache-Status", out->status, size);
}

static void add_literal(afc__cached_response_head *out, const char *name, const char *value) {
    add(out, name, value, strlen(value));
}

static void make_missing(afc__cached_response_head *out) {
    out->head = (afc_head){.status = GATEWAY_TIMEOUT,
                           .version = AFC_HTTP_1_1,
                           .reason = afc_slice_of("Gateway Timeout")};
    add_literal(out, "Content-Length", "0");
    add_literal(out, "Cache-Status", "afcore; detail=not-stored");
}

static void set_status(afc_head *head, int status, const char *reason) {
    head->status = status;
    head->reason = afc_slice_of(reason);
}

/** Returns the version to report: HTTP/2 if a program has stored the response without one. */
static afc_http_version version_of(const afc_head *head) {
    bool is_known = head->version == AFC_HTTP_1_0 || head->version == AFC_HTTP_1_1 ||
                    head->version == AFC_HTTP_3;
    return is_known ? head->version : AFC_HTTP_2;
}

static void make_stored(afc__cached_response_head *out, const afc__cached_response *response) {
    const afc_head *head = response->head;
    out->head = *head;
    out->head.version = version_of(head);
    if (response->range != NULL) set_status(&out->head, PARTIAL_CONTENT, "Partial Content");
    if (response->is_not_modified) set_status(&out->head, NOT_MODIFIED, "Not Modified");
    if (response->kind == AFC__CACHED_RESPONSE_COMPLETED) set_status(&out->head, OK, "OK");
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *header = &head->headers[i];
        if (is_kept(response, header->name)) {
            afc__field_list_add(&out->fields, header->name, header->value);
        }
    }
    if (response->range != NULL) add_part(out, response);
    if (response->kind == AFC__CACHED_RESPONSE_COMPLETED) {
        add_length(out, response->total);
        add_literal(out, "Cache-Status", "afcore; fwd=partial; fwd-status=206");
    } else {
        add_age(out, response);
    }
}

afc_status afc__cached_response_make_head(afc__cached_response_head *out,
                                          const afc__cached_response *response) {
    size_t most = AFC__CACHED_RESPONSE_MORE_FIELDS;
    if (response->kind != AFC__CACHED_RESPONSE_MISSING) most += response->head->header_count;
    afc_status status = afc__field_list_init(&out->fields, most);
    if (status != AFC_OK) return status;
    if (response->kind == AFC__CACHED_RESPONSE_MISSING) {
        make_missing(out);
    } else {
        make_stored(out, response);
    }
    out->head.headers = out->fields.headers;
    out->head.header_count = out->fields.count;
    return AFC_OK;
}

void afc__cached_response_clear_head(afc__cached_response_head *head) {
    afc__field_list_clear(&head->fields);
}
