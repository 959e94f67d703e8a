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

/** What a host's text is. */
typedef enum af__host_kind {
    AF__HOST_NAME,
    AF__HOST_ADDRESS,
    AF__HOST_INVALID /**< It ends in a number, but is no IPv4 address: resolvers disagree about it. */
} af__host_kind;

/**
 * The host of a URL, without brackets, as the URL Standard and inet_aton() read it: one to four numbers in decimal,
 * octal or hexadecimal, of which the last one fills the rest, are an IPv4 address, also before a final dot.
 */
af__host_kind af__ip_read_host(af__ip *out, af_slice host);

/** Bytes of an address in text and a NUL. */
enum { AF__IP_ROOM = 46 };

/** The one usual form: four decimal numbers, or RFC 5952 without its dotted form. Returns the size. */
size_t af__ip_write(const af__ip *ip, char out[AF__IP_ROOM]);

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
