/**
 * Addresses of hosts, in the format of monitors.
 */
#ifndef AFC_REACHABILITY_LOOKUP_H
#define AFC_REACHABILITY_LOOKUP_H

#include "reachability/tables.h"
#include "run/resolver.h"

enum { AFC__REACH_MOST_ADDRESSES = 16 };

/**
 * Copies the first addresses that were found to `out`, which has room for AFC__REACH_MOST_ADDRESSES. Returns their
 * number.
 */
size_t afc__reach_take_addresses(const afc__addresses *found, afc__reach_address *out);

/** Returns whether a lookup that failed with this EAI_… may succeed later. */
bool afc__reach_is_temporary(int error);

/** Parses a numeric address, which needs no lookup; false if `host` isn't one. */
bool afc__reach_parse(const char *host, afc__reach_address *out);

#endif
