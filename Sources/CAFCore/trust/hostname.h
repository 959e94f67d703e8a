/**
 * Host names of certificates and rules. Pure functions.
 */
#ifndef AFC_TRUST_HOSTNAME_H
#define AFC_TRUST_HOSTNAME_H

#include <afcore/base.h>

/** Maximum size of a DNS name, with its NUL. */
enum { AFC__TRUST_HOST_SIZE = 256 };

/** A host for comparisons: in lower case, without a trailing dot; addresses are normalised. */
typedef struct afc__trust_host {
    char text[AFC__TRUST_HOST_SIZE];
    bool is_address;
} afc__trust_host;

/**
 * Reads a host. Returns false if a certificate can't name it, for example because of an empty label or bytes above 127,
 * or if no URL can have it: it ends in a number but isn't an address. Short forms of addresses ("127.1") are expanded.
 */
bool afc__trust_host_read(afc__trust_host *out, const char *text);

typedef enum afc__pattern_kind {
    AFC__PATTERN_EXACT,
    AFC__PATTERN_WILDCARD,  /**< One label before `host`. */
    AFC__PATTERN_SUBDOMAINS /**< `host` and its subdomains. */
} afc__pattern_kind;

typedef struct afc__host_pattern {
    afc__pattern_kind kind;
    afc__trust_host host; /**< Without "*.". */
} afc__host_pattern;

/** Reads a pattern. Returns false if it isn't a host, or has a star that isn't the first label. */
bool afc__host_pattern_read(afc__host_pattern *out, const char *text, bool includes_subdomains);

/** Returns how specifically a pattern matches: 0 if it doesn't match; a higher number is more specific. */
unsigned afc__host_pattern_specificity(const afc__host_pattern *pattern,
                                       const afc__trust_host *host);

#endif
