/**
 * Names of hosts, looked up on a thread of its own each, because a lookup can take as long as it likes.
 */
#ifndef AF_NET_REACHABILITY_NAMES_H
#define AF_NET_REACHABILITY_NAMES_H

#include "base/list.h"
#include "net/reachability_facts.h"

enum { AF__REACH_MOST_ADDRESSES = 16 };

/** Made by its caller, and his again in `ended`. */
typedef struct af__reach_lookup {
    af__node node; /**< The caller's. */
    const char *host;
    void (*ended)(struct af__reach_lookup *lookup); /**< On the thread of the lookup. */
    void *context;
    af__reach_address addresses[AF__REACH_MOST_ADDRESSES];
    size_t count;
    bool is_temporary; /**< None was found, but that may change by itself. */
} af__reach_lookup;

/** false: there is no thread to be had. */
bool af__reach_look_up(af__reach_lookup *lookup);

/** Addresses that are written out need no lookup; false if `host` is none. */
bool af__reach_parse(const char *host, af__reach_address *out);

#endif
