/*
 * Gives responses that may be paused by their reader, disk or rate limit a connection of their own.
 *
 * Over HTTP/2, libcurl keeps reading for a paused stream as long as other streams of the connection
 * are read: version 7 buffers up to 64 MiB and then fails, or, with a small buffer, reads for no
 * stream and spins. A connection with one stream isn't read while that stream is paused, so the
 * server stops sending.
 *
 * libcurl shares connections only between handles with equal TLS options. So a handle with options
 * that no other has at the time is alone on its connection, which can later be reused with the same
 * options.
 */
#include "curl/isolation.h"

#include "curl/exchange_state.h"
#include "curl/network.h"
#include "curl/proxy.h"
#include "transfer/auth.h"

/* Options that affect Schannel only. */
static const long marks[] = {CURLSSLOPT_NO_REVOKE, CURLSSLOPT_REVOKE_BEST_EFFORT,
                             CURLSSLOPT_AUTO_CLIENT_CERT};

static bool may_have_to_wait(const afc__transfer *transfer) {
    return transfer->receive_rate.per_second != 0 || transfer->sink.kind != AFC_SINK_MEMORY;
}

unsigned afc__isolation_take(afc__driver *driver, const afc__transfer *transfer) {
    /*
     * libcurl compares proxy credentials only for SOCKS: a tunnel made with some would be used for
     * a request with others. The session's own are always the same.
     */
    if (transfer->own_proxy != NULL) return AFC__ISOLATE_ONE_SHOT;
    /* After a 101 the connection speaks another protocol. */
    if (transfer->upgrades) return AFC__ISOLATE_ONE_SHOT;
    /*
     * The connection itself is authenticated, and several versions of libcurl reused such
     * connections wrongly (CVE-2026-1965, CVE-2026-5545). So it is never reused.
     */
    unsigned scheme;
    if (afc__transfer_connection_auth(transfer, false, &scheme) != NULL)
        return AFC__ISOLATE_ONE_SHOT;
    if (afc__transfer_identifies_to_proxy(transfer)) return AFC__ISOLATE_ONE_SHOT;
    if (!may_have_to_wait(transfer) || transfer->version == AFC_HTTP_PREFER_1_1)
        return AFC__ISOLATE_NONE;
    if (!driver->quirks.multiplexes) return AFC__ISOLATE_NONE;
    if (!transfer->request.url.is_https) {
        /* Without TLS a connection can only be isolated by closing it afterwards. */
        bool is_shared = afc__transfer_is_clear_http_2(transfer);
        return is_shared ? AFC__ISOLATE_ONE_SHOT : AFC__ISOLATE_NONE;
    }
    for (unsigned slot = AFC__ISOLATE_NONE + 1; slot < AFC__ISOLATE_ONE_SHOT; slot++) {
        if ((driver->slots & 1u << slot) != 0) continue;
        driver->slots |= 1u << slot;
        return slot;
    }
    return AFC__ISOLATE_ONE_SHOT;
}

void afc__isolation_give_back(afc__driver *driver, unsigned slot) {
    driver->slots &= ~(1u << slot);
}

/** Returns whether it is known in advance that the hop shares its connection with no other. */
static bool is_alone(const afc__driver *driver, const afc__transfer *transfer) {
    unsigned scheme;
    if (!driver->quirks.multiplexes) return true;
    bool is_clear = !transfer->request.url.is_https && !afc__transfer_is_clear_http_2(transfer);
    return is_clear || transfer->version == AFC_HTTP_PREFER_1_1 || may_have_to_wait(transfer) ||
           transfer->own_proxy != NULL || afc__transfer_identifies_to_proxy(transfer) ||
           afc__transfer_connection_auth(transfer, false, &scheme) != NULL ||
           afc__must_not_share(driver, transfer);
}

void afc__driver_place(const afc__driver *driver, const afc__transfer *transfer,
                       afc__queue_key *key, afc__lane *lane) {
    const afc__url *url = &transfer->request.url;
    const afc__proxy *proxy;
    *key = (afc__queue_key){url->host, url->port, afc__driver_socket(driver, transfer)};
    *lane = is_alone(driver, transfer) ? AFC__LANE_ALONE : AFC__LANE_SHARED;
    /* An invalid proxy ends the hop when the hop is prepared. */
    if (afc__driver_choose_proxy(driver, transfer, &proxy, NULL) != AFC_OK || proxy == NULL) return;
    /* libcurl counts connections per forwarding proxy, and otherwise per server. */
    if (!afc__proxy_speaks_http(proxy) || afc__transfer_needs_tunnel(transfer)) return;
    key->host = afc_slice_of(proxy->host);
    key->port = proxy->port;
}

afc__sharing afc__exchange_sharing(const afc__exchange *exchange) {
    if (exchange->is_reinjected) return AFC__SHARING_UNKNOWN;
    if (exchange->run.is_multiplexed && exchange->driver->quirks.multiplexes)
        return AFC__SHARING_STREAMS;
    /* The request may have chosen HTTP/1.1. */
    return is_alone(exchange->driver, exchange->hop.transfer) ? AFC__SHARING_UNKNOWN
                                                              : AFC__SHARING_NONE;
}

long afc__isolation_options(unsigned slot) {
    long options = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if ((slot & 1u << i) != 0) options |= marks[i];
    }
    return options;
}

bool afc__must_not_share(const afc__driver *driver, const afc__transfer *transfer) {
    return driver->quirks.fails_on_second_clear_request && afc__transfer_is_clear_http_2(transfer);
}
