/**
 * The HSTS store: which hosts require https, until when, and the parser of the field (RFC 6797). Any thread.
 */
#ifndef AF_STORE_HSTS_H
#define AF_STORE_HSTS_H

#include <afcore/hsts.h>

/** The parsed value of Strict-Transport-Security. */
typedef struct af__hsts_field {
    int64_t age; /**< Seconds. */
    bool includes_subdomains;
} af__hsts_field;

/** Parses the field. false: it must be ignored (RFC 6797 6.1). */
bool af__hsts_read(af__hsts_field *out, af_slice value);

/** Stores a host (ASCII, lower case, without a trailing dot), or removes it if the age is 0. */
af_status af__hsts_keep(af_hsts *hsts, const char *host, const af__hsts_field *field, int64_t now);

/** Returns whether the host, or a parent with includeSubDomains, requires https. */
bool af__hsts_wants(af_hsts *hsts, const char *host, int64_t now);

#endif
