#include "transfer/trace.h"

#include "base/text.h"
#include "message/fields.h"
#include "transfer/transfer.h"

#include <strings.h>

/** Removes the next line, with its line end, from `rest` and returns it. */
static afc_slice next_line(afc_slice *rest) {
    const char *end = memchr(rest->bytes, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->bytes) + 1 : rest->size;
    afc_slice line = {rest->bytes, size};
    *rest = (afc_slice){rest->bytes + size, rest->size - size};
    return line;
}

static void report(afc__transfer *transfer, const afc_trace *trace) {
    afc_trace complete = *trace;
    complete.hop = transfer->result->hop_count;
    afc__transfer_count_event(transfer);
    transfer->events.on_trace(transfer->events.context, &complete);
}

void afc__transfer_trace_connection(afc__transfer *transfer, const afc_trace_connection *connection,
                                    bool is_tunnel) {
    report(transfer, &(afc_trace){.kind = AFC_TRACE_CONNECTION,
                                  .is_tunnel = is_tunnel,
                                  .connection = connection});
}

static void report_bytes(afc__transfer *transfer, afc_trace_kind kind, afc__buffer *text,
                         bool is_tunnel, afc_status status) {
    if (status == AFC_OK) {
        report(
            transfer,
            &(afc_trace){.kind = kind, .is_tunnel = is_tunnel, .bytes = {text->bytes, text->size}});
    } else {
        afc__transfer_fail_text(transfer, status, "out of memory for the trace");
    }
    afc__buffer_clear(text);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static bool is_http_2(afc_slice request_line) {
    return afc__ends_with(request_line, " HTTP/2\r\n");
}

/** Returns false for fields about the connection, which libcurl doesn't send over HTTP/2 (RFC 9113 section 8.2.2). */
static bool is_sent_over_http_2(afc_slice line) {
    static const char *const unsent[] = {"Connection", "Keep-Alive", "Proxy-Connection",
                                         "Transfer-Encoding", "Upgrade"};
    const char *colon = memchr(line.bytes, ':', line.size);
    if (colon == NULL) return true;
    afc_slice name = {line.bytes, (size_t)(colon - line.bytes)};
    for (size_t i = 0; i < sizeof unsent / sizeof *unsent; i++) {
        if (afc__same_name(name, unsent[i])) return false;
    }
    if (!afc__same_name(name, "TE")) return true;
    afc_slice value = {colon + 1, line.size - name.size - 1};
    return afc__same_name(afc__trim(value), "trailers\r\n");
}

static void lower_name(char *line, size_t size) {
    for (size_t i = 0; i < size && line[i] != ':'; i++) line[i] = afc__lower(line[i]);
}

void afc__transfer_trace_request(afc__transfer *transfer, afc_slice head, bool is_tunnel) {
    const afc__request_head *request = &transfer->request;
    afc__redaction state = AFC__REDACT_NOTHING;
    afc__buffer text;
    afc__buffer_init(&text, UINT32_MAX);
    afc_slice line = next_line(&head);
    bool is_two = is_http_2(line);
    /* The target of a request line has no userinfo to hide, and "//" in it is part of a path. */
    afc_status status = afc__buffer_append(&text, line.bytes, line.size);
    while (head.size > 0 && status == AFC_OK) {
        line = next_line(&head);
        if (is_two && !is_sent_over_http_2(line)) continue;
        size_t start = text.size;
        status = afc__redact_line(&text, &state, line, request->headers, request->header_count);
        if (is_two && status == AFC_OK) lower_name(text.bytes + start, text.size - start);
    }
    report_bytes(transfer, AFC_TRACE_REQUEST, &text, is_tunnel, status);
}

/* ---- Responses ----------------------------------------------------------------------------- */

void afc__transfer_trace_response(afc__transfer *transfer, afc_slice lines, afc__redaction *state,
                                  bool is_tunnel) {
    while (lines.size > 0) {
        afc__buffer text;
        afc__buffer_init(&text, UINT32_MAX);
        afc_status status = afc__redact_line(&text, state, next_line(&lines), NULL, 0);
        report_bytes(transfer, AFC_TRACE_RESPONSE, &text, is_tunnel, status);
    }
}
