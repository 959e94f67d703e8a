/* The network options of a session, and libcurl's options for them: names, addresses and sockets. */
#include "curl/request/network.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "curl/connection/socket_address.h"
#include "curl/exchange_state.h"
#include "curl/library.h"
#include "message/ip.h"
#include "message/route.h"

#include <sys/socket.h>

enum { MAX_EYEBALLS_MS = 60000, MAX_OVERRIDES = 65536 };

struct afc__network {
    /* A block of linked nodes, two for each override; NULL if there are none. */
    struct curl_slist *overrides;
    size_t override_count;
    char *dns_servers, *doh_url, *doh_host, *interface, *unix_socket; /* NULL if not set. */
    uint16_t doh_port;
    long ip_version, eyeballs_ms;
    bool require_public_addresses;
};

void afc__network_free(afc__network *network) {
    if (network == NULL) return;
    for (size_t i = 0; i < network->override_count; i++) afc_free(network->overrides[i].data);
    afc_free(network->overrides);
    afc_free(network->dns_servers);
    afc_free(network->doh_url);
    afc_free(network->doh_host);
    afc_free(network->interface);
    afc_free(network->unix_socket);
    afc_free(network);
}

static afc_status copy(char **out, const char *text, afc_failure *failure) {
    if (text == NULL || text[0] == '\0') return AFC_OK;
    *out = afc__copy_text(afc_slice_of(text));
    return *out != NULL ? AFC_OK : afc__fail_memory(failure);
}

static afc_status set_overrides(afc__network *network, const afc_network_options *options,
                                afc_failure *failure) {
    size_t count = options->override_count;
    if (count == 0) return AFC_OK;
    if (options->overrides == NULL || count > MAX_OVERRIDES) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid host overrides: the array is missing or too long");
    }
    network->overrides = afc__zalloc(2 * count * sizeof *network->overrides);
    if (network->overrides == NULL) return afc__fail_memory(failure);
    for (size_t i = 0; i < 2 * count; i++) {
        struct curl_slist *node = &network->overrides[i];
        afc_status status = afc__route_write_override(&node->data, &options->overrides[i / 2],
                                                      i % 2 != 0, failure);
        if (status != AFC_OK) return status;
        if (i > 0) network->overrides[i - 1].next = node;
        network->override_count++;
    }
    return AFC_OK;
}

static afc_status set_servers(afc__network *network, const afc_network_options *options,
                              bool has_total_limit, afc_failure *failure) {
    const curl_version_info_data *info = afc__libcurl_info();
    afc_status status = AFC_OK;
    if (options->dns_servers != NULL) {
        status = afc__route_check_servers(options->dns_servers, failure);
        if (status == AFC_OK && info->ares == NULL) {
            status = afc__fail(failure, AFC_EUNSUPPORTED,
                               "dns_servers requires a libcurl with c-ares");
        }
        if (status == AFC_OK) status = copy(&network->dns_servers, options->dns_servers, failure);
    }
    if (status != AFC_OK || options->doh_url == NULL) return status;
    if (has_total_limit) {
        status = afc__fail(failure, AFC_EUNSUPPORTED,
                           "DNS over HTTPS can't be combined with max_connections");
        return afc__give_reason(failure, AFC_REASON_DOH_URL, status);
    }
    if (options->interface != NULL) {
        /* The handles that libcurl makes for DNS over HTTPS don't inherit CURLOPT_INTERFACE. */
        status = afc__fail(failure, AFC_EUNSUPPORTED,
                           "DNS over HTTPS can't be combined with an interface: libcurl would send "
                           "the queries from another one");
        return afc__give_reason(failure, AFC_REASON_DOH_URL, status);
    }
    status = afc__route_write_doh_server(&network->doh_host, &network->doh_port, options->doh_url,
                                         failure);
    return status == AFC_OK ? copy(&network->doh_url, options->doh_url, failure) : status;
}

