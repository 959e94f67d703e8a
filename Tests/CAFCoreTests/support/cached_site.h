/** A test server, and a session with an HTTP cache in memory. */
#ifndef AFC_TESTS_CACHED_SITE_H
#define AFC_TESTS_CACHED_SITE_H

#include "support/call.h"

#include <afcore/http_cache.h>

typedef struct cached_site {
    world *world;
    afc_http_cache *cache;
} cached_site;

/** Makes a site. NULL means the default options of a session; http_cache is set in any case. */
cached_site *site_new(const afc_session_options *given);

/** For cmocka: a site with default options. */
int site_setup(void **state);
/** For cmocka: cancels what still runs, and frees the site. */
int site_teardown(void **state);

#define SITE_TEST(test) cmocka_unit_test_setup_teardown(test, site_setup, site_teardown)

/** Returns how many requests the server has received. */
size_t seen(const cached_site *site);

/** Returns how the cache took part in the last hop of a call. */
afc_http_cache_use use_of(const call *call);

#endif
