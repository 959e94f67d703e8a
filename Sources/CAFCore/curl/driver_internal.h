/**
 * The state of a driver. Only for the source files of Sources/CAFCore/curl, the only ones that use libcurl: no header
 * outside that folder includes this.
 */
#ifndef AFC_CURL_DRIVER_INTERNAL_H
#define AFC_CURL_DRIVER_INTERNAL_H

#include "base/list.h"
#include "curl/allocator.h"
#include "curl/body/body_flow.h"
#include "curl/body/direct_io.h"
#include "curl/connection/connection_reuse.h"
#include "curl/connection/idle_connections.h"
#include "curl/driver.h"
#include "curl/handle_pool.h"
#include "curl/multi_handle.h"
#include "curl/quirks.h"
#include "curl/request/network.h"
#include "curl/request/resolve.h"
#include "message/proxy.h"
#include "tls/tls.h"

#include <curl/curl.h>

struct afc__driver {
    afc__loop *loop;
    afc__multi multi;
    CURLSH *share;
    afc__tls *tls;
    afc__tls *proxy_tls; /**< TLS to proxies: its own trust policy, and no client certificate. */
    afc__proxies proxies;
    afc__network *network; /**< NULL if no network option is set. */
    afc__names names;
    afc__memory *memory;
    afc__quirks quirks;
    char *user_agent;
    /** The value of Accept-Encoding: what can be decoded; NULL for nothing. */
    const char *encodings;
    long max_idle_s, max_age_s;
    bool forbids_reuse;
    bool rechecks;         /**< Some afc__socket.must_recheck is set; see afc__driver_recheck(). */
    unsigned auth_schemes; /**< The result of afc__connection_schemes(). */
    uint32_t max_connections_per_host, max_connections;
    long max_idle_connections;
    uint32_t active;       /**< The number of running exchanges. */
    afc__alarm alarm;      /**< libcurl's timer (CURLMOPT_TIMERFUNCTION). */
    afc__socket **sockets; /**< Indexed by descriptor; NULL where libcurl had no socket so far. */
    size_t socket_capacity;
    afc__connections pooled;
    afc__idle_connections idle;
    afc__handle_pool pool;
    afc__body_lists bodies;
    afc__direct_buffers direct;
    /** Exchanges that must try the host's next address; see next_address.c. */
    afc__list ended_attempts;
    afc__list running;                /**< Exchanges that carry a hop. */
    atomic_uint_fast64_t connections; /**< Connections opened so far; read by any thread. */
};

#endif
