/*
 * Bytes behind a response, which nobody asked for. libcurl drops what it reads together with the end of a response that
 * has no body, or with the last chunk of one, and uses the connection again; up to 8.14 it only says so. With a
 * Content-Length it closes the connection.
 */
#include "curl/excess.h"

#include "curl/handle.h"

#include <string.h>

void af__exchange_watch_excess(af__exchange *exchange) {
    const af__transfer *transfer = exchange->transfer;
    if (exchange->state.is_verbose || af__hop_in_head(transfer)) return;
    if (af__hop_is_http_2(transfer)) return;
    if (af__hop_bytes_missing(transfer, 0) == 0 ||
        transfer->hop.framing.kind == AF__FRAMING_CHUNKED) {
        af__exchange_set_verbose(exchange, true);
    }
}

void af__exchange_heed_excess(af__exchange *exchange, af_slice text) {
    static const char *const marks[] = {"Excess found", "Leftovers after chunking"};
    if (exchange->attempt != AF__ATTEMPT_HEARD) return;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (memmem(text.bytes, text.size, marks[i], strlen(marks[i])) != NULL) {
            af__exchange_set_reuse(exchange, true);
        }
    }
}
