/** A test server, and a session with an HTTP cache in memory. */
#ifndef AFC_TESTS_CACHING_FIXTURE_H
#define AFC_TESTS_CACHING_FIXTURE_H

#include "support/call.h"

#include <afcore/http_cache.h>

typedef struct caching_fixture {
    fixture *fixture;
    afc_http_cache *cache;
} caching_fixture;

/** Makes a site. NULL means the default options of a session; http_cache is set in any case. */
caching_fixture *caching_fixture_new(const afc_session_options *given);

/** For cmocka: a site with default options. */
int caching_fixture_setup(void **state);
/** For cmocka: cancels what still runs, and frees the site. */
int caching_fixture_teardown(void **state);

#define CACHING_TEST(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, caching_fixture_setup, caching_fixture_teardown)

/** Returns how many requests the server has received. */
size_t request_count(const caching_fixture *site);

/** Returns how the cache took part in the last hop of a call. */
afc_http_cache_use cache_use_of(const call *call);

#endif
