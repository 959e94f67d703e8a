/*
 * Answers that may have to wait for their reader, their disk or their rate, each on a connection to
 * itself.
 *
 * Over HTTP/2 libcurl goes on reading for a stream that waits as long as others of its connection are
 * read: version 7 collects 64 MiB for it and then fails, or, with a small buffer, reads nothing for
 * anybody and spins. A connection of its own is not read at all meanwhile, and the server stops.
 *
 * Connections are shared only between handles with the same TLS options, so one that has options like
 * no other at the time is alone on its connection, which is there for the next one with these options.
 */
#include "curl/isolation.h"

#include "curl/network.h"
#include "curl/proxy.h"
#include "transfer/auth.h"

/* They mean something to Schannel only. */
static const long marks[] = {CURLSSLOPT_NO_REVOKE, CURLSSLOPT_REVOKE_BEST_EFFORT,
                             CURLSSLOPT_AUTO_CLIENT_CERT};

static bool may_have_to_wait(const af__transfer *transfer) {
    return transfer->receive_rate.per_second != 0 || transfer->sink.kind != AF_SINK_MEMORY;
}

unsigned af__isolation_take(af__driver *driver, const af__transfer *transfer) {
    /*
     * libcurl compares the credentials of a proxy only where it is SOCKS: a tunnel that was made with
     * some would serve a request with others. Those of the session are always the same.
     */
    if (transfer->own_proxy != NULL) return AF__ISOLATE_ONE_SHOT;
    /*
     * What is authenticated is the connection, and several versions of libcurl confused who may use it
     * (CVE-2026-1965, CVE-2026-5545): nobody may.
     */
    unsigned scheme;
    if (af__transfer_connection_auth(transfer, false, &scheme) != NULL) return AF__ISOLATE_ONE_SHOT;
    if (af__transfer_identifies_to_proxy(transfer)) return AF__ISOLATE_ONE_SHOT;
    if (!may_have_to_wait(transfer) || transfer->version == AF_HTTP_PREFER_1_1)
        return AF__ISOLATE_NONE;
    if (!driver->multiplexes) return AF__ISOLATE_NONE;
    if (!transfer->request.url.is_https) {
        /* Without TLS nothing marks a connection but that it is going to be closed. */
        bool is_shared = transfer->version == AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
        return is_shared ? AF__ISOLATE_ONE_SHOT : AF__ISOLATE_NONE;
    }
    for (unsigned slot = AF__ISOLATE_NONE + 1; slot < AF__ISOLATE_ONE_SHOT; slot++) {
        if ((driver->slots & 1u << slot) != 0) continue;
        driver->slots |= 1u << slot;
        return slot;
    }
    return AF__ISOLATE_ONE_SHOT;
}

void af__isolation_give_back(af__driver *driver, unsigned slot) {
    driver->slots &= ~(1u << slot);
}

/** Is it known beforehand that the hop shares its connection with no other? */
static bool is_alone(const af__driver *driver, const af__transfer *transfer) {
    unsigned scheme;
    if (!driver->multiplexes) return true;
    bool is_clear = !transfer->request.url.is_https &&
                    transfer->version != AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
    return is_clear || transfer->version == AF_HTTP_PREFER_1_1 || may_have_to_wait(transfer) ||
           transfer->own_proxy != NULL || af__transfer_identifies_to_proxy(transfer) ||
           af__transfer_connection_auth(transfer, false, &scheme) != NULL ||
           af__must_not_share(transfer);
}

void af__driver_place(const af__driver *driver, const af__transfer *transfer, af__queue_key *key,
                      af__lane *lane) {
    const af__url *url = &transfer->request.url;
    const af__proxy *proxy;
    *key = (af__queue_key){url->host, url->port, af__driver_socket(driver, transfer)};
    *lane = is_alone(driver, transfer) ? AF__LANE_ALONE : AF__LANE_SHARED;
    /* A proxy that can't be used ends the hop when that is prepared. */
    if (af__driver_choose_proxy(driver, transfer, &proxy, NULL) != AF_OK || proxy == NULL) return;
    /* libcurl counts connections of a proxy that forwards, and of the server behind any other. */
    if (!af__proxy_speaks_http(proxy) || url->is_https) return;
    key->host = af_slice_of(proxy->host);
    key->port = proxy->port;
}

af__sharing af__exchange_sharing(const af__exchange *exchange) {
    if (exchange->is_reinjected) return AF__SHARING_UNKNOWN;
    if (exchange->is_multiplexed && exchange->driver->multiplexes) return AF__SHARING_STREAMS;
    /* HTTP/1.1 may have been the request's choice. */
    return is_alone(exchange->driver, exchange->transfer) ? AF__SHARING_UNKNOWN : AF__SHARING_NONE;
}

long af__isolation_options(unsigned slot) {
    long options = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if ((slot & 1u << i) != 0) options |= marks[i];
    }
    return options;
}

bool af__may_multiplex(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080100;
}

bool af__must_not_share(const af__transfer *transfer) {
    return transfer->version == AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE &&
           !transfer->request.url.is_https &&
           curl_version_info(CURLVERSION_NOW)->version_num < 0x080000;
}
