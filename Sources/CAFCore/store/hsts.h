/**
 * The HSTS store: which hosts require https, until when, and the parser of the field (RFC 6797). Any thread may call
 * these functions.
 */
#ifndef AFC_STORE_HSTS_H
#define AFC_STORE_HSTS_H

#include <afcore/hsts.h>

/** The parsed value of Strict-Transport-Security. */
typedef struct afc__hsts_field {
    int64_t age; /**< max-age in seconds. */
    bool includes_subdomains;
} afc__hsts_field;

/** Parses the field. Returns false if it must be ignored (RFC 6797 6.1). */
bool afc__hsts_read(afc__hsts_field *out, afc_slice value);

/**
 * Stores a host (ASCII, lower case, without a trailing dot), or removes it if the age is 0. Addresses are ignored.
 * Fails with AFC_ENOMEM.
 */
afc_status afc__hsts_keep(afc_hsts *hsts, const char *host, const afc__hsts_field *field,
                          int64_t now);

/** Returns whether the host, or a parent with includeSubDomains, requires https. */
bool afc__hsts_wants(afc_hsts *hsts, const char *host, int64_t now);

#endif
