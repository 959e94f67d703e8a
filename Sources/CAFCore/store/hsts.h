/**
 * Which hosts want https, for how long, and what a field says about it (RFC 6797). Any thread.
 */
#ifndef AF_STORE_HSTS_H
#define AF_STORE_HSTS_H

#include <afcore/hsts.h>

/** The value of Strict-Transport-Security. */
typedef struct af__hsts_field {
    int64_t age; /**< Seconds. */
    bool includes_subdomains;
} af__hsts_field;

/** false: the field is to be ignored. */
bool af__hsts_read(af__hsts_field *out, af_slice value);

/** Remember, or with an age of 0 forget, a host in ASCII and lower case without a dot at its end. */
af_status af__hsts_keep(af_hsts *hsts, const char *host, const af__hsts_field *field, int64_t now);

/** The host itself, or one above it that includes those below it. */
bool af__hsts_wants(af_hsts *hsts, const char *host, int64_t now);

#endif
