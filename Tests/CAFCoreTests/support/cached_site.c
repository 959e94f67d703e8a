#include "support/cached_site.h"

#include <stdlib.h>

cached_site *site_new(const afc_session_options *given) {
    cached_site *site = calloc(1, sizeof *site);
    assert_non_null(site);
    check_status(afc_http_cache_open(&site->cache, NULL, NULL), AFC_OK);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (given != NULL) options = *given;
    options.http_cache = site->cache;
    site->world = world_new(NULL, &options);
    return site;
}

int site_setup(void **state) {
    *state = site_new(NULL);
    return 0;
}

int site_teardown(void **state) {
    cached_site *site = *state;
    if (site->world->session != NULL) afc_session_cancel_all(site->world->session);
    world_free(site->world);
    afc_http_cache_release(site->cache);
    free(site);
    return 0;
}

size_t seen(const cached_site *site) {
    return afts_server_stats(site->world->server).requests;
}

afc_http_cache_use use_of(const call *call) {
    assert_true(call->hop_count > 0);
    afc_http_cache_use use = call->hops[call->hop_count - 1].cache;
    if (atomic_load(&call->head_count) > 0) assert_int_equal(call->head_use, use);
    return use;
}
