#include "message/head.h"

#include "base/failure.h"
#include "base/text.h"

#include <afcore/task.h>

void af__head_reader_init(af__head_reader *reader, af__head_limits limits) {
    *reader = (af__head_reader){.limits = limits};
    af__fields_init(&reader->fields, limits.bytes);
    af__fields_init(&reader->trailers, limits.bytes);
}

void af__head_reader_clear(af__head_reader *reader) {
    af__fields_clear(&reader->fields);
    af__fields_clear(&reader->trailers);
    af__head_reader_init(reader, reader->limits);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static af_status count_bytes(af__head_reader *reader, size_t size, af_failure *failure) {
    if (size <= reader->limits.bytes - reader->bytes) {
        reader->bytes += size;
        return AF_OK;
    }
    return af__fail(failure, AF_ETOOBIG, "the response's heads exceed the limit of %u bytes",
                    (unsigned)reader->limits.bytes);
}

static af_slice without_line_end(af_slice line) {
    if (line.size != 0 && line.bytes[line.size - 1] == '\n') {
        line.size--;
        if (line.size != 0 && line.bytes[line.size - 1] == '\r') line.size--;
    }
    return line;
}

/** Sets the text for AF_ENOMEM and AF_ETOOBIG and returns the status. */
static af_status explain(af_status status, af_failure *failure) {
    return status == AF_OK ? AF_OK : af__fail(failure, status, "%s", af_status_text(status));
}

/* ---- The status line ----------------------------------------------------------------------- */

static const char http[] = "HTTP/";
enum { HTTP_SIZE = sizeof http - 1 };

static bool begins_as_status_line(af_slice line) {
    return line.size >= HTTP_SIZE && memcmp(line.bytes, http, HTTP_SIZE) == 0;
}

static af_http_version version_of(int major, int minor) {
    switch (major) {
    case 1:
        return minor == 0 ? AF_HTTP_1_0 : AF_HTTP_1_1;
    case 2:
        return AF_HTTP_2;
    case 3:
        return AF_HTTP_3;
    default:
        return AF_HTTP_UNKNOWN;
    }
}

/** Parses "HTTP/1.1 200 OK" or "HTTP/2 200"; false if it is malformed. */
static bool parse_status_line(af_slice line, af_head *out) {
    const char *at = line.bytes + HTTP_SIZE, *end = line.bytes + line.size;
    if (at == end || !af__is_digit(*at)) return false;
    int major = *at++ - '0', minor = 0;
    if (end - at >= 2 && at[0] == '.' && af__is_digit(at[1])) {
        minor = at[1] - '0';
        at += 2;
    }
    if (end - at < 4 || at[0] != ' ') return false;
    if (!af__is_digit(at[1]) || !af__is_digit(at[2]) || !af__is_digit(at[3])) return false;
    out->status = (at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0');
    out->version = version_of(major, minor);
    at += 4;
    if (at != end && *at++ != ' ') return false;
    out->reason = af__trim((af_slice){at, (size_t)(end - at)});
    return out->status >= 100 && af__is_field_value(out->reason);
}

static af_status check_informational(af__head_reader *reader, af_failure *failure) {
    if (reader->head.status == 101) {
        return af__fail(failure, AF_EPROTOCOL, "unexpected 101: the request asked for no upgrade");
    }
    if (reader->informational == reader->limits.informational) {
        return af__fail(failure, AF_ETOOBIG, "more than %u informational responses",
                        (unsigned)reader->limits.informational);
    }
    reader->informational++;
    return AF_OK;
}

static af_status begin_head(af__head_reader *reader, af_slice line, af_failure *failure) {
    af__fields_restart(&reader->fields);
    reader->head = (af_head){0};
    if (!begins_as_status_line(line) || !parse_status_line(line, &reader->head)) {
        return af__fail(failure, AF_EPROTOCOL, "the response has no valid status line");
    }
    if (reader->head.status < 200) {
        af_status status = check_informational(reader, failure);
        if (status != AF_OK) return status;
    }
    reader->state = AF__HEAD_IN_FIELDS;
    af_slice reason = reader->head.reason;
    return explain(af__buffer_append(&reader->fields.text, reason.bytes, reason.size), failure);
}

/* ---- Fields -------------------------------------------------------------------------------- */

static af_status take_field(af__head_reader *reader, af__fields *fields, af_slice line,
                            af_failure *failure) {
    af_slice name = {line.bytes, af_token_size(line)};
    if (name.size == 0 || name.size == line.size || line.bytes[name.size] != ':') {
        bool has_colon = memchr(line.bytes, ':', line.size) != NULL;
        return af__fail(failure, AF_EPROTOCOL,
                        has_colon ? "the name of a header field is not a token"
                                  : "a header line has no colon");
    }
    af_slice value = {line.bytes + name.size + 1, line.size - name.size - 1};
    if (reader->field_count == reader->limits.count) {
        return af__fail(failure, AF_ETOOBIG, "the response's heads exceed the limit of %u fields",
                        (unsigned)reader->limits.count);
    }
    reader->field_count++;
    return explain(af__fields_add(fields, name, af__trim(value)), failure);
}

static af_status take_line(af__head_reader *reader, af__fields *fields, af_slice line,
                           af_failure *failure) {
    if (!af__is_field_value(line)) {
        return af__fail(failure, AF_EPROTOCOL,
                        "a response header line contains a NUL or a bare CR");
    }
    if (!af__is_blank(line.bytes[0])) return take_field(reader, fields, line, failure);
    if (fields->count == 0) {
        return af__fail(failure, AF_EPROTOCOL, "the first response header line is folded");
    }
    return explain(af__fields_fold(fields, af__trim(line)), failure);
}

static af__head_step complete_head(af__head_reader *reader) {
    reader->head.reason.bytes = reader->fields.text.bytes;
    af__fields_bind(&reader->fields, reader->head.reason.size);
    reader->head.headers = reader->fields.headers;
    reader->head.header_count = reader->fields.count;
    bool is_informational = reader->head.status < 200;
    reader->state = is_informational ? AF__HEAD_AT_STATUS : AF__HEAD_DONE;
    return is_informational ? AF__HEAD_INFORMATIONAL : AF__HEAD_FINAL;
}

static af_status take_trailer(af__head_reader *reader, af_slice line, af__head_step *step,
                              af_failure *failure) {
    /* A second response to one request, or a trailer that could be mistaken for a head. */
    if (begins_as_status_line(line)) {
        return af__fail(failure, AF_EPROTOCOL, "unexpected status line after the head");
    }
    if (line.size == 0) return AF_OK;
    *step = AF__HEAD_TRAILER;
    return take_line(reader, &reader->trailers, line, failure);
}

af_status af__head_reader_feed(af__head_reader *reader, af_slice line, af__head_step *step,
                               af_failure *failure) {
    *step = AF__HEAD_MORE;
    af_status status = count_bytes(reader, line.size, failure);
    if (status != AF_OK) return status;
    line = without_line_end(line);
    switch (reader->state) {
    case AF__HEAD_AT_STATUS:
        return begin_head(reader, line, failure);
    case AF__HEAD_IN_FIELDS:
        if (line.size != 0) return take_line(reader, &reader->fields, line, failure);
        *step = complete_head(reader);
        return AF_OK;
    case AF__HEAD_DONE:
        return take_trailer(reader, line, step, failure);
    }
    return af__fail(failure, AF_EINTERNAL, "internal error: the head reader has an invalid state");
}

void af__head_reader_reopen(af__head_reader *reader) {
    reader->state = AF__HEAD_AT_STATUS;
    af__fields_restart(&reader->trailers);
}

void af__head_reader_finish(af__head_reader *reader) {
    af__fields_bind(&reader->trailers, 0);
}

/* ---- Framing ------------------------------------------------------------------------------- */

static af_status read_length(af_slice list, int64_t *length, af_failure *failure) {
    af_slice member;
    while (af__next_member(&list, &member)) {
        int64_t member_length;
        if (!af__parse_length(member, &member_length)) {
            return af__fail(failure, AF_EPROTOCOL, "the response's Content-Length is invalid");
        }
        if (*length != AF_LENGTH_UNKNOWN && *length != member_length) {
            return af__fail(failure, AF_EPROTOCOL, "the response has conflicting Content-Lengths");
        }
        *length = member_length;
    }
    return AF_OK;
}

static af_slice last_member(af_slice list) {
    af_slice member, last = {NULL, 0};
    while (af__next_member(&list, &member)) {
        /* Empty list members don't count (RFC 9110 5.6.1.2). */
        if (member.size != 0) last = member;
    }
    return last;
}

static bool names_encoding(af_slice list) {
    af_slice member;
    while (af__next_member(&list, &member)) {
        if (member.size != 0 && !af__same_name(member, "identity")) return true;
    }
    return false;
}

/** Codings other than "chunked" weren't requested (RFC 9112 6.1), but libcurl before 8.10 decodes them. */
static bool names_coding(af_slice list) {
    af_slice member;
    while (af__next_member(&list, &member)) {
        bool is_none = member.size == 0 || af__same_name(member, "identity") ||
                       af__same_name(member, "chunked");
        if (!is_none) return true;
    }
    return false;
}

static bool has_no_body(int status, bool is_head_request) {
    return is_head_request || status < 200 || status == 204 || status == 304;
}

af_status af__head_framing(const af_head *head, bool is_head_request, af__framing *out,
                           af_failure *failure) {
    *out = (af__framing){.kind = AF__FRAMING_CLOSE, .length = AF_LENGTH_UNKNOWN};
    /*
     * For every version in the status line: a server that sends "HTTP/2" over HTTP/1.1 is read as HTTP/1.1, and
     * HTTP/2 itself doesn't allow the field.
     */
    bool has_transfer_coding = false, is_chunked = false;
    for (size_t i = 0; i < head->header_count; i++) {
        const af_header *field = &head->headers[i];
        if (af__same_name(field->name, "Content-Length")) {
            af_status status = read_length(field->value, &out->length, failure);
            if (status != AF_OK) return status;
        } else if (af__same_name(field->name, "Transfer-Encoding")) {
            has_transfer_coding = true;
            is_chunked = af__same_name(last_member(field->value), "chunked");
            out->has_coding = out->has_coding || names_coding(field->value);
        } else if (af__same_name(field->name, "Content-Encoding")) {
            out->is_encoded = out->is_encoded || names_encoding(field->value);
        }
    }
    if (has_transfer_coding && out->length != AF_LENGTH_UNKNOWN) {
        return af__fail(failure, AF_EPROTOCOL,
                        "the response has both Content-Length and Transfer-Encoding");
    }
    if (has_no_body(head->status, is_head_request)) {
        out->kind = AF__FRAMING_NONE;
    } else if (is_chunked) {
        out->kind = AF__FRAMING_CHUNKED;
    } else if (!has_transfer_coding && out->length != AF_LENGTH_UNKNOWN) {
        out->kind = AF__FRAMING_LENGTH;
    }
    return AF_OK;
}
