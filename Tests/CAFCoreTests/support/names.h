/**
 * Replaces the system's name lookup: no test asks a real DNS server, and a lookup can hang for as long as a test wants.
 *
 * Hosts that begin with "hung" hang until they are released, and are then known. "gone…" doesn't exist, "later…" fails
 * for the moment. Every other host, and what was released, is 127.0.0.1 or, if IPv6 is asked for, ::1.
 */
#ifndef AFC_TESTS_NAMES_H
#define AFC_TESTS_NAMES_H

#include "support/world.h"

/** Before the first session of the test. */
void names_install(void);

/** After the last one: releases what hangs, waits until no lookup runs, and puts the system's back. */
void names_remove(void);

/** Lets every lookup that hangs go on, and those that come from now on. */
void names_release(void);

/** Lets lookups of "hung…" hang again. */
void names_hang(void);

/** Wait until this many lookups hang. */
void names_wait_hanging(unsigned count);

/** How many lookups were begun; of this host, or of all for NULL. */
unsigned names_count(const char *host);

/** The largest number of lookups that ran at once. */
unsigned names_peak(void);

/** Addresses that are found from now on expire after so many microseconds. */
void names_live_for(int64_t lifetime_us);

/** Threads that become idle from now on end after so many microseconds. */
void names_let_threads_idle_for(int64_t idle_us);

/** The family that was asked for last. */
int names_family(void);

/** As setup and teardown of a test: a world with these names. */
int names_setup(void **state);
int names_teardown(void **state);

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, names_setup, names_teardown)

/** "http://HOST:PORT/path" of the world's server. */
const char *named_url(world *world, const char *host, const char *path);

#endif
