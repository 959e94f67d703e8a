#include "message/head.h"

#include "base/failure.h"
#include "base/text.h"

void afc__head_reader_init(afc__head_reader *reader, afc__head_limits limits) {
    *reader = (afc__head_reader){.limits = limits};
    afc__fields_init(&reader->fields, limits.bytes);
    afc__fields_init(&reader->trailers, limits.bytes);
}

void afc__head_reader_clear(afc__head_reader *reader) {
    afc__fields_clear(&reader->fields);
    afc__fields_clear(&reader->trailers);
    afc__head_reader_init(reader, reader->limits);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static afc_status count_bytes(afc__head_reader *reader, size_t size, afc_failure *failure) {
    if (size <= reader->limits.bytes - reader->bytes) {
        reader->bytes += size;
        return AFC_OK;
    }
    return afc__give_reason(failure, AFC_REASON_HEAD_LIMIT,
                            afc__fail(failure, AFC_ETOOBIG,
                                      "the response's heads exceed the limit of %u bytes",
                                      (unsigned)reader->limits.bytes));
}

static afc_slice without_line_end(afc_slice line) {
    if (line.size != 0 && line.bytes[line.size - 1] == '\n') {
        line.size--;
        if (line.size != 0 && line.bytes[line.size - 1] == '\r') line.size--;
    }
    return line;
}

static afc_status count_fields(afc__head_reader *reader, size_t count, afc_failure *failure) {
    if (count <= reader->limits.count - reader->field_count) {
        reader->field_count += (uint32_t)count;
        return AFC_OK;
    }
    return afc__give_reason(failure, AFC_REASON_HEAD_LIMIT,
                            afc__fail(failure, AFC_ETOOBIG,
                                      "the response's heads exceed the limit of %u fields",
                                      (unsigned)reader->limits.count));
}

/** Sets the failure's text for AFC_ENOMEM and AFC_ETOOBIG, and returns the status. */
static afc_status explain(afc_status status, afc_failure *failure) {
    return status == AFC_OK ? AFC_OK : afc__fail(failure, status, "%s", afc_status_text(status));
}

/* ---- The status line ----------------------------------------------------------------------- */

static const char http[] = "HTTP/";

bool afc__is_status_line(afc_slice line) {
    return afc__begins_with_name(line, http);
}

static afc_http_version version_of(int major, int minor) {
    switch (major) {
    case 1:
        return minor == 0 ? AFC_HTTP_1_0 : AFC_HTTP_1_1;
    case 2:
        return AFC_HTTP_2;
    case 3:
        return AFC_HTTP_3;
    default:
        return AFC_HTTP_UNKNOWN;
    }
}

/** Parses "HTTP/1.1 200 OK" or "HTTP/2 200". Returns false if the line is malformed. */
static bool parse_status_line(afc_slice line, afc_head *out) {
    if (!afc__begins_with(line, http)) return false;
    const char *at = line.bytes + sizeof http - 1, *end = line.bytes + line.size;
    if (at == end || !afc__is_digit(*at)) return false;
    int major = *at++ - '0', minor = 0;
    if (end - at >= 2 && at[0] == '.' && afc__is_digit(at[1])) {
        minor = at[1] - '0';
        at += 2;
    }
    if (end - at < 4 || at[0] != ' ') return false;
    if (!afc__is_digit(at[1]) || !afc__is_digit(at[2]) || !afc__is_digit(at[3])) return false;
    out->status = (at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0');
    out->version = version_of(major, minor);
    at += 4;
    if (at != end && *at++ != ' ') return false;
    out->reason = afc__trim((afc_slice){at, (size_t)(end - at)});
    return out->status >= 100 && afc__is_field_value(out->reason);
}

/** Returns whether another head follows (RFC 9110 15.2): after 1xx, except for a 101 that was asked for. */
static bool is_informational(const afc__head_reader *reader) {
    bool is_upgrade = reader->head.status == 101 && reader->awaits_upgrade;
    return reader->head.status < 200 && !is_upgrade;
}

static afc_status check_informational(afc__head_reader *reader, afc_failure *failure) {
    if (reader->head.status == 101) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         "unexpected 101: the request asked for no upgrade");
    }
    if (reader->informational == reader->limits.informational) {
        return afc__fail(failure, AFC_ETOOBIG, "more than %u informational responses",
                         (unsigned)reader->limits.informational);
    }
    reader->informational++;
    return AFC_OK;
}

