/* Whose connection is about to speak TLS, and whose chain was judged. */
#include "base/alloc.h"
#include "net/driver_internal.h"

/**
 * A connection of libcurl's own, to the server that it asks for names. HTTP/1.1: version 7 leaves a
 * stream of HTTP/2 to a handle that has gone when the request behind it is broken off.
 */
static CURLcode prepare_doh(const af__exchange *exchange, void *ssl_context) {
    const char *host = af__network_doh_host(exchange->driver->network);
    af__tls_peer *peer = host != NULL ? af__tls_prepare(exchange->driver->tls, ssl_context, host)
                                      : NULL;
    af__tls_peer_release(peer);
    bool is_ready = peer != NULL && af__tls_offer_http_1_1(ssl_context);
    return is_ready ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

CURLcode af__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context) {
    af__exchange *exchange = context;
    if (easy != exchange->easy) return prepare_doh(exchange, ssl_context);
    af__tls_peer_release(exchange->peer);
    char *host = af__copy_text(exchange->transfer->outgoing.url.host);
    exchange->peer = host != NULL ? af__tls_prepare(exchange->driver->tls, ssl_context, host)
                                  : NULL;
    af_free(host);
    return exchange->peer != NULL ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

void af__exchange_adopt_peer(af__exchange *exchange) {
    const struct curl_tlssessioninfo *tls = NULL;
    exchange->is_multiplexed = exchange->transfer->version == AF_WISH_HTTP_2_PRIOR_KNOWLEDGE;
    if (!exchange->transfer->outgoing.url.is_https) return;
    curl_easy_getinfo(exchange->easy, CURLINFO_TLS_SSL_PTR, &tls);
    if (tls == NULL || tls->internals == NULL) return;
    af__tls_peer_release(exchange->peer);
    exchange->peer = af__tls_peer_of(tls->internals);
    exchange->is_multiplexed = af__tls_is_multiplexed(tls->internals);
}
