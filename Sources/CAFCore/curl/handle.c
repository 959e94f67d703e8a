/* Options of an easy handle that are changed during a transfer. */
#include "curl/handle.h"

#include "curl/error_texts.h"
#include "curl/exchange_state.h"
#include "transfer/trace.h"

/* ---- Switches ------------------------------------------------------------------------------ */

void afc__exchange_close_after(afc__exchange *exchange, bool closes) {
    if (closes == exchange->state.forbids_reuse) return;
    long value = closes ? 1L : 0L;
    AFC__SET(exchange, CURLOPT_FORBID_REUSE, value);
    exchange->state.forbids_reuse = closes;
}

void afc__exchange_set_verbose(afc__exchange *exchange, bool is_on) {
    if (exchange->state.is_verbose == is_on) return;
    /* CURLOPT_VERBOSE only sets a flag of the handle, so it is allowed inside libcurl's callbacks. */
    curl_easy_setopt(exchange->easy, CURLOPT_VERBOSE, is_on ? 1L : 0L);
    exchange->state.is_verbose = is_on;
}

/* ---- Folded first lines -------------------------------------------------------------------- */

/*
 * libcurl 7.84.0 to 8.0.1 keep `data->state.prevhead`, a pointer to the last field of a response, when they free that
 * response's fields (Curl_pretransfer()). Curl_headers_push() appends a folded line to the field that it points to, so
 * a response whose first field line begins with a space or a tab would corrupt memory. curl_easy_reset() keeps the
 * pointer, and a new handle for each hop (curl_easy_duphandle() and curl_easy_cleanup()) costs a fifth of a small
 * request.
 *
 * The affected versions that library.c accepts, from 7.88.0 on, pass each line of a head to Curl_debug() before
 * Curl_client_write() pushes it, in the same buffer: http.c (Curl_http_readwrite_headers()) and http_proxy.c
 * (recv_CONNECT_resp()). The status line isn't pushed, but goes to CURLOPT_HEADERFUNCTION first. So CURLOPT_VERBOSE is
 * on from the status line to the first field, and CURLOPT_DEBUGFUNCTION puts a NUL over the first byte of a folded
 * line. Curl_headers_push() finds no line then and returns CURLE_BAD_FUNCTION_ARGUMENT, as it does on a new handle.
 * After the first field the pointer is valid until the next transfer: libcurl keeps the fields of all responses of one
 * transfer, such as those of several rounds of authentication.
 */
void afc__exchange_guard_fields(afc__exchange *exchange, afc_slice line) {
    if (!exchange->run.awaits_field) return;
    if (afc__is_status_line(line)) {
        afc__exchange_set_verbose(exchange, true);
        return;
    }
    /* The end of a 1xx head without fields: the next line is another status line. */
    if (line.bytes[0] == '\r' || line.bytes[0] == '\n') return;
    exchange->run.awaits_field = false;
    if (!afc__transfer_is_traced(exchange->hop.transfer))
        afc__exchange_set_verbose(exchange, false);
}

void afc__exchange_guard_line(afc__exchange *exchange, char *line) {
    if (!exchange->run.awaits_field || (line[0] != ' ' && line[0] != '\t')) return;
    exchange->run.has_folded_line = true;
    line[0] = '\0';
}

/* ---- Behind a response --------------------------------------------------------------------- */

/*
 * Detects unexpected bytes behind a response. libcurl discards what it reads together with the end of a response
 * without a body, or with the last chunk, and then reuses the connection. Up to 8.14 the only sign is a debug message.
 * Behind a body with Content-Length, libcurl closes the connection by itself.
 */
void afc__exchange_watch_excess(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (exchange->state.is_verbose || afc__hop_in_head(&transfer->hop)) return;
    if (afc__hop_is_http_2(&transfer->hop)) return;
    if (afc__hop_bytes_missing(&transfer->hop, 0) == 0 ||
        transfer->hop.framing.kind == AFC__FRAMING_CHUNKED) {
        afc__exchange_set_verbose(exchange, true);
    }
}

void afc__exchange_close_after_excess(afc__exchange *exchange, afc_slice text) {
    if (exchange->run.progress != AFC__PROGRESS_RESPONDING) return;
    if (afc__text_means(text, AFC__TEXT_EXCESS)) afc__exchange_close_after(exchange, true);
}
