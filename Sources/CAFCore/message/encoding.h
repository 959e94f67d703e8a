/** Encodes octets as text and decodes them: Base64 (RFC 4648 section 4), percent-encoding. Pure functions. */
#ifndef AFC_MESSAGE_ENCODING_H
#define AFC_MESSAGE_ENCODING_H

#include <afcore/base.h>

/** Returns the octet of the "%XX" at the start of `text`; -1: none. */
int afc__percent_octet(afc_slice text);

/** Writes "%XX" and returns what follows it. */
char *afc__percent_put(char *out, char octet);

/**
 * Decodes a percent-encoded text; invalid escapes are kept. `out` has room for text.size bytes and may be the text
 * itself. Adds no NUL.
 */
size_t afc__percent_decode(unsigned char *out, const char *text);

/** Size of the Base64 of that many octets, without the NUL. */
#define AFC__BASE64_SIZE(octets) (((octets) + 2) / 3 * 4)

/** Encodes with padding and a NUL. */
void afc__base64_encode(char *out, const unsigned char *octets, size_t size);

/** Decodes exactly `size` octets, with or without padding; unused bits must be 0. */
bool afc__base64_decode(unsigned char *out, size_t size, afc_slice text);

#endif