static afc_status set_addresses(afc__network *network, const afc_network_options *options,
                                afc_failure *failure) {
    static const long versions[] = {[AFC_IP_ANY] = CURL_IPRESOLVE_WHATEVER,
                                    [AFC_IP_V4] = CURL_IPRESOLVE_V4,
                                    [AFC_IP_V6] = CURL_IPRESOLVE_V6};
    if ((unsigned)options->ip_version > AFC_IP_V6) {
        return afc__fail(failure, AFC_EINVAL, "invalid IP version: %d", (int)options->ip_version);
    }
    if (options->happy_eyeballs_ms > MAX_EYEBALLS_MS) {
        return afc__fail(failure, AFC_EINVAL, "invalid happy_eyeballs_ms: the maximum is 60000");
    }
    network->ip_version = versions[options->ip_version];
    network->eyeballs_ms = (long)options->happy_eyeballs_ms;
    if (options->interface == NULL) return AFC_OK;
    return afc__route_write_interface(&network->interface, options->interface, failure);
}

static bool is_plain(const afc_network_options *options) {
    return options->override_count == 0 && options->dns_servers == NULL &&
           options->doh_url == NULL && options->ip_version == AFC_IP_ANY &&
           options->happy_eyeballs_ms == 0 && options->interface == NULL &&
           options->unix_socket == NULL && !options->require_public_addresses;
}

afc_status afc__network_new(afc__network **out, const afc_network_options *options,
                            bool has_total_limit, afc_failure *failure) {
    *out = NULL;
    afc_status status = AFC__CHECK_RESERVED(options, "afc_network_options", failure);
    if (status != AFC_OK || is_plain(options)) return status;
    afc__network *network = afc__zalloc(sizeof *network);
    if (network == NULL) return afc__fail_memory(failure);
    network->require_public_addresses = options->require_public_addresses;
    status = set_overrides(network, options, failure);
    if (status == AFC_OK) status = set_servers(network, options, has_total_limit, failure);
    if (status == AFC_OK) status = set_addresses(network, options, failure);
    if (status == AFC_OK && options->unix_socket != NULL) {
        status = afc__route_check_socket(options->unix_socket, failure);
        if (status == AFC_OK) status = copy(&network->unix_socket, options->unix_socket, failure);
    }
    if (status != AFC_OK) {
        afc__network_free(network);
        return status;
    }
    *out = network;
    return AFC_OK;
}

const char *afc__network_doh_host(const afc__network *network) {
    return network != NULL ? network->doh_host : NULL;
}

afc_slice afc__network_doh_server(const afc__network *network, uint16_t *port) {
    if (network == NULL || network->doh_host == NULL) return (afc_slice){NULL, 0};
    *port = network->doh_port;
    return afc_slice_of(network->doh_host);
}

struct curl_slist *afc__network_overrides(const afc__network *network) {
    return network != NULL ? network->overrides : NULL;
}

bool afc__network_has_servers(const afc__network *network) {
    return network != NULL && network->dns_servers != NULL;
}

bool afc__network_has_interface(const afc__network *network) {
    return network != NULL && network->interface != NULL;
}

int afc__network_family(const afc__network *network) {
    long version = network != NULL ? network->ip_version : CURL_IPRESOLVE_WHATEVER;
    if (version == CURL_IPRESOLVE_V4) return AF_INET;
    return version == CURL_IPRESOLVE_V6 ? AF_INET6 : AF_UNSPEC;
}

bool afc__network_requires_public(const afc__network *network) {
    return network != NULL && network->require_public_addresses;
}

/**
 * Checks the address that is about to be connected to, rather than an earlier lookup of its name.
 */
bool afc__exchange_may_connect(const afc__exchange *exchange, const struct curl_sockaddr *address) {
    const afc__network *network = exchange->driver->network;
    afc__ip ip;
    uint16_t port;
    bool is_open = !afc__network_requires_public(network) ||
                   afc__exchange_uses_own_listener(exchange);
    if (is_open || exchange->hop.transfer == NULL || exchange->hop.transfer->hop.proxy != NULL)
        return true;
    if (!afc__socket_address_read(&ip, &port, &address->addr) || afc__ip_is_public(&ip)) {
        return true;
    }
    return afc__transfer_fail_text(exchange->hop.transfer, AFC_ECONNECT,
                                   "the host's address isn't public");
}

