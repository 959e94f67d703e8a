/** Trust anchors: those of the system, and those of a policy. */
#ifndef AFC_TRUST_ANCHORS_H
#define AFC_TRUST_ANCHORS_H

#include <afcore/error.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>

/*
 * These functions fail with AFC_ENOMEM when memory or descriptors have run out, and with AFC_EFILE after another error
 * that may be temporary, such as EIO. A failure isn't remembered: the next call reads again. Files that don't exist
 * aren't an error.
 */

/** Returns the system's store, which is created once per process and shared; borrowed. */
afc_status afc__anchors_system(X509_STORE **out, afc_failure *failure);

/**
 * Creates a store from two lists, each of which may be NULL and remains the caller's, and from the system's anchors if
 * `has_system` is true.
 */
afc_status afc__anchors_new(X509_STORE **out, STACK_OF(X509) *certificates,
                            STACK_OF(X509_CRL) *crls, bool has_system, afc_failure *failure);

/**
 * Reads the system's bundle into a store that so far has only the anchors of the system's directory. `*may_help` tells
 * whether verifying a chain that had no anchor may now succeed: always for such a store, because another thread may
 * have read the bundle just now. Any thread.
 */
afc_status afc__anchors_add_bundle(X509_STORE *store, bool *may_help, afc_failure *failure);

#endif
