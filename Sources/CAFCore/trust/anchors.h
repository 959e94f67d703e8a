/**
 * Which certificates are trusted to begin with: the system's, and those that are given.
 */
#ifndef AF_TRUST_ANCHORS_H
#define AF_TRUST_ANCHORS_H

#include <openssl/x509_vfy.h>
#include <stdbool.h>

/** The system's, looked up once per process and shared; borrowed. NULL when out of memory. */
X509_STORE *af__anchors_system(void);

/** A store of one's own; either list may be NULL, and stays the caller's. NULL when out of memory. */
X509_STORE *af__anchors_new(STACK_OF(X509) *certificates, STACK_OF(X509_CRL) *crls,
                            bool has_system);

#endif
