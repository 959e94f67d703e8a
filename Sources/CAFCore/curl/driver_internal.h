/** The state of a driver, for the sources of the driver, the only files that use libcurl: no header needs it. */
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
    afc__tls *proxy_tls; /**< For proxies: their own policy, no client certificates. */
    afc__proxies proxies;
    afc__network *network; /**< NULL: the system's defaults. */
    afc__names names;
    afc__memory *memory;
    afc__quirks quirks;
    char *user_agent;
    const char *encodings; /**< Encodings that this libcurl decodes, for Accept-Encoding. */
    long max_idle_s, max_age_s;
    bool forbids_reuse;
    bool rechecks;         /**< Some socket must be rechecked. */
    unsigned auth_schemes; /**< afc__connection_schemes() */
    uint32_t max_connections_per_host, max_connections;
    long max_idle_connections;
    uint32_t active;
    afc__alarm alarm;
    afc__socket **sockets; /**< By descriptor. */
    size_t socket_capacity;
    afc__connections pooled;
    afc__idle_connections idle;
    afc__handle_pool pool;
    afc__body_lists bodies;
    afc__direct_buffers direct;
    afc__list
        ended_attempts; /**< Exchanges that must go on to their next address; see next_address.c. */
    afc__list running;  /**< Exchanges from their start to their end. */
    atomic_uint_fast64_t connections;
};

#endif
