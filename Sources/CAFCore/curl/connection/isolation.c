/*
 * Gives responses that may be paused by their reader, the disk or a rate limit a connection of their own.
 *
 * Over HTTP/2, libcurl keeps reading for a paused stream as long as other streams of the connection are read. Version 7
 * buffers up to 64 MiB and then fails, or, with a small buffer, reads for no stream and spins. A connection with one
 * stream isn't read while that stream is paused, so the server stops sending.
 *
 * libcurl shares connections only between handles with equal TLS options. So a handle whose options no other handle to
 * its host has at the time is alone on its connection. The connection can later be reused with the same options. The
 * queue gives each such hop a slot among those of its host, and the slot decides the options.
 */
#include "curl/connection/isolation.h"

#include "curl/exchange_state.h"
#include "curl/request/network.h"
#include "curl/request/proxy.h"
#include "transfer/auth.h"

/* Options of CURLOPT_SSL_OPTIONS that affect Schannel (Windows) only, so they are free for use as marks. */
static const long marks[] = {CURLSSLOPT_NO_REVOKE, CURLSSLOPT_REVOKE_BEST_EFFORT,
                             CURLSSLOPT_AUTO_CLIENT_CERT};

/* The bits of a slot select these marks. ONE_SHOT connections have one of their own. */
enum { NO_SLOT = 0, ONE_SHOT_SLOT = 7 };
_Static_assert((int)AFC__SLOTS_MAX < (int)ONE_SHOT_SLOT, "ONE_SHOT has marks of its own");

/* ---- The decision -------------------------------------------------------------------------- */

/** Returns whether the response body may be paused. */
static bool may_have_to_wait(const afc__transfer *transfer) {
    return transfer->receive_rate.per_second != 0 || transfer->sink.kind != AFC_SINK_MEMORY;
}

/** Returns how the next hop of the transfer uses its connection. */
static afc__connection_use use_of(const afc__driver *driver, const afc__transfer *transfer) {
    /*
     * libcurl compares proxy credentials only for SOCKS: it would reuse a tunnel that was made with other credentials.
     * Those of the session's own proxies are always the same.
     */
    if (transfer->own_proxy != NULL) return AFC__USE_ONE_SHOT;
    /* After a 101 the connection speaks another protocol. */
    if (transfer->purpose == AFC__PURPOSE_UPGRADE) return AFC__USE_ONE_SHOT;
    /*
     * NTLM and Negotiate authenticate the connection, and several versions of libcurl reused such connections wrongly
     * (CVE-2026-1965, CVE-2026-5545). So it is never reused.
     */
    if (afc__transfer_authenticates_connection(transfer)) return AFC__USE_ONE_SHOT;
    if (afc__transfer_has_proxy_credentials(transfer)) return AFC__USE_ONE_SHOT;
    bool is_clear_http_2 = afc__transfer_is_clear_http_2(transfer);
    if (!driver->quirks.multiplexes) {
        bool is_fresh = is_clear_http_2 && driver->quirks.fails_on_second_clear_request;
        return is_fresh ? AFC__USE_FRESH : AFC__USE_EXCLUSIVE;
    }
    bool is_https = transfer->request.url.is_https;
    if (transfer->version == AFC_HTTP_PREFER_1_1) return AFC__USE_EXCLUSIVE;
    if (!is_https && !is_clear_http_2) return AFC__USE_EXCLUSIVE;
    if (!may_have_to_wait(transfer)) return AFC__USE_SHARED;
    /* Without TLS there are no options that differ: a connection can only be isolated by closing it afterwards. */
    return is_https ? AFC__USE_SLOT : AFC__USE_ONE_SHOT;
}

long afc__isolation_begin(afc__exchange *exchange) {
    afc__exchange_run *run = &exchange->run;
    unsigned slot = exchange->hop.slot;
    run->use = use_of(exchange->driver, exchange->hop.transfer);
    if (run->use == AFC__USE_SLOT && slot == NO_SLOT) run->use = AFC__USE_ONE_SHOT;
    if (run->use == AFC__USE_ONE_SHOT)
        slot = ONE_SHOT_SLOT;
    else if (run->use != AFC__USE_SLOT)
        slot = NO_SLOT;
    long options = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if ((slot & 1u << i) != 0) options |= marks[i];
    }
    return options;
}

bool afc__exchange_shares_connection(const afc__exchange *exchange) {
    afc__connection_use use = exchange->run.use;
    return exchange->driver->quirks.multiplexes && exchange->run.is_multiplexed &&
           (use == AFC__USE_SHARED || use == AFC__USE_EXCLUSIVE);
}

/* ---- For the queue ------------------------------------------------------------------------- */

void afc__driver_place(const afc__driver *driver, const afc__transfer *transfer,
                       afc__queue_key *key, afc__lane *lane) {
    const afc__url *url = &transfer->request.url;
    const afc__proxy *proxy;
    *key = (afc__queue_key){url->host, url->port, afc__driver_socket(driver, transfer)};
    bool is_shared = use_of(driver, transfer) == AFC__USE_SHARED;
    *lane = is_shared ? AFC__LANE_SHARED : AFC__LANE_ISOLATED;
    /* An invalid proxy fails the hop later, in afc__exchange_set_proxy(). */
    if (afc__driver_choose_proxy(driver, transfer, &proxy, NULL) != AFC_OK || proxy == NULL) return;
    /* libcurl counts connections per forwarding proxy, and otherwise per server. */
    if (!afc__proxy_speaks_http(proxy) || afc__transfer_needs_tunnel(transfer)) return;
    key->host = afc_slice_of(proxy->host);
    key->port = proxy->port;
}

bool afc__driver_needs_slot(const afc__driver *driver, const afc__transfer *transfer) {
    return use_of(driver, transfer) == AFC__USE_SLOT;
}

afc__sharing afc__exchange_sharing(const afc__exchange *exchange) {
    if (afc__exchange_uses_own_listener(exchange)) return AFC__SHARING_UNKNOWN;
    if (exchange->run.is_multiplexed && exchange->driver->quirks.multiplexes)
        return AFC__SHARING_STREAMS;
    /* HTTP/1.1 shows what the server supports only if the request allowed HTTP/2. */
    return exchange->run.use == AFC__USE_SHARED ? AFC__SHARING_NONE : AFC__SHARING_UNKNOWN;
}
