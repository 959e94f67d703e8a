/**
 * Addresses in text. Pure.
 */
#ifndef AF_MESSAGE_IP_H
#define AF_MESSAGE_IP_H

#include <afcore/base.h>

typedef struct af__ip {
    uint8_t bytes[16];
    uint8_t size; /**< 4 or 16. */
} af__ip;

/** Four numbers up to 255 without leading zeros, or RFC 4291 2.2 without a zone. */
bool af__ip_parse(af__ip *out, af_slice text);

/** The first `prefix` bits are the same, and the family. */
bool af__ip_is_in(const af__ip *ip, const af__ip *network, unsigned prefix);

/** 127.0.0.0/8, ::1, and the former as the latter writes it. */
bool af__ip_is_loopback(const af__ip *ip);

/**
 * May it be anybody's in the internet? Not loopback, private, link-local, shared, reserved, for documents or
 * for many; an IPv4 address that is written into one of IPv6 counts as itself.
 */
bool af__ip_is_public(const af__ip *ip);

#endif
