#include "support/caching_fixture.h"

#include <stdlib.h>

caching_fixture *caching_fixture_new(const afc_session_options *given) {
    caching_fixture *site = calloc(1, sizeof *site);
    assert_non_null(site);
    check_status(afc_http_cache_open(&site->cache, NULL, NULL), AFC_OK);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (given != NULL) options = *given;
    options.http_cache = site->cache;
    site->fixture = fixture_new(NULL, &options);
    return site;
}

int caching_fixture_setup(void **state) {
    *state = caching_fixture_new(NULL);
    return 0;
}

int caching_fixture_teardown(void **state) {
    caching_fixture *site = *state;
    if (site->fixture->session != NULL) afc_session_cancel_all(site->fixture->session);
    fixture_free(site->fixture);
    afc_http_cache_release(site->cache);
    free(site);
    return 0;
}

size_t request_count(const caching_fixture *site) {
    return afts_server_stats(site->fixture->server).requests;
}

afc_http_cache_use cache_use_of(const call *call) {
    assert_true(call->hop_count > 0);
    afc_http_cache_use use = call->hops[call->hop_count - 1].cache;
    if (atomic_load(&call->head_count) > 0) assert_int_equal(call->head_use, use);
    return use;
}
