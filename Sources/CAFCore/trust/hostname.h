/**
 * Hosts as certificates and rules name them. Pure.
 */
#ifndef AF_TRUST_HOSTNAME_H
#define AF_TRUST_HOSTNAME_H

#include <afcore/base.h>

/** As long as DNS allows, and the NUL. */
enum { AF__TRUST_HOST_SIZE = 256 };

/** A host as it is compared: in lower case, without the root's dot; an address in its usual form. */
typedef struct af__trust_host {
    char text[AF__TRUST_HOST_SIZE];
    bool is_address;
} af__trust_host;

/**
 * false: nothing that a certificate could name, such as a name with an empty label or one with octets
 * above 127. Short forms of addresses ("127.1") become what they stand for.
 */
bool af__trust_host_read(af__trust_host *out, const char *text);

typedef enum af__pattern_kind {
    AF__PATTERN_EXACT,
    AF__PATTERN_WILDCARD,  /**< One label before `host`. */
    AF__PATTERN_SUBDOMAINS /**< `host` and everything below it. */
} af__pattern_kind;

typedef struct af__host_pattern {
    af__pattern_kind kind;
    af__trust_host host; /**< Without "*.". */
} af__host_pattern;

/** false: no host, or a star anywhere but as the first label. */
bool af__host_pattern_read(af__host_pattern *out, const char *text, bool includes_subdomains);

/** How well it fits: 0 not at all; more for what is more specific. */
unsigned af__host_pattern_specificity(const af__host_pattern *pattern, const af__trust_host *host);

#endif