static afc_status begin_head(afc__head_reader *reader, afc_slice line, afc_failure *failure) {
    afc__fields_restart(&reader->fields);
    reader->head = (afc_head){0};
    if (!parse_status_line(line, &reader->head)) {
        return afc__fail(failure, AFC_EPROTOCOL, "the response has no valid status line");
    }
    if (is_informational(reader)) {
        afc_status status = check_informational(reader, failure);
        if (status != AFC_OK) return status;
    }
    reader->state = AFC__HEAD_IN_FIELDS;
    afc_slice reason = reader->head.reason;
    return explain(afc__buffer_append(&reader->fields.text, reason.bytes, reason.size), failure);
}

/* ---- Fields -------------------------------------------------------------------------------- */

static afc_status take_field(afc__head_reader *reader, afc__fields *fields, afc_slice line,
                             afc_failure *failure) {
    afc_slice name = {line.bytes, afc_token_size(line)};
    if (name.size == 0 || name.size == line.size || line.bytes[name.size] != ':') {
        bool has_colon = memchr(line.bytes, ':', line.size) != NULL;
        return afc__fail(failure, AFC_EPROTOCOL,
                         has_colon ? "the name of a header field is not a token"
                                   : "a header line has no colon");
    }
    afc_slice value = {line.bytes + name.size + 1, line.size - name.size - 1};
    afc_status status = count_fields(reader, 1, failure);
    if (status != AFC_OK) return status;
    return explain(afc__fields_add(fields, name, afc__trim(value)), failure);
}

/** Returns the name of the last field, which must exist. */
static afc_slice last_name(const afc__fields *fields) {
    const afc_header *last = &fields->headers[fields->count - 1];
    size_t size = last->name.size + last->value.size;
    return (afc_slice){fields->text.bytes + fields->text.size - size, last->name.size};
}

/**
 * Refuses folded lines of fields that decide where the body ends. libcurl before 8.18.0 reads these fields line by
 * line, and would find other values than this reader does in a joined one. Later versions join the lines before they
 * reach this reader. RFC 9112 5.2 allows a client to refuse a response for its folds.
 */
static afc_status check_fold(const afc__fields *fields, afc_failure *failure) {
    static const char *const framing[] = {"Content-Length", "Transfer-Encoding",
                                          "Content-Encoding"};
    for (size_t i = 0; i < sizeof framing / sizeof *framing; i++) {
        if (!afc__same_name(last_name(fields), framing[i])) continue;
        return afc__fail(failure, AFC_EPROTOCOL, "the response's %s is folded over several lines",
                         framing[i]);
    }
    return AFC_OK;
}

static afc_status take_line(afc__head_reader *reader, afc__fields *fields, afc_slice line,
                            afc_failure *failure) {
    if (!afc__is_field_value(line)) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         "a response header line contains a NUL or a bare CR");
    }
    if (!afc__is_blank(line.bytes[0])) return take_field(reader, fields, line, failure);
    if (fields->count == 0) {
        return afc__fail(failure, AFC_EPROTOCOL, "the first response header line is folded");
    }
    afc_status status = check_fold(fields, failure);
    /* Counted, because libcurl copies the whole field for each of its lines. */
    if (status == AFC_OK) status = count_fields(reader, 1, failure);
    if (status != AFC_OK) return status;
    return explain(afc__fields_fold(fields, afc__trim(line)), failure);
}

