/**
 * IP addresses as text. Pure functions.
 */
#ifndef AFC_MESSAGE_IP_H
#define AFC_MESSAGE_IP_H

#include <afcore/base.h>

typedef struct afc__ip {
    uint8_t bytes[16];
    uint8_t size; /**< 4 or 16. */
} afc__ip;

/** Parses dotted decimal without leading zeros, or IPv6 (RFC 4291 2.2) without a zone. */
bool afc__ip_parse(afc__ip *out, afc_slice text);

/** The kind of a host's text. */
typedef enum afc__host_kind {
    AFC__HOST_NAME,
    AFC__HOST_ADDRESS,
    /** It ends in a number but isn't an IPv4 address: resolvers disagree about it. */
    AFC__HOST_INVALID
} afc__host_kind;

/**
 * Classifies the host of a URL, without brackets, as the URL Standard and inet_aton() do. One to four numbers in
 * decimal, octal or hexadecimal are an IPv4 address, even with a trailing dot; the last number fills the remaining
 * bytes.
 */
afc__host_kind afc__ip_read_host(afc__ip *out, afc_slice host);

/** Size of an address as text, with a NUL. */
enum { AFC__IP_SIZE = 46 };

/** Writes the normal form: dotted decimal, or that of RFC 5952 without dotted decimal in it. Returns the size. */
size_t afc__ip_write(const afc__ip *ip, char out[AFC__IP_SIZE]);

/** Returns whether both have the same family and the same first `prefix` bits. */
bool afc__ip_is_in(const afc__ip *ip, const afc__ip *network, unsigned prefix);

/** Returns whether an address is in 127.0.0.0/8, also IPv4-mapped, or is ::1. */
bool afc__ip_is_loopback(const afc__ip *ip);

/**
 * Returns whether an address is a public unicast one: not loopback, private, link-local, shared, reserved, for
 * documentation or multicast. An IPv4 address embedded in an IPv6 address is checked itself: mapped, NAT64 with the
 * well-known prefix, 6to4, ISATAP. A NAT64 prefix that a network chose itself looks like any other (RFC 6052 2.2).
 */
bool afc__ip_is_public(const afc__ip *ip);

#endif
