#include "curl/body/buffers.h"

#include "base/rate.h"
#include "curl/exchange_state.h"

#include <string.h>

enum {
    /* Large enough for any request head. */
    HEAD_UPLOAD_BUFFER = 1024 * 1024,
    /*
     * More than one read of an HTTP/2 stream can pass on before 8.1.0: the longest heads that libcurl accepts
     * (DYN_H2_HEADERS), and one part of the connection's input (H2_BUFSIZE).
     */
    UNFILLABLE_BUFFER = 128 * 1024 + 32 * 1024
};

/* ---- Reading ------------------------------------------------------------------------------- */

static bool receives_bulk(const afc__transfer *transfer) {
    return transfer->sink.kind != AFC_SINK_MEMORY ||
           transfer->sink.limit > UINT64_C(256) * 1024 * 1024;
}

/**
 * Returns a large size for large bodies and a small one for small responses, to save memory. A low rate limit is only
 * smooth with small pieces; libcurl's minimum is 1 KiB.
 */
static long first_read_size(const afc__transfer *transfer) {
    if (transfer->receive_rate.per_second != 0) {
        size_t piece = afc__rate_piece(&transfer->receive_rate, AFC__SMALL_READ);
        return piece > 1024 ? (long)piece : 1024;
    }
    if (transfer->purpose == AFC__PURPOSE_UPGRADE) return AFC__UPGRADED_BUFFER;
    return receives_bulk(transfer) ? AFC__BULK_BUFFER : AFC__SMALL_READ;
}

/**
 * Returns whether libcurl needs a buffer that HTTP/2 never fills (afc__quirks.hangs_if_read_buffer_fills). A read
 * doesn't become longer by that than one TLS record (16 KiB), or than what libcurl takes of an HTTP/2 connection at
 * once; under a low rate limit, that is more than the wanted pieces. Only the used part of the buffer costs memory.
 */
static bool needs_unfillable_buffer(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (!exchange->driver->quirks.hangs_if_read_buffer_fills) return false;
    if (transfer->purpose == AFC__PURPOSE_UPGRADE || afc__exchange_uses_own_listener(exchange))
        return false;
    if (transfer->version == AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE) return true;
    return transfer->request.url.is_https && transfer->version != AFC_HTTP_PREFER_1_1;
}

void afc__exchange_set_read_size(afc__exchange *exchange) {
    long size = first_read_size(exchange->hop.transfer);
    if (size < UNFILLABLE_BUFFER && needs_unfillable_buffer(exchange)) size = UNFILLABLE_BUFFER;
    if (size == exchange->state.buffer_size) return;
    AFC__SET(exchange, CURLOPT_BUFFERSIZE, size);
    exchange->state.buffer_size = size;
}

/* ---- Sending ------------------------------------------------------------------------------- */

static bool needs_head_buffer(const afc__exchange *exchange) {
    size_t target = strlen(exchange->hop.transfer->request.url.path.bytes);
    return exchange->driver->quirks.sends_heads_by_upload_buffer &&
           exchange->field_text.size + target > AFC__SMALL_UPLOAD_BUFFER / 2;
}

void afc__exchange_set_upload_buffer(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    bool sends_bulk = transfer->request.sends_body &&
                      (transfer->source.length == AFC_LENGTH_UNKNOWN ||
                       transfer->source.length > AFC__BULK_BUFFER);
    long size = transfer->purpose == AFC__PURPOSE_UPGRADE ? AFC__UPGRADED_BUFFER
                : sends_bulk                              ? AFC__BULK_BUFFER
                                                          : AFC__SMALL_UPLOAD_BUFFER;
    if (needs_head_buffer(exchange)) size = HEAD_UPLOAD_BUFFER;
    if (size == exchange->state.upload_buffer_size) return;
    AFC__SET(exchange, CURLOPT_UPLOAD_BUFFERSIZE, size);
    exchange->state.upload_buffer_size = size;
}
