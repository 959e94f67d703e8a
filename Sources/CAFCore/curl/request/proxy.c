/* Chooses the proxy of a hop and configures libcurl for it. */
#include "curl/request/proxy.h"

#include "base/failure.h"
#include "curl/connection/connection_auth.h"
#include "curl/connection/tls_setup.h"
#include "curl/exchange_state.h"
#include "curl/request/network.h"

#include <stdio.h>
#include <stdlib.h>

/** Returns an environment variable; NULL in a set-user-ID program. */
static const char *variable(void *context, const char *name) {
    (void)context;
    return secure_getenv(name);
}

afc_status afc__driver_set_proxies(afc__driver *driver, const afc_proxies *proxies,
                                   afc_failure *failure) {
    return afc__proxies_init(&driver->proxies, proxies, variable, NULL, failure);
}

/** Calls getenv(), as libcurl does: unlike variable(), it also reads the environment in a set-user-ID program. */
static const char *variable_for_libcurl(void *context, const char *name) {
    (void)context;
    return getenv(name);
}

afc_status afc__driver_check_doh_proxy(const afc__driver *driver, const char *doh_url,
                                       afc_failure *failure) {
    afc__url url = {0};
    if (doh_url == NULL) return AFC_OK;
    afc_status status = afc__url_parse(&url, afc_slice_of(doh_url), failure);
    if (status != AFC_OK) return status;
    const afc__proxy *own = NULL;
    if (afc__libcurl_has_proxy(&url, variable_for_libcurl, NULL)) {
        bool is_own = driver->proxies.is_environment &&
                      afc__proxies_choose(&driver->proxies, &url, &own, NULL) == AFC_OK &&
                      own != NULL;
        if (!is_own) {
            status = afc__fail(failure, AFC_EUNSUPPORTED,
                               "DNS over HTTPS can't be used here: libcurl would send its queries "
                               "through the environment's proxy, which the session doesn't use for "
                               "it; add its host to no_proxy");
            afc__give_reason(failure, AFC_REASON_DOH_URL, status);
        }
    }
    afc__url_clear(&url);
    return status;
}

afc_status afc__driver_choose_proxy(const afc__driver *driver, const afc__transfer *transfer,
                                    const afc__proxy **out, afc_failure *failure) {
    *out = NULL;
    if (afc__driver_socket(driver, transfer) != NULL) return AFC_OK;
    if (transfer->has_own_proxy) {
        *out = transfer->own_proxy;
        return AFC_OK;
    }
    afc_status status = afc__proxies_choose(&driver->proxies, &transfer->request.url, out, failure);
    bool is_unchecked = *out != NULL && driver->proxies.is_environment &&
                        afc__network_requires_public(driver->network);
    if (!is_unchecked) return status;
    /*
     * A program that requires public addresses must not lose that check by an environment variable that it may not know
     * of.
     */
    *out = NULL;
    return afc__fail(failure, AFC_EUNSUPPORTED,
                     "the host's address can't be checked behind the environment's proxy: "
                     "set the session's proxies, or use none");
}

static afc_status choose(afc__exchange *exchange, const afc__proxy **out, afc_failure *failure) {
    /* An early response is reinjected by this process; a different proxy would make libcurl look up another host. */
    *out = exchange->hop.transfer->hop.proxy;
    if (afc__exchange_uses_own_listener(exchange)) return AFC_OK;
    return afc__driver_choose_proxy(exchange->driver, exchange->hop.transfer, out, failure);
}

afc_status afc__exchange_set_proxy(afc__exchange *exchange, afc_failure *failure) {
    const afc__proxy *proxy;
    afc__transfer *transfer = exchange->hop.transfer;
    afc__easy_check(&exchange->state, afc__exchange_set_socket(exchange));
    afc_status status = choose(exchange, &proxy, failure);
    if (status != AFC_OK) return status;
    transfer->hop.proxy = proxy;
    if (proxy == NULL && !exchange->state.has_proxy) return AFC_OK;
    if (proxy != NULL && proxy->kind == AFC__PROXY_HTTPS && !afc__can_ask_proxies_over_tls()) {
        return afc__fail(failure, AFC_EUNSUPPORTED, "libcurl was built without https proxies");
    }
    exchange->state.has_proxy = proxy != NULL;
    /* A forwarding proxy would have to speak the new protocol (RFC 6455 4.1). */
    bool has_tunnel = proxy != NULL && afc__proxy_speaks_http(proxy) &&
                      transfer->purpose == AFC__PURPOSE_UPGRADE;
    if (has_tunnel != exchange->state.has_tunnel) {
        AFC__SET(exchange, CURLOPT_HTTPPROXYTUNNEL, has_tunnel ? 1L : 0L);
        exchange->state.has_tunnel = has_tunnel;
    }
    char address[AFC__PROXY_ADDRESS_SIZE] = "";
    if (proxy != NULL) afc__proxy_write_address(address, proxy);
    AFC__SET(exchange, CURLOPT_PROXY, address);
    status = afc__exchange_set_proxy_auth(exchange, failure);
    if (status != AFC_OK || proxy == NULL) return status;
    /* To a forwarding proxy the request target is the absolute URL (RFC 9112 section 3.2.2). */
    bool speaks_http = afc__proxy_speaks_http(proxy);
    bool is_forwarded = speaks_http && !afc__transfer_needs_tunnel(transfer);
    if (is_forwarded) AFC__SET(exchange, CURLOPT_REQUEST_TARGET, transfer->request.url.text);
    return AFC_OK;
}

/** Returns whether the hop ended while an HTTP proxy hadn't opened its tunnel. */
static bool awaits_tunnel(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    return afc__proxy_speaks_http(transfer->hop.proxy) && afc__transfer_needs_tunnel(transfer) &&
           !afc__exchange_is_connected(exchange) && exchange->peer == NULL;
}

/**
 * Returns whether libcurl reports an invalid response with this code, or a connection that ended before the response
 * did.
 */
static bool may_be_invalid_response(CURLcode code) {
    switch ((int)code) {
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* The status line has another version. */
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_WRITE_ERROR: /* exchange.c refused a line. */
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case AFC__CURLE_TOO_LARGE:
        return true;
    default:
        return false;
    }
}

static afc_status tunnel_status(const afc__exchange *exchange, CURLcode code) {
    long status = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_HTTP_CONNECTCODE, &status);
    if (!afc__hop_has_no_response(&exchange->hop.transfer->hop)) return AFC_OK;
    if (status == 407) return AFC_EAUTH;
    if (status >= 300) return AFC_ECONNECT;
    return awaits_tunnel(exchange) && may_be_invalid_response(code) ? AFC_ECONNECT : AFC_OK;
}

static afc_status socks_status(const afc__exchange *exchange) {
    long reason = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_PROXY_ERROR, &reason);
    switch (reason) {
    case CURLPX_NO_AUTH:
    case CURLPX_USER_REJECTED:
        return AFC_EAUTH;
    case CURLPX_RESOLVE_HOST:
        return AFC_EDNS;
    default:
        return AFC_ECONNECT;
    }
}

afc_status afc__exchange_map_proxy_result(const afc__exchange *exchange, CURLcode code) {
    if (code == CURLE_OK || exchange->hop.transfer->hop.proxy == NULL) return AFC_OK;
    return code == CURLE_PROXY ? socks_status(exchange) : tunnel_status(exchange, code);
}
