/** Encodes octets as text and decodes them: Base64 (RFC 4648 section 4), percent-encoding. Pure functions. */
#ifndef AFC_MESSAGE_ENCODING_H
#define AFC_MESSAGE_ENCODING_H

#include <afcore/base.h>

/** Returns the octet of the "%XX" at the start of `text`; -1 if there is none. */
int afc__percent_octet(afc_slice text);

/** Writes "%XX" and returns its end. */
char *afc__percent_put(char *out, char octet);

/**
 * Decodes a percent-encoded text, and returns the size of the result, which has no NUL. Invalid escapes are kept. `out`
 * must have room for strlen(text) bytes and may be the text itself.
 */
size_t afc__percent_decode(unsigned char *out, const char *text);

/** Size of the Base64 of that many octets, without the NUL. */
#define AFC__BASE64_SIZE(octets) (((octets) + 2) / 3 * 4)

/** Encodes with padding and a NUL. */
void afc__base64_encode(char *out, const unsigned char *octets, size_t size);

/** Decodes exactly `size` octets, with or without padding; unused bits must be 0. */
bool afc__base64_decode(unsigned char *out, size_t size, afc_slice text);

#endif
