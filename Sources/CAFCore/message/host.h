/**
 * The authority of a URL: userinfo, host and port (RFC 3986 3.2). Pure functions.
 */
#ifndef AF_MESSAGE_HOST_H
#define AF_MESSAGE_HOST_H

#include "message/ip.h"

#include <afcore/error.h>

/** An authority split into its parts, without checks. The `bytes` of absent parts are NULL. */
typedef struct af__authority_text {
    af_slice
        userinfo; /**< Before the last "@", so that nothing before it can be mistaken for the host. */
    af_slice host;     /**< Without brackets. */
    af_slice port;     /**< After the colon. */
    bool is_bracketed; /**< The host was in brackets. */
    af_slice excess;   /**< Text between the closing bracket and the port. */
} af__authority_text;

void af__authority_cut(af__authority_text *out, af_slice text);

/** Parses a number from 1 to 65535. */
bool af__port_parse(uint16_t *out, af_slice text);

/** A checked authority. Its slices point into the text that was split. */
typedef struct af__authority {
    af_slice userinfo; /**< Empty if missing. */
    af_slice host;     /**< As written; an IPv6 address without brackets. */
    bool is_ipv6;
    af__ip ip;     /**< The address, if the host is one in any notation; otherwise its size is 0. */
    uint16_t port; /**< 0 if missing. */
} af__authority;

/** Splits and checks an authority, the text between "//" and the path. AF_EINVAL as af__url_parse(). */
af_status af__authority_split(af__authority *out, af_slice text, af_failure *failure);

/**
 * Writes the host in the form that is compared and sent: a name in lower case, an address normalised and without
 * brackets. `out` has af__authority_host_room() bytes and gets no NUL. Returns the size.
 */
size_t af__authority_write_host(const af__authority *authority, char *out);

/** Returns the required room. */
static inline size_t af__authority_host_room(const af__authority *authority) {
    return authority->host.size > AF__IP_ROOM ? authority->host.size : AF__IP_ROOM;
}

/**
 * Returns whether a text is a DNS name: ASCII, "_" allowed, no trailing dot. IPv4 addresses match, too.
 */
bool af__is_dns_name(af_slice text);

/** Returns whether a text is an IPv6 address (RFC 4291 2.2) without a zone. */
bool af__is_ipv6(af_slice text);

#endif
