/* Sets up TLS for new connections, and finds the verification of pooled ones. */
#include "curl/connection/tls_setup.h"

#include "base/alloc.h"
#include "curl/exchange_state.h"
#include "curl/library.h"
#include "curl/request/network.h"

/**
 * Prepares libcurl's connection to the DNS over HTTPS server. Only HTTP/1.1 is offered: if the request that needs the
 * lookup is cancelled, libcurl 7 leaves an HTTP/2 stream to a handle that was freed.
 */
static CURLcode prepare_doh(const afc__exchange *exchange, void *ssl_context) {
    const char *host = afc__network_doh_host(exchange->driver->network);
    afc__tls_peer *peer = host != NULL ? afc__tls_prepare(exchange->driver->tls, ssl_context, host)
                                       : NULL;
    afc__tls_peer_release(peer);
    bool is_ready = peer != NULL && afc__tls_offer_http_1_1(ssl_context);
    return is_ready ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/**
 * Prepares a connection to a proxy over TLS, which is verified by the policy for proxies before any host name is sent
 * to it. Only HTTP/1.1 is offered: libcurl 7 would use HTTP/2 with a forwarding proxy, which is untested.
 */
static CURLcode prepare_proxy(afc__exchange *exchange, void *ssl_context) {
    const char *host = exchange->hop.transfer->hop.proxy->host;
    afc__tls_peer_release(exchange->proxy_peer);
    exchange->proxy_peer = afc__tls_prepare(exchange->driver->proxy_tls, ssl_context, host);
    bool is_ready = exchange->proxy_peer != NULL && afc__tls_offer_http_1_1(ssl_context);
    return is_ready ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/**
 * Returns whether this call of CURLOPT_SSL_CTX_FUNCTION is for the proxy. libcurl calls back for each TLS layer, the
 * outer one first.
 */
static bool is_for_proxy(afc__exchange *exchange) {
    const afc__proxy *via = exchange->hop.transfer->hop.proxy;
    bool is_outer = exchange->run.tls_layers++ == 0;
    return is_outer && via != NULL && via->kind == AFC__PROXY_HTTPS;
}

/*
 * Keeps TLS sessions of proxies and servers apart. libcurl caches both by host, port and options. A proxy's session
 * must not be resumed with a server or vice versa, as the chain wouldn't be verified by the right policy. So proxies
 * get an option that has no effect here, as libcurl doesn't verify the chain itself.
 */
static const long proxy_mark = CURLSSLOPT_NO_PARTIALCHAIN;

/*
 * A CRL without entries, with an empty issuer and dated 1970. libcurl accepts it as a file of certificates, but it
 * can't be an anchor. For versions of libcurl that otherwise load the system's certificates
 * (afc__quirks.loads_default_anchors).
 */
static const char no_anchors[] =
    "-----BEGIN X509 CRL-----\n"
    "MGcwGwIBADAFBgMrZXAwABcNNzAwMTAxMDAwMDAwWjAFBgMrZXADQQCZzlBNXi3r\n"
    "HCKmw2wHxpd+xumfv2ZoleXreQpuFmtLQAQ+eiZj/pHtc7GOeQeNLOwFWhjhSQT+\n"
    "DqWd1RNECNgC\n"
    "-----END X509 CRL-----\n";

/*
 * A folder without certificates, for CURLOPT_CAPATH. OpenSSL reads it only to find an issuer, which it isn't asked for
 * here.
 */
#define NO_FOLDER "/dev/null"

typedef struct anchor_options {
    CURLoption file, folder, blob;
} anchor_options;

/** Keeps libcurl from loading certificates: trust/evaluate.c verifies chains with the session's. */
static CURLcode set_no_anchors(const afc__exchange *exchange, anchor_options options) {
    CURL *easy = exchange->easy;
    struct curl_blob blob = {(void *)(uintptr_t)no_anchors, sizeof no_anchors - 1,
                             CURL_BLOB_NOCOPY};
    bool has_defaults = exchange->driver->quirks.loads_default_anchors;
    CURLcode code = curl_easy_setopt(easy, options.file, NULL);
    const char *folder = has_defaults ? NO_FOLDER : NULL;
    if (code == CURLE_OK) code = curl_easy_setopt(easy, options.folder, folder);
    if (code == CURLE_OK && has_defaults) code = curl_easy_setopt(easy, options.blob, &blob);
    return code;
}

CURLcode afc__exchange_set_tls(afc__exchange *exchange) {
    const anchor_options options = {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_CAINFO_BLOB};
    return set_no_anchors(exchange, options);
}

bool afc__can_ask_proxies_over_tls(void) {
    return (afc__libcurl_info()->features & CURL_VERSION_HTTPS_PROXY) != 0;
}

CURLcode afc__exchange_set_proxy_tls(afc__exchange *exchange) {
    CURL *easy = exchange->easy;
    if (!afc__can_ask_proxies_over_tls()) return CURLE_OK;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
    const anchor_options options = {CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH,
                                    CURLOPT_PROXY_CAINFO_BLOB};
    if (code == CURLE_OK) code = set_no_anchors(exchange, options);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PROXY_SSL_OPTIONS, proxy_mark);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

CURLcode afc__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context) {
    afc__exchange *exchange = context;
    if (easy != exchange->easy) return prepare_doh(exchange, ssl_context);
    if (is_for_proxy(exchange)) return prepare_proxy(exchange, ssl_context);
    afc__tls_peer_release(exchange->peer);
    char *host = afc__copy_text(exchange->hop.transfer->request.url.host);
    exchange->peer = host != NULL ? afc__tls_prepare(exchange->driver->tls, ssl_context, host)
                                  : NULL;
    afc_free(host);
    return exchange->peer != NULL ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

void afc__exchange_attach_peer(afc__exchange *exchange) {
    const struct curl_tlssessioninfo *tls = NULL;
    exchange->run.is_multiplexed = afc__transfer_is_clear_http_2(exchange->hop.transfer);
    if (!exchange->hop.transfer->request.url.is_https) return;
    curl_easy_getinfo(exchange->easy, CURLINFO_TLS_SSL_PTR, &tls);
    if (tls == NULL || tls->internals == NULL) return;
    afc__tls_peer_release(exchange->peer);
    exchange->peer = afc__tls_peer_of(tls->internals);
    exchange->run.is_multiplexed = afc__tls_is_multiplexed(tls->internals);
}