/* ---- For libcurl --------------------------------------------------------------------------- */

/**
 * Returns the value for CURLOPT_IPRESOLVE. libcurl refuses a Unix-domain socket together with an IP version, as the
 * socket's address has another family.
 */
static long ip_version_for(const afc__network *network, const char *socket) {
    bool is_any = network == NULL || socket != NULL;
    return is_any ? CURL_IPRESOLVE_WHATEVER : network->ip_version;
}

static CURLcode set_socket(CURL *easy, const char *path) {
    bool is_abstract = path != NULL && path[0] == '@';
    if (is_abstract) return curl_easy_setopt(easy, CURLOPT_ABSTRACT_UNIX_SOCKET, path + 1);
    return curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, path);
}

/**
 * Keeps addresses that are the hosts of URLs out of libcurl's DNS cache. It searches all of the cache for old entries at
 * the end of each transfer, and by default an entry is old after a minute. request/resolve.c adds names as permanent
 * entries; libcurl looks up others only with DNS servers of the session.
 */
static CURLcode set_cache_time(CURL *easy, const afc__network *network) {
    bool looks_up = network != NULL && (network->doh_url != NULL || network->dns_servers != NULL);
    return looks_up ? CURLE_OK : curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
}

CURLcode afc__exchange_set_network(afc__exchange *exchange) {
    const afc__network *network = exchange->driver->network;
    CURL *easy = exchange->easy;
    CURLcode code = set_cache_time(easy, network);
    if (code != CURLE_OK || network == NULL) return code;
    code = curl_easy_setopt(easy, CURLOPT_IPRESOLVE, ip_version_for(network, network->unix_socket));
    if (code == CURLE_OK && network->overrides != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_RESOLVE, network->overrides);
    }
    if (code == CURLE_OK && network->dns_servers != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_DNS_SERVERS, network->dns_servers);
    }
    if (code == CURLE_OK && network->doh_url != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_DOH_URL, network->doh_url);
        /* trust/evaluate.c compares the host name, as for other servers. */
        if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_DOH_SSL_VERIFYHOST, 0L);
    }
    if (code == CURLE_OK && network->eyeballs_ms != 0) {
        code = curl_easy_setopt(easy, CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, network->eyeballs_ms);
    }
    if (code == CURLE_OK && network->interface != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_INTERFACE, network->interface);
    }
    if (code == CURLE_OK && network->unix_socket != NULL) {
        code = set_socket(easy, network->unix_socket);
    }
    return code;
}

const char *afc__driver_socket(const afc__driver *driver, const afc__transfer *transfer) {
    const char *own = transfer->unix_socket;
    if (own != NULL) return own[0] != '\0' ? own : NULL;
    return driver->network != NULL ? driver->network->unix_socket : NULL;
}

afc_status afc__driver_check_route(const afc__driver *driver, const afc__transfer *transfer,
                                   afc_failure *failure) {
    if (transfer->own_proxy == NULL || afc__driver_socket(driver, transfer) == NULL) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL,
                     "the %s's unix_socket can't be combined with a proxy: set the request's "
                     "unix_socket to \"\" to use the proxy",
                     transfer->unix_socket != NULL ? "request" : "session");
}

bool afc__exchange_uses_socket(const afc__exchange *exchange) {
    return afc__driver_socket(exchange->driver, exchange->hop.transfer) != NULL;
}

CURLcode afc__exchange_set_socket(afc__exchange *exchange) {
    const char *own = exchange->hop.transfer->unix_socket;
    if (own == NULL && !exchange->state.has_own_socket) return CURLE_OK;
    exchange->state.has_own_socket = own != NULL;
    const char *socket = afc__driver_socket(exchange->driver, exchange->hop.transfer);
    CURLcode code = curl_easy_setopt(exchange->easy, CURLOPT_IPRESOLVE,
                                     ip_version_for(exchange->driver->network, socket));
    return code == CURLE_OK ? set_socket(exchange->easy, socket) : code;
}
