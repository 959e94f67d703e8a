/**
 * Network options of a session: address overrides, DNS servers, IP versions, the local interface or
 * address, and Unix-domain sockets.
 */
#ifndef AFCORE_NETWORK_H
#define AFCORE_NETWORK_H

#include <afcore/base.h>

AFC_BEGIN_DECLS

/** Which IP addresses of a host are tried (CURLOPT_IPRESOLVE). */
typedef enum AFC_OPEN_ENUM afc_ip_version {
    /** Both; IPv6 first, IPv4 in parallel after a delay (Happy Eyeballs, RFC 8305). */
    AFC_IP_ANY = 0,
    AFC_IP_V4 = 1,
    AFC_IP_V6 = 2
} afc_ip_version;

/** Addresses for a host and port that replace name resolution (CURLOPT_RESOLVE). */
typedef struct afc_host_override {
    /** ASCII name (A-labels), compared without regard to case and one trailing dot; "*" means every host. */
    const char *host;
    uint16_t port;         /**< Port of the server, or of a proxy of that name. Not 0. */
    const char *addresses; /**< IPv4 and IPv6 addresses, comma-separated, tried in this order. */
    uint64_t reserved[2];  /**< 0. */
} afc_host_override;

/** Network options, the same for all connections of a session. Zero-initialised: the system's settings. */
typedef struct afc_network_options {
    const afc_host_override *overrides; /**< Address overrides. */
    size_t override_count;
    /**
     * DNS servers that replace the system's: comma-separated addresses with optional ports
     * ("192.0.2.1,192.0.2.2:5353,[2001:db8::1]:53"). CURLOPT_DNS_SERVERS; AFC_EUNSUPPORTED if libcurl was
     * built without c-ares.
     */
    const char *dns_servers;
    /**
     * URL of a DNS-over-HTTPS server (RFC 8484, POST). There is no fallback: if the server fails, the request fails
     * with AFC_EDNS. The session's trust policy applies to that server. The system resolves a host name in this URL
     * once, unless it has an override. CURLOPT_DOH_URL.
     *
     * The session's proxies don't apply, but libcurl reads https_proxy, all_proxy and no_proxy (and their upper-case
     * names) for this server. AFC_EUNSUPPORTED if they name a proxy for it that the session, when it is created,
     * wouldn't choose for this URL: AFC_PROXIES_GIVEN, AFC_PROXIES_NONE, or a host that only the session bypasses. Also
     * AFC_EUNSUPPORTED together with `interface`, which libcurl doesn't use for this server, and with
     * `max_connections`, because its connections would wait for connections that wait for it.
     *
     * libcurl makes its connections to this server without close-on-exec. The library sets it when it first waits for
     * such a socket: a program that another thread starts in between inherits the descriptor.
     */
    const char *doh_url;
    afc_ip_version ip_version; /**< Default: AFC_IP_ANY. No effect over a Unix-domain socket. */
    /** Delay before IPv4 is tried in parallel with IPv6, at most 60000 ms; 0 means libcurl's default, 200 ms. */
    uint32_t happy_eyeballs_ms;
    /**
     * Local interface or address to connect from (CURLOPT_INTERFACE): "if!NAME", "host!ADDRESS", or either one without
     * a prefix. Host names are not resolved. Connecting to a link-local IPv6 address requires an interface, because
     * URLs have no zone identifiers (RFC 9844). NULL means chosen by the system. AFC_EUNSUPPORTED together with
     * `doh_url`.
     */
    const char *interface;
    /** Unix-domain socket for all connections; see afc_request.unix_socket. NULL means none. */
    const char *unix_socket;
    /**
     * Connects to public addresses only: for programs that fetch URLs from untrusted sources. If a host has a
     * private, loopback, link-local or other special-purpose address, the task fails with AFC_ECONNECT before
     * anything is sent; each connection of each hop is checked again. A request that would go through a proxy of
     * the environment fails with AFC_EUNSUPPORTED. Requests through a proxy of the session or the request,
     * Unix-domain sockets and `doh_url` are not checked. A NAT64 prefix that the network chose itself can't be
     * recognised, so its gateway must not translate to private addresses (RFC 6052 3.1 forbids it for 64:ff9b::/96).
     */
    bool require_public_addresses;
    uint64_t reserved[6]; /**< 0. */
} afc_network_options;

#define AFC_NETWORK_OPTIONS_INIT                                                                   \
    {                                                                                              \
        NULL, 0, NULL, NULL, AFC_IP_ANY, 0, NULL, NULL, false, {                                   \
            0                                                                                      \
        }                                                                                          \
    }

AFC_END_DECLS

#endif
