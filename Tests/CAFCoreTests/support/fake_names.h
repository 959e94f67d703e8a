/**
 * Replaces the system's name lookup: no test asks a real DNS server, and a lookup can hang for as long as a test wants.
 *
 * Hosts that begin with "hung" hang until they are released, and are then known. "gone…" doesn't exist, "later…" fails
 * for the moment. Every other host, and what was released, is 127.0.0.1 or, if IPv6 is asked for, ::1.
 */
#ifndef AFC_TESTS_FAKE_NAMES_H
#define AFC_TESTS_FAKE_NAMES_H

#include "support/fixture.h"

/** Before the first session of the test. */
void fake_names_install(void);

/** After the last one: releases what hangs, waits until no lookup runs, and puts the system's back. */
void fake_names_remove(void);

/** Lets every lookup that hangs go on, and those that come from now on. */
void fake_names_release(void);

/** Lets lookups of "hung…" hang again. */
void fake_names_hang(void);

/** Wait until this many lookups hang. */
void fake_names_wait_hanging(unsigned count);

/** How many lookups were begun; of this host, or of all for NULL. */
unsigned fake_names_count(const char *host);

/** The largest number of lookups that ran at once. */
unsigned fake_names_peak(void);

/** Addresses that are found from now on expire after so many microseconds. */
void fake_names_live_for(int64_t lifetime_us);

/** Threads that become idle from now on end after so many microseconds. */
void fake_names_let_threads_idle_for(int64_t idle_us);

/** The family that was asked for last. */
int fake_names_family(void);

/** As setup and teardown of a test: a fixture with these names. */
int fake_names_setup(void **state);
int fake_names_teardown(void **state);

#define FAKE_NAMES_TEST(test)                                                                      \
    cmocka_unit_test_setup_teardown(test, fake_names_setup, fake_names_teardown)

/** "http://HOST:PORT/path" of the fixture's server. */
const char *named_url(fixture *fixture, const char *host, const char *path);

#endif
