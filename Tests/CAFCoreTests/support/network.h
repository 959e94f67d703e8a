/**
 * A network of the test's own: a namespace with pairs of virtual Ethernet links, where the machine
 * lets us make one.
 */
#ifndef AFC_TESTS_NETWORK_H
#define AFC_TESTS_NETWORK_H

#include <stdbool.h>

/**
 * Move the calling thread, and those that it starts from now on, into a new network namespace where
 * no link is up. Call it before any other thread is there. false: this machine doesn't allow it, or
 * has no command `ip`.
 */
bool network_enter(void);

/** Run `ip` with these words, such as "link add v0 type veth peer name v1". It must succeed. */
void network_ip(const char *words);

/** Switch a link on or off. */
void network_switch(const char *link, bool on);

#endif
