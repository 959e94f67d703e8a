/*
 * Easy handles: whether one may carry another hop, and which options are changed and read while
 * libcurl runs one.
 */
#include "curl/handle.h"

#include "curl/network.h"
#include "transfer/trace.h"

#include <string.h>

/* Limits memory: a parked handle and its lookup use some 30 KiB until the session ends. */
enum { MOST_PARKED_HANDLES = 256 };

bool afc__exchange_must_be_parked(const afc__exchange *exchange) {
    if (!exchange->driver->quirks.frees_lookups_too_early || !exchange->hop.is_looking_up)
        return false;
    bool has_no_name = exchange->hop.code == CURLE_COULDNT_RESOLVE_HOST ||
                       exchange->hop.code == CURLE_COULDNT_RESOLVE_PROXY;
    return !exchange->hop.has_ended || !has_no_name;
}

bool afc__driver_may_look_up_over_https(const afc__driver *driver) {
    return driver->parked_count < MOST_PARKED_HANDLES;
}

bool afc__exchange_may_serve_again(const afc__exchange *exchange) {
    const afc__driver *driver = exchange->driver;
    /*
     * A handle cancelled while it waited for a connection keeps its buffers and then refuses other
     * sizes for them. After a refused option, its buffers may not match its state.
     */
    if (!afc__exchange_is_connected(exchange)) return false;
    /* libcurl keeps more state of NTLM and Negotiate than can be reset. */
    if (exchange->state.connection_auth) return false;
    /* libcurl before 8.8 never clears it: it would apply to the next hop. */
    long system_error = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &system_error);
    if (system_error != 0) return false;
    /* libcurl's own handles may still be looking up its name; they are freed with it. */
    bool is_done = exchange->hop.has_ended && exchange->hop.code == CURLE_OK;
    return afc__network_doh_host(driver->network) == NULL || is_done;
}

/* ---- Switches ------------------------------------------------------------------------------ */

void afc__exchange_close_after(afc__exchange *exchange, bool closes) {
    if (closes == exchange->state.forbids_reuse) return;
    long value = closes ? 1L : 0L;
    AFC__SET(exchange, CURLOPT_FORBID_REUSE, value);
    exchange->state.forbids_reuse = closes;
}

void afc__exchange_set_verbose(afc__exchange *exchange, bool is_on) {
    if (exchange->state.is_verbose == is_on) return;
    /* It only sets a flag of the handle, so it is allowed inside libcurl's callbacks. */
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
 * Those of them that are accepted, from 7.88.0 on, pass each line of a head to Curl_debug() before Curl_client_write()
 * pushes it, in the same buffer: http.c (Curl_http_readwrite_headers()) and http_proxy.c (recv_CONNECT_resp()). The
 * status line isn't pushed and goes to CURLOPT_HEADERFUNCTION first. So from the status line to the first field
 * CURLOPT_VERBOSE is on, and CURLOPT_DEBUGFUNCTION puts a NUL over the first byte of a folded line. Curl_headers_push()
 * finds no line then and returns CURLE_BAD_FUNCTION_ARGUMENT, as it does on a new handle. After the first field the
 * pointer is good until the next transfer: libcurl frees no field of several responses of one transfer, of rounds of
 * authentication for example.
 */
void afc__exchange_guard_fields(afc__exchange *exchange, afc_slice line) {
    if (!exchange->hop.awaits_field) return;
    if (afc__is_status_line(line)) {
        afc__exchange_set_verbose(exchange, true);
        return;
    }
    /* The end of an interim head without fields: the next line is another status line. */
    if (line.bytes[0] == '\r' || line.bytes[0] == '\n') return;
    exchange->hop.awaits_field = false;
    if (!afc__transfer_is_traced(exchange->hop.transfer))
        afc__exchange_set_verbose(exchange, false);
}

void afc__exchange_guard_line(const afc__exchange *exchange, char *line) {
    if (exchange->hop.awaits_field && (line[0] == ' ' || line[0] == '\t')) line[0] = '\0';
}

/* ---- Behind a response --------------------------------------------------------------------- */

/*
 * Detects dropped bytes. libcurl discards what it reads together with the end of a response without
 * a body, or with the last chunk, and reuses the connection; up to 8.14 the only sign is a debug
 * message. With a Content-Length it closes the connection.
 */
void afc__exchange_watch_excess(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (exchange->state.is_verbose || afc__hop_in_head(transfer)) return;
    if (afc__hop_is_http_2(transfer)) return;
    if (afc__hop_bytes_missing(transfer, 0) == 0 ||
        transfer->hop.framing.kind == AFC__FRAMING_CHUNKED) {
        afc__exchange_set_verbose(exchange, true);
    }
}

void afc__exchange_close_after_excess(afc__exchange *exchange, afc_slice text) {
    static const char *const marks[] = {"Excess found", "Leftovers after chunking"};
    if (exchange->hop.attempt != AFC__ATTEMPT_HEARD) return;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (memmem(text.bytes, text.size, marks[i], strlen(marks[i])) != NULL) {
            afc__exchange_close_after(exchange, true);
        }
    }
}