static afc__head_step complete_head(afc__head_reader *reader) {
    reader->head.reason.bytes = reader->fields.text.bytes;
    afc__fields_bind(&reader->fields, reader->head.reason.size);
    reader->head.headers = reader->fields.headers;
    reader->head.header_count = reader->fields.count;
    bool continues = is_informational(reader);
    reader->state = continues ? AFC__HEAD_AT_STATUS : AFC__HEAD_DONE;
    return continues ? AFC__HEAD_INFORMATIONAL : AFC__HEAD_FINAL;
}

static afc_status take_trailer(afc__head_reader *reader, afc_slice line, afc__head_step *step,
                               afc_failure *failure) {
    /* A second response to one request, or a trailer that could be mistaken for a head. */
    if (afc__is_status_line(line)) {
        return afc__fail(failure, AFC_EPROTOCOL, "unexpected status line after the head");
    }
    if (line.size == 0) return AFC_OK;
    *step = AFC__HEAD_TRAILER;
    return take_line(reader, &reader->trailers, line, failure);
}

afc_status afc__head_reader_feed(afc__head_reader *reader, afc_slice line, afc__head_step *step,
                                 afc_failure *failure) {
    *step = AFC__HEAD_MORE;
    afc_status status = count_bytes(reader, line.size, failure);
    if (status != AFC_OK) return status;
    line = without_line_end(line);
    switch (reader->state) {
    case AFC__HEAD_AT_STATUS:
        return begin_head(reader, line, failure);
    case AFC__HEAD_IN_FIELDS:
        if (line.size != 0) return take_line(reader, &reader->fields, line, failure);
        *step = complete_head(reader);
        return AFC_OK;
    case AFC__HEAD_DONE:
        return take_trailer(reader, line, step, failure);
    }
    return afc__fail(failure, AFC_EINTERNAL,
                     "internal error: the head reader has an invalid state");
}

void afc__head_reader_reopen(afc__head_reader *reader) {
    reader->state = AFC__HEAD_AT_STATUS;
    afc__fields_restart(&reader->trailers);
}

/* ---- Heads without lines ------------------------------------------------------------------- */

/** Returns the size in bytes that the lines of a head would have. */
static size_t size_of_lines(const afc_head *head) {
    bool has_minor = head->version < AFC_HTTP_2;
    size_t size = has_minor ? sizeof "HTTP/1.1 200 \r\n" - 1 : sizeof "HTTP/2 200 \r\n" - 1;
    size += head->reason.size + sizeof "\r\n" - 1;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        size += field->name.size + field->value.size + sizeof ": \r\n" - 1;
    }
    return size;
}

bool afc__head_reader_fits(const afc__head_reader *reader, const afc_head *head) {
    return size_of_lines(head) <= reader->limits.bytes - reader->bytes &&
           head->header_count <= reader->limits.count - reader->field_count;
}

afc_status afc__head_reader_set(afc__head_reader *reader, const afc_head *head,
                                afc_failure *failure) {
    afc_status status = count_bytes(reader, size_of_lines(head), failure);
    if (status == AFC_OK) status = count_fields(reader, head->header_count, failure);
    if (status != AFC_OK) return status;
    afc__fields_restart(&reader->fields);
    status = afc__buffer_append(&reader->fields.text, head->reason.bytes, head->reason.size);
    if (status == AFC_OK) {
        status = afc__fields_add_all(&reader->fields, head->headers, head->header_count);
    }
    if (status != AFC_OK) return explain(status, failure);
    reader->head = *head;
    (void)complete_head(reader);
    return AFC_OK;
}

/* ---- The end ------------------------------------------------------------------------------- */

void afc__head_reader_finish(afc__head_reader *reader) {
    afc__fields_bind(&reader->trailers, 0);
}

/* ---- Framing ------------------------------------------------------------------------------- */

