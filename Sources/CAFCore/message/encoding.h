/** Octets as text and back: Base64 (RFC 4648 section 4), hexadecimal digits, percent-encoding, letters' case. Pure. */
#ifndef AF_MESSAGE_ENCODING_H
#define AF_MESSAGE_ENCODING_H

#include <afcore/base.h>

/** The octet that "%XX" at the front of `text` stands for; -1: none. */
int af__percent_octet(af_slice text);

/**
 * The octets of a percent-encoded text; what is no escape stays. `out` has room for as many as
 * `text` has, and may be `text` itself. Adds no NUL.
 */
size_t af__percent_decode(unsigned char *out, const char *text);

/** The size of that many octets in Base64, without the NUL. */
#define AF__BASE64_SIZE(octets) (((octets) + 2) / 3 * 4)

/** With padding and a NUL. */
void af__base64_encode(char *out, const unsigned char *octets, size_t size);

/** Exactly `size` octets, with or without padding; bits that are left over must be 0. */
bool af__base64_decode(unsigned char *out, size_t size, af_slice text);

#endif
