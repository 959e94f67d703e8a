/** Conversions of socket addresses. Pure functions. */
#ifndef AFC_CURL_CONNECTION_SOCKET_ADDRESS_H
#define AFC_CURL_CONNECTION_SOCKET_ADDRESS_H

#include "message/ip.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/**
 * Reads an address and its port. Returns false if it is neither IPv4 nor IPv6, such as that of a Unix-domain socket.
 */
static inline bool afc__socket_address_read(afc__ip *out, uint16_t *port,
                                            const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        out->size = sizeof four.sin_addr;
        memcpy(out->bytes, &four.sin_addr, sizeof four.sin_addr);
        *port = ntohs(four.sin_port);
        return true;
    }
    if (address->sa_family != AF_INET6) return false;
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    out->size = sizeof six.sin6_addr;
    memcpy(out->bytes, &six.sin6_addr, sizeof six.sin6_addr);
    *port = ntohs(six.sin6_port);
    return true;
}

/** Sets the port to 0, which means any port. Returns false if the address is neither IPv4 nor IPv6. */
static inline bool afc__socket_address_clear_port(struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET) {
        ((struct sockaddr_in *)address)->sin_port = 0;
        return true;
    }
    if (address->ss_family != AF_INET6) return false;
    ((struct sockaddr_in6 *)address)->sin6_port = 0;
    return true;
}

#endif