static afc_status read_length(afc_slice list, int64_t *length, afc_failure *failure) {
    afc_slice member;
    while (afc__next_member(&list, &member)) {
        int64_t member_length;
        if (!afc__parse_length(member, &member_length)) {
            return afc__fail(failure, AFC_EPROTOCOL, "the response's Content-Length is invalid");
        }
        if (*length != AFC_LENGTH_UNKNOWN && *length != member_length) {
            return afc__fail(failure, AFC_EPROTOCOL,
                             "the response has conflicting Content-Lengths");
        }
        *length = member_length;
    }
    return AFC_OK;
}

/**
 * Reads a Transfer-Encoding field. Returns false if a coding follows "chunked", which libcurl would ignore (RFC 9112
 * 6.1). Sets `*has_other` if it names another coding than "chunked" and "identity".
 */
static bool read_codings(afc_slice list, bool *is_chunked, bool *has_other) {
    afc_slice member;
    while (afc__next_member(&list, &member)) {
        /* Empty list members don't count (RFC 9110 5.6.1.2). */
        if (member.size == 0) continue;
        if (*is_chunked) return false;
        *is_chunked = afc__same_name(member, "chunked");
        if (!*is_chunked && !afc__same_name(member, "identity")) *has_other = true;
    }
    return true;
}

bool afc__coding_is_none(afc_slice name) {
    return name.size == 0 || afc__same_name(name, "identity") || afc__same_name(name, "none");
}

/** Returns whether a list names a coding that changes the bytes. */
static bool names_coding(afc_slice list) {
    afc_slice member;
    while (afc__next_member(&list, &member)) {
        if (!afc__coding_is_none(member)) return true;
    }
    return false;
}

bool afc__head_is_encoded(const afc_head *head) {
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (afc__same_name(field->name, "Content-Encoding") && names_coding(field->value))
            return true;
    }
    return false;
}

static bool has_no_body(int status, bool is_head_request) {
    return is_head_request || status < 200 || status == 204 || status == 304;
}

afc_status afc__head_framing(const afc_head *head, bool is_head_request, afc__framing *out,
                             afc_failure *failure) {
    *out = (afc__framing){.kind = AFC__FRAMING_CLOSE,
                          .length = AFC_LENGTH_UNKNOWN,
                          .is_encoded = afc__head_is_encoded(head)};
    /*
     * Both fields are checked for every version in the status line: a server that sends "HTTP/2" over HTTP/1.1 is read
     * as HTTP/1.1, and HTTP/2 itself doesn't allow Transfer-Encoding.
     */
    bool has_transfer_coding = false, is_chunked = false, has_other = false;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (afc__same_name(field->name, "Content-Length")) {
            afc_status status = read_length(field->value, &out->length, failure);
            if (status != AFC_OK) return status;
        } else if (afc__same_name(field->name, "Transfer-Encoding")) {
            has_transfer_coding = true;
            if (!read_codings(field->value, &is_chunked, &has_other)) {
                return afc__fail(failure, AFC_EPROTOCOL,
                                 "the response has a transfer coding after \"chunked\"");
            }
        }
    }
    if (has_transfer_coding && out->length != AFC_LENGTH_UNKNOWN) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         "the response has both Content-Length and Transfer-Encoding");
    }
    /* An HTTP/1.0 sender may have passed on a field that it doesn't know, so the body may end elsewhere. */
    out->must_close = has_transfer_coding && head->version == AFC_HTTP_1_0;
    if (has_no_body(head->status, is_head_request)) {
        out->kind = AFC__FRAMING_NONE;
        return AFC_OK;
    }
    /* No request asks for it (RFC 9112 6.1). Some versions of libcurl would decode it, others would pass it on. */
    if (has_other) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         "the body has a transfer coding that the request didn't accept");
    }
    if (is_chunked) {
        out->kind = AFC__FRAMING_CHUNKED;
    } else if (!has_transfer_coding && out->length != AFC_LENGTH_UNKNOWN) {
        out->kind = AFC__FRAMING_LENGTH;
    }
    return AFC_OK;
}
