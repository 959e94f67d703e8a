/*
 * cached FOLDER URL...: fetches URLs with a cache in a folder, and prints where each response came from.
 */
#include <afcore/afcore.h>
#include <stdio.h>

static const char *source_of(const afc_result *result) {
    size_t count;
    const afc_hop *hops = afc_result_get_hops(result, &count);
    switch (hops[count - 1].cache) {
    case AFC_CACHE_USE_UNUSED:
        return "server";
    case AFC_CACHE_USE_HIT:
        return "cache";
    case AFC_CACHE_USE_STALE:
        return "cache, stale";
    case AFC_CACHE_USE_VALIDATED:
        return "cache, confirmed by the server";
    case AFC_CACHE_USE_MISSING:
        return "nowhere";
    default:
        return "elsewhere"; /* Later versions may know other ways. */
    }
}

int main(int argc, char **argv) {
    afc_http_cache *cache = NULL;
    afc_session *session = NULL;
    afc_failure failure;
    if (argc < 3) {
        fprintf(stderr, "usage: %s FOLDER URL...\n", argv[0]);
        return 2;
    }
    afc_http_cache_options cache_options = AFC_HTTP_CACHE_OPTIONS_INIT;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    cache_options.directory = argv[1]; /* Other processes may use it at the same time. */
    afc_status status = afc_http_cache_open(&cache, &cache_options, &failure);
    options.http_cache = cache;
    if (status == AFC_OK) status = afc_session_new(&session, &options, &failure);
    for (int i = 2; i < argc && status == AFC_OK; i++) {
        afc_result *result;
        afc_request request = AFC_REQUEST_INIT;
        request.url = argv[i];
        request.cache_policy = AFC_HTTP_CACHE_PROTOCOL; /* The default. */
        status = afc_perform(&result, session, &request, &failure);
        if (status == AFC_OK) {
            const char *reason = afc_result_get_not_stored(result);
            printf("%s: %d from: %s%s%s\n", argv[i], afc_result_get_head(result)->status,
                   source_of(result), reason[0] != '\0' ? "; not stored: " : "", reason);
        }
        afc_result_free(result);
    }
    if (status != AFC_OK) fprintf(stderr, "%s: %s\n", afc_status_name(status), failure.text);
    afc_session_release(session);
    afc_join_closed_sessions();                     /* The session has a reference to the cache. */
    if (cache != NULL) afc_http_cache_flush(cache); /* What still waits for the disk. */
    afc_http_cache_release(cache);
    return status == AFC_OK ? 0 : 1;
}
