/**
 * Addresses of hosts, in the format of monitors.
 */
#ifndef AF_REACHABILITY_LOOKUP_H
#define AF_REACHABILITY_LOOKUP_H

#include "reachability/tables.h"
#include "run/resolver.h"

enum { AF__REACH_MOST_ADDRESSES = 16 };

/**
 * Copies the first addresses that were found to `out`, which has room for AF__REACH_MOST_ADDRESSES. Returns their
 * number.
 */
size_t af__reach_take_addresses(const af__addresses *found, af__reach_address *out);

/** Returns whether a lookup that failed with this EAI_… may succeed later. */
bool af__reach_is_temporary(int error);

/** Parses a numeric address, which needs no lookup; false if `host` isn't one. */
bool af__reach_parse(const char *host, af__reach_address *out);

#endif
