/* Chooses the proxy of a hop and configures libcurl for it. */
#include "curl/proxy.h"

#include "base/failure.h"
#include "curl/connection_auth.h"
#include "curl/network.h"
#include "curl/tls_setup.h"

#include <stdio.h>
#include <stdlib.h>

static const char *variable(void *context, const char *name) {
    (void)context;
    return secure_getenv(name);
}

af_status af__driver_set_proxies(af__driver *driver, const af_proxies *proxies,
                                 af_failure *failure) {
    return af__proxies_init(&driver->proxies, proxies, variable, NULL, failure);
}

#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode code_ = curl_easy_setopt(exchange->easy, option, value);                          \
        if (exchange->option_error == CURLE_OK) exchange->option_error = code_;                    \
    } while (0)

static void write_address(char *out, size_t size, const af__proxy *proxy) {
    static const char *const schemes[] = {[AF__PROXY_HTTP] = "http",
                                          [AF__PROXY_HTTPS] = "https",
                                          [AF__PROXY_SOCKS5] = "socks5",
                                          [AF__PROXY_SOCKS5H] = "socks5h"};
    bool is_ipv6 = strchr(proxy->host, ':') != NULL;
    snprintf(out, size, "%s://%s%s%s:%u", schemes[proxy->kind], is_ipv6 ? "[" : "", proxy->host,
             is_ipv6 ? "]" : "", (unsigned)proxy->port);
}

af_status af__driver_choose_proxy(const af__driver *driver, const af__transfer *transfer,
                                  const af__proxy **out, af_failure *failure) {
    *out = NULL;
    if (af__driver_socket(driver, transfer) != NULL) return AF_OK;
    if (transfer->has_own_proxy) {
        *out = transfer->own_proxy;
        return AF_OK;
    }
    return af__proxies_choose(&driver->proxies, &transfer->request.url, out, failure);
}

static af_status choose(af__exchange *exchange, const af__proxy **out, af_failure *failure) {
    /*
     * An early response comes from this process itself; a different proxy would make libcurl look
     * up another host.
     */
    *out = exchange->transfer->hop.proxy;
    if (exchange->is_reinjected) return AF_OK;
    return af__driver_choose_proxy(exchange->driver, exchange->transfer, out, failure);
}

af_status af__exchange_set_proxy(af__exchange *exchange, af_failure *failure) {
    const af__proxy *proxy;
    af__transfer *transfer = exchange->transfer;
    CURLcode code = af__exchange_set_socket(exchange);
    if (exchange->option_error == CURLE_OK) exchange->option_error = code;
    af_status status = choose(exchange, &proxy, failure);
    if (status != AF_OK) return status;
    transfer->hop.proxy = proxy;
    if (proxy == NULL && !exchange->state.has_proxy) return AF_OK;
    if (proxy != NULL && proxy->kind == AF__PROXY_HTTPS && !af__can_ask_proxies_over_tls()) {
        return af__fail(failure, AF_EUNSUPPORTED, "libcurl was built without https proxies");
    }
    exchange->state.has_proxy = proxy != NULL;
    char address[AF__HOST_LONGEST + 32] = "";
    if (proxy != NULL) write_address(address, sizeof address, proxy);
    SET(CURLOPT_PROXY, address);
    status = af__exchange_set_proxy_auth(exchange, failure);
    if (status != AF_OK || proxy == NULL) return status;
    /* Without a tunnel the request target is the whole URL. */
    bool speaks_http = af__proxy_speaks_http(proxy);
    bool is_forwarded = speaks_http && !transfer->request.url.is_https;
    if (is_forwarded) SET(CURLOPT_REQUEST_TARGET, transfer->request.url.text);
    return AF_OK;
}

static af_status of_tunnel(const af__exchange *exchange) {
    long status = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_HTTP_CONNECTCODE, &status);
    if (status < 300 || !af__hop_is_unanswered(exchange->transfer)) return AF_OK;
    return status == 407 ? AF_EAUTH : AF_ECONNECT;
}

static af_status of_socks(const af__exchange *exchange) {
    long reason = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_PROXY_ERROR, &reason);
    switch (reason) {
    case CURLPX_NO_AUTH:
    case CURLPX_USER_REJECTED:
        return AF_EAUTH;
    case CURLPX_RESOLVE_HOST:
        return AF_EDNS;
    default:
        return AF_ECONNECT;
    }
}

af_status af__exchange_map_proxy_result(const af__exchange *exchange, CURLcode code) {
    if (code == CURLE_OK || exchange->transfer->hop.proxy == NULL) return AF_OK;
    return code == CURLE_PROXY ? of_socks(exchange) : of_tunnel(exchange);
}
