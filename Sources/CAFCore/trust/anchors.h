/**
 * Trust anchors: the system's, and those of a policy.
 */
#ifndef AFC_TRUST_ANCHORS_H
#define AFC_TRUST_ANCHORS_H

#include <afcore/error.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>

/*
 * These fail with AFC_ENOMEM when out of memory or descriptors, and with AFC_EFILE after another error that may pass,
 * such as EIO. Then nothing is remembered, and the next call reads again. Files that don't exist are no error.
 */

/** Returns the system's store, which is created once per process and shared; borrowed. */
afc_status afc__anchors_system(X509_STORE **out, afc_failure *failure);

/** Creates a store from two lists; each may be NULL and remains the caller's. */
afc_status afc__anchors_new(X509_STORE **out, STACK_OF(X509) *certificates,
                            STACK_OF(X509_CRL) *crls, bool has_system, afc_failure *failure);

/**
 * Reads the system's bundle into a store that has only the anchors of the system's directory so far. Sets whether
 * another look is worth it for a chain that had no anchor: always for such a store, because another thread may have
 * read it just now. Any thread.
 */
afc_status afc__anchors_add_bundle(X509_STORE *store, bool *may_help, afc_failure *failure);

#endif
