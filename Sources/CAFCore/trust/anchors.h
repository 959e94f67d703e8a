/**
 * Trust anchors: the system's, and those of a policy.
 */
#ifndef AFC_TRUST_ANCHORS_H
#define AFC_TRUST_ANCHORS_H

#include <openssl/x509_vfy.h>
#include <stdbool.h>

/** Returns the system's store, which is created once per process and shared; borrowed. NULL when out of memory. */
X509_STORE *afc__anchors_system(void);

/** Creates a store from two lists; each may be NULL and remains the caller's. NULL when out of memory. */
X509_STORE *afc__anchors_new(STACK_OF(X509) *certificates, STACK_OF(X509_CRL) *crls,
                             bool has_system);

/**
 * Reads the system's bundle into a store that has only the anchors of the system's directory so far. Returns whether
 * another look is worth it for a chain that had no anchor: always for such a store, because another thread may have
 * read it just now. Any thread.
 */
bool afc__anchors_add_bundle(X509_STORE *store);

#endif
