/**
 * Writes the names of a certificate as text. The author of a certificate must not be able to write anything but a name.
 */
#ifndef AFC_TRUST_NAMES_TEXT_H
#define AFC_TRUST_NAMES_TEXT_H

#include <openssl/x509v3.h>
#include <stddef.h>

/** Writes bytes as hexadecimal digits. */
void afc__hex_print(BIO *bio, const unsigned char *bytes, int size);

/** Writes an alternative name. Octets of a host name that could be mistaken for its end are escaped. */
void afc__general_name_write(BIO *bio, GENERAL_NAME *name);

/**
 * Writes that `leaf` isn't valid for `host`, and for which hosts it is: as many names as fit, and the number of others.
 */
void afc__wrong_host_write(char *out, size_t size, const char *host, X509 *leaf);

#endif
