/**
 * Host names of certificates and rules. Pure functions.
 */
#ifndef AF_TRUST_HOSTNAME_H
#define AF_TRUST_HOSTNAME_H

#include <afcore/base.h>

/** The maximum length of DNS, and the NUL. */
enum { AF__TRUST_HOST_SIZE = 256 };

/** A host for comparisons: in lower case, without a trailing dot; addresses are normalised. */
typedef struct af__trust_host {
    char text[AF__TRUST_HOST_SIZE];
    bool is_address;
} af__trust_host;

/**
 * Reads a host. false: a certificate can't name it, for example a name with an empty label or octets above 127.
 * Short forms of addresses ("127.1") are expanded.
 */
bool af__trust_host_read(af__trust_host *out, const char *text);

typedef enum af__pattern_kind {
    AF__PATTERN_EXACT,
    AF__PATTERN_WILDCARD,  /**< One label before `host`. */
    AF__PATTERN_SUBDOMAINS /**< `host` and its subdomains. */
} af__pattern_kind;

typedef struct af__host_pattern {
    af__pattern_kind kind;
    af__trust_host host; /**< Without "*.". */
} af__host_pattern;

/** Reads a pattern. false: not a host, or a star that isn't the first label. */
bool af__host_pattern_read(af__host_pattern *out, const char *text, bool includes_subdomains);

/** Returns how specifically a pattern matches: 0 no match; higher is more specific. */
unsigned af__host_pattern_specificity(const af__host_pattern *pattern, const af__trust_host *host);

#endif
