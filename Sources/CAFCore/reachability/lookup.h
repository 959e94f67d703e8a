/**
 * Addresses of hosts, as monitors have them.
 */
#ifndef AF_REACHABILITY_LOOKUP_H
#define AF_REACHABILITY_LOOKUP_H

#include "reachability/tables.h"
#include "run/resolver.h"

enum { AF__REACH_MOST_ADDRESSES = 16 };

/** The first of those that were found; `out` has room for AF__REACH_MOST_ADDRESSES. Returns how many. */
size_t af__reach_take_addresses(const af__addresses *found, af__reach_address *out);

/** Can a lookup that failed with this EAI_… succeed later by itself? */
bool af__reach_is_temporary(int error);

/** Addresses that are written out need no lookup; false if `host` is none. */
bool af__reach_parse(const char *host, af__reach_address *out);

#endif
