/**
 * The authority of a URL: userinfo, host and port (RFC 3986 3.2). Pure functions.
 */
#ifndef AFC_MESSAGE_HOST_H
#define AFC_MESSAGE_HOST_H

#include "message/ip.h"

#include <afcore/error.h>

/** An authority split into its parts, without checks. The `bytes` of absent parts are NULL. */
typedef struct afc__authority_text {
    /** The text before the last "@", so that nothing in it can be mistaken for the host. */
    afc_slice userinfo;
    afc_slice host;    /**< Without brackets. */
    afc_slice port;    /**< The text after the colon. */
    bool is_bracketed; /**< The host was in brackets. */
    afc_slice excess;  /**< Text between the closing bracket and the port. */
} afc__authority_text;

/** Splits an authority into its parts without checking them. */
void afc__authority_cut(afc__authority_text *out, afc_slice text);

/** Parses a number from 1 to 65535. */
bool afc__port_parse(uint16_t *out, afc_slice text);

/** A checked authority. Its slices point into the text that was split. */
typedef struct afc__authority {
    afc_slice userinfo; /**< Empty if missing. */
    afc_slice host;     /**< As written; an IPv6 address without brackets. */
    bool is_ipv6;
    afc__ip ip; /**< The address, if the host is one in any notation; otherwise its `size` is 0. */
    uint16_t port; /**< 0 if missing. */
} afc__authority;

/**
 * Splits and checks an authority, which is the text between "//" and the path. Fails with AFC_EINVAL, as
 * afc__url_parse() does.
 */
afc_status afc__authority_split(afc__authority *out, afc_slice text, afc_failure *failure);

/**
 * Writes the host in the form that is compared and sent: a name in lower case, an address normalised and without
 * brackets. `out` has afc__authority_host_size() bytes and gets no NUL. Returns the size.
 */
size_t afc__authority_write_host(const afc__authority *authority, char *out);

/** Returns the size that `out` needs, in bytes. */
static inline size_t afc__authority_host_size(const afc__authority *authority) {
    return authority->host.size > AFC__IP_SIZE ? authority->host.size : AFC__IP_SIZE;
}

/**
 * Writes a host as URLs have it: an IPv6 address in brackets. Writes at most two bytes more than the host has, without
 * a NUL, and returns their end.
 */
char *afc__host_write(char *at, afc_slice host);

/**
 * Returns whether a text is a DNS name: ASCII, "_" allowed, no trailing dot. IPv4 addresses match, too.
 */
bool afc__is_dns_name(afc_slice text);

/** Returns whether a text is an IPv6 address (RFC 4291 2.2) without a zone. Declared for tests. */
bool afc__is_ipv6(afc_slice text);

#endif
