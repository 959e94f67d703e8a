/** Host names: the trailing dot, and subdomains. Pure functions. */
#ifndef AFC_BASE_DOMAIN_H
#define AFC_BASE_DOMAIN_H

#include "base/text.h"

/**
 * Returns a host without its trailing dot: it then names the same host. Several dots at the end are kept: ".6.." would
 * become ".6.", which ends in a number and isn't a host.
 */
static inline afc_slice afc__without_dot(afc_slice host) {
    size_t size = host.size;
    if (size > 1 && host.bytes[size - 1] == '.' && host.bytes[size - 2] != '.') host.size--;
    return host;
}

/** Returns whether a host is `domain` or a subdomain of it, ignoring case. Not for addresses. */
static inline bool afc__is_in_domain(afc_slice host, afc_slice domain) {
    if (domain.size == 0 || domain.size > host.size) return false;
    size_t above = host.size - domain.size;
    if (!afc__same_text(host.bytes + above, domain.bytes, domain.size)) return false;
    return above == 0 || host.bytes[above - 1] == '.';
}

#endif
