/**
 * How the hosts of a session are reached: other addresses for a name, who is asked for names, which
 * addresses and which way out are taken, a socket of this machine in place of the network.
 */
#ifndef AFCORE_NETWORK_H
#define AFCORE_NETWORK_H

#include <afcore/base.h>

AF_BEGIN_DECLS

/** Which addresses of a host are tried. */
typedef enum AF_OPEN_ENUM af_ip_version {
    AF_IP_ANY = 0, /**< Both; IPv6 first, and IPv4 beside it when that takes long (RFC 8305). */
    AF_IP_V4 = 1,
    AF_IP_V6 = 2
} af_ip_version;

/** Addresses in place of those that the name `host` has; nobody is asked for it on that port. */
typedef struct af_host_override {
    const char
        *host; /**< A name in ASCII (A-labels), case and one trailing dot aside; "*": every one. */
    uint16_t port;         /**< Of the server, or of the proxy, whose name it may be, too. Not 0. */
    const char *addresses; /**< IPv4 and IPv6, separated by commas; tried in this order. */
} af_host_override;

/** Zeroed: as the system does it. What is here is the same for all connections of a session. */
typedef struct af_network_options {
    const af_host_override *overrides;
    size_t override_count;
    /**
     * Who is asked for names instead of the system's servers: addresses, each with a port if need be
     * ("192.0.2.1,192.0.2.2:5353,[2001:db8::1]:53"). AF_EUNSUPPORTED where libcurl has no c-ares.
     */
    const char *dns_servers;
    /**
     * Names are asked for over HTTPS (RFC 8484), by POST to this URL, and in no other way: if that
     * fails, the request does, with AF_EDNS. The session's trust policy judges that server; no proxy is
     * asked for it. A name in the URL itself is looked up by the system, once, unless it has an
     * override. AF_EUNSUPPORTED together with a limit of connections in total, for which its
     * connections would wait behind those that wait for them.
     */
    const char *doh_url;
    af_ip_version ip_version;
    /** Milliseconds after which IPv4 is tried beside IPv6, at most 60000; 0: libcurl's 200. */
    uint32_t happy_eyeballs_ms;
    /**
     * Where connections leave this machine: "if!NAME", a link; "host!ADDRESS", one of its addresses;
     * without a mark, what of both it is. Names of hosts are not looked up. Link-local addresses of IPv6 need a link:
     * URLs have no zones (RFC 9844).
     */
    const char *interface;
    /** Every connection goes to this socket; see af_request.unix_socket. */
    const char *unix_socket;
    /**
     * Servers that are reached directly must have public addresses, for programs that fetch what others
     * name: a host with one that is private, loopback, link-local or otherwise special is AF_ECONNECT,
     * on every hop and whatever its name said before, and nothing is sent. What is asked of a proxy is for
     * the proxy to judge; Unix-domain sockets and `doh_url` are the program's own words.
     */
    bool public_addresses_only;
} af_network_options;

AF_END_DECLS

#endif
