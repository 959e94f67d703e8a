/**
 * A server that lets nobody in without credentials: it asks, checks the answers as a server would, and
 * counts.
 */
#ifndef AF_TESTS_GUARD_H
#define AF_TESTS_GUARD_H

#include "support/world.h"

#include <stdatomic.h>

/** Answers by 200 "in" to whoever is known, and else by 401. */
typedef struct guard {
    const char *challenges[4]; /**< Each a value of WWW-Authenticate; NULL ends them. */
    const char *user, *password, *token;
    bool is_proxy;         /**< Ask by 407 and Proxy-Authenticate instead. */
    bool closes;           /**< The connection of whoever was admitted: a tunnel to nowhere. */
    unsigned nonce_serves; /**< Digest answers that a nonce is good for; 0: any number. */
    atomic_uint nonce;   /**< Digest: which one is in use; written into a "%u" of the challenge. */
    atomic_uint answers; /**< That nonce has had. */
    atomic_uint asked, admitted;
} guard;

/** Answer every request of `path` by the guard. */
void guard_path(world *world, const char *path, guard *guard);

/** A challenge of NTLM, with which a server answers the first message of a client. */
#define NTLM_CHALLENGE "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABggAAAQIDBAUGBwgAAAAAAAAAAAAAAAAwAAAA"

#endif
