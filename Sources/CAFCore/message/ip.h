/**
 * IP addresses as text. Pure functions.
 */
#ifndef AF_MESSAGE_IP_H
#define AF_MESSAGE_IP_H

#include <afcore/base.h>

typedef struct af__ip {
    uint8_t bytes[16];
    uint8_t size; /**< 4 or 16. */
} af__ip;

/** Parses dotted decimal without leading zeros, or IPv6 (RFC 4291 2.2) without a zone. */
bool af__ip_parse(af__ip *out, af_slice text);

/** The kind of a host's text. */
typedef enum af__host_kind {
    AF__HOST_NAME,
    AF__HOST_ADDRESS,
    AF__HOST_INVALID /**< Ends in a number but isn't an IPv4 address: resolvers disagree about it. */
} af__host_kind;

/**
 * Classifies the host of a URL, without brackets, as the URL Standard and inet_aton() do: one to four numbers in
 * decimal, octal or hexadecimal, of which the last one fills the rest, are an IPv4 address, also with a trailing
 * dot.
 */
af__host_kind af__ip_read_host(af__ip *out, af_slice host);

/** Size of an address as text, with a NUL. */
enum { AF__IP_ROOM = 46 };

/** Writes the normal form: dotted decimal, or RFC 5952 without its dotted form. Returns the size. */
size_t af__ip_write(const af__ip *ip, char out[AF__IP_ROOM]);

/** Returns whether both have the same family and the same first `prefix` bits. */
bool af__ip_is_in(const af__ip *ip, const af__ip *network, unsigned prefix);

/** Returns whether an address is in 127.0.0.0/8, also IPv4-mapped, or is ::1. */
bool af__ip_is_loopback(const af__ip *ip);

/**
 * Returns whether an address is a public unicast one: not loopback, private, link-local, shared, reserved, for
 * documentation or multicast. An IPv4 address embedded in an IPv6 address is checked itself.
 */
bool af__ip_is_public(const af__ip *ip);

#endif
