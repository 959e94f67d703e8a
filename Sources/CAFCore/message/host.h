/**
 * The authority of a URL: userinfo, host, port (RFC 3986 3.2). Pure.
 */
#ifndef AF_MESSAGE_HOST_H
#define AF_MESSAGE_HOST_H

#include "message/ip.h"

#include <afcore/error.h>

/** An authority cut into its parts, whatever they are. Absent parts have no bytes. */
typedef struct af__authority_text {
    af_slice userinfo; /**< Before the last "@": what precedes it can't be taken for the host. */
    af_slice host;     /**< Without brackets. */
    af_slice port;     /**< After the colon. */
    bool is_bracketed; /**< The host stood in brackets. */
    af_slice excess;   /**< What stands between the closing bracket and the port. */
} af__authority_text;

void af__authority_cut(af__authority_text *out, af_slice text);

/** A number from 1 to 65535. */
bool af__port_parse(uint16_t *out, af_slice text);

/** Every slice points into the text that was split. */
typedef struct af__authority {
    af_slice userinfo; /**< Empty if there is none. */
    af_slice host;     /**< As written; an IPv6 address without its brackets. */
    bool is_ipv6;
    af__ip
        ip; /**< What the host is if it is an address, in whatever spelling; else its size is 0. */
    uint16_t port; /**< 0 if none is named. */
} af__authority;

/** What stands between "//" and the path. AF_EINVAL as af__url_parse() says. */
af_status af__authority_split(af__authority *out, af_slice text, af_failure *failure);

/**
 * The host as it is compared and sent: a name in lower case, an address in its usual form, without brackets.
 * `out` has room for the larger of both, and gets no NUL; the size.
 */
size_t af__authority_write_host(const af__authority *authority, char *out);

/** Room for that. */
static inline size_t af__authority_host_room(const af__authority *authority) {
    return authority->host.size > AF__IP_ROOM ? authority->host.size : AF__IP_ROOM;
}

/**
 * A name as DNS has it, in ASCII, with "_" among its letters and without a dot at its end; an IPv4 address
 * looks like one.
 */
bool af__is_dns_name(af_slice text);

/** An IPv6 address in text, RFC 4291 2.2, without a zone. */
bool af__is_ipv6(af_slice text);

#endif
