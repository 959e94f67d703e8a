/* Sessions: trust and pins, resumed downloads, the cache, limits, settings that can't be changed. */
#include "fetch.h"
#include "support/files.h"
#include "support/range_server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 600000, BROKEN_AT = 250000 };

typedef struct download_fixture {
    fixture *fixture;
    folder folder;
    AfgioSession *session;
} download_fixture;

static int download_fixture_make(void **state, bool tls) {
    download_fixture *download_fixture = g_new0(struct download_fixture, 1);
    download_fixture->fixture = tls ? fixture_new_tls() : fixture_new(NULL, NULL);
    download_fixture->session = afgio_session_new();
    folder_make(&download_fixture->folder);
    *state = download_fixture;
    return 0;
}

static int download_fixture_setup(void **state) {
    return download_fixture_make(state, false);
}

static int download_fixture_setup_tls(void **state) {
    return download_fixture_make(state, true);
}

static int download_fixture_teardown(void **state) {
    download_fixture *download_fixture = *state;
    g_clear_object(&download_fixture->session);
    fixture_free(download_fixture->fixture);
    remove_tree(download_fixture->folder.path);
    g_free(download_fixture);
    return 0;
}

#define DOWNLOAD_TEST(test)                                                                        \
    cmocka_unit_test_setup_teardown(test, download_fixture_setup, download_fixture_teardown)
#define TLS_TEST(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, download_fixture_setup_tls, download_fixture_teardown)

/** Replaces the session by one with other settings. */
static void use_session(download_fixture *download_fixture, AfgioSession *session) {
    g_object_unref(download_fixture->session);
    download_fixture->session = session;
}

/* ---- Trust --------------------------------------------------------------------------------- */

/** Trusts the authority of the fixture, and pins the key of a certificate. */
static void trust(download_fixture *download_fixture, const afts_cert *pinned) {
    const char *path = path_in(&download_fixture->folder, "authority.pem");
    write_file(path, afc_slice_of(afts_cert_pem(download_fixture->fixture->authority)));
    g_object_set(download_fixture->session, "ca-file", path, NULL);
    if (pinned == NULL) return;
    char *digest = g_base64_encode(afts_cert_spki_sha256(pinned), 32);
    char *pin = g_strconcat("sha256//", digest, NULL);
    afgio_session_pin_host(download_fixture->session, "localhost", FALSE,
                           (const char *const[]){pin, NULL});
    g_free(digest);
    g_free(pin);
}

static void refuses_unknown_authority(void **state) {
    download_fixture *download_fixture = *state;
    fetch *fetch = fetch_url(download_fixture->session, tls_url(download_fixture->fixture));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_UNTRUSTED);
    fetch_free(fetch);
}

static void accepts_authority_of_file(void **state) {
    download_fixture *download_fixture = *state;
    trust(download_fixture, NULL);
    fetch *fetch = fetch_url(download_fixture->session, tls_url(download_fixture->fixture));
    assert_non_null(fetch->response);
    fetch_free(fetch);
}

static void accepts_pinned_key(void **state) {
    download_fixture *download_fixture = *state;
    trust(download_fixture, download_fixture->fixture->leaf);
    fetch *fetch = fetch_url(download_fixture->session, tls_url(download_fixture->fixture));
    assert_non_null(fetch->response);
    fetch_free(fetch);
}

static void refuses_key_that_is_not_pinned(void **state) {
    download_fixture *download_fixture = *state;
    afts_cert *other = afts_cert_new(NULL, NULL);
    trust(download_fixture, other);
    fetch *fetch = fetch_url(download_fixture->session, tls_url(download_fixture->fixture));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_UNTRUSTED);
    fetch_free(fetch);
    afts_cert_free(other);
    assert_int_equal(afts_server_stats(download_fixture->fixture->server).requests, 0);
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void refuses_invalid_pin(void **state) {
    download_fixture *download_fixture = *state;
    GError *error = NULL;
    afgio_session_pin_host(download_fixture->session, "host", FALSE,
                           (const char *const[]){"x", NULL});
    assert_false(afgio_session_open(download_fixture->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
    g_clear_error(&error);
    /* Also where there is no error to return. */
    assert_false(afgio_session_open(download_fixture->session, NULL));
    fetch *fetch = fetch_url(download_fixture->session, url_of(download_fixture->fixture, "/"));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    fetch_free(fetch);
}

static void opens_after_its_settings_were_corrected(void **state) {
    download_fixture *download_fixture = *state;
    GError *error = NULL;
    g_object_set(download_fixture->session, "ca-file",
                 path_in(&download_fixture->folder, "missing"), NULL);
    assert_false(afgio_session_open(download_fixture->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_FILE));
    g_clear_error(&error);
    /* Without certificates: the system's anchors aren't meant. */
    write_file(path_in(&download_fixture->folder, "empty"), S(""));
    g_object_set(download_fixture->session, "ca-file", path_in(&download_fixture->folder, "empty"),
                 NULL);
    assert_false(afgio_session_open(download_fixture->session, &error));
    assert_non_null(error);
    g_clear_error(&error);
    g_object_set(download_fixture->session, "ca-file", NULL, "proxy", "no proxy", NULL);
    assert_false(afgio_session_open(download_fixture->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
    g_clear_error(&error);
    g_object_set(download_fixture->session, "proxy", "", "cache-folder",
                 path_in(&download_fixture->folder, "missing/cache"), NULL);
    assert_false(afgio_session_open(download_fixture->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_FILE));
    g_clear_error(&error);
    static const char *const bases[] = {"example.org/api", "ftp://example.org/", ""};
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        g_object_set(download_fixture->session, "cache-folder", NULL, "base-url", bases[i], NULL);
        assert_false(afgio_session_open(download_fixture->session, &error));
        assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
        check_contains(error->message, "base-url: ");
        g_clear_error(&error);
    }
    g_object_set(download_fixture->session, "base-url", NULL, NULL);
    assert_true(afgio_session_open(download_fixture->session, &error));
    assert_null(error);
    assert_true(afgio_session_open(download_fixture->session, &error));
}

static void keeps_settings_once_open(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/", answer(200, "", ""));
    assert_true(afgio_session_open(download_fixture->session, NULL));
    g_test_expect_message("Afgio", G_LOG_LEVEL_CRITICAL, "*user-agent*can't be changed*");
    g_object_set(download_fixture->session, "user-agent", "other", NULL);
    g_test_assert_expected_messages();
    g_test_expect_message("Afgio", G_LOG_LEVEL_CRITICAL, "*host*can't be pinned*");
    afgio_session_pin_host(download_fixture->session, "host", FALSE,
                           (const char *const[]){"x", NULL});
    g_test_assert_expected_messages();
    char *user_agent;
    g_object_get(download_fixture->session, "user-agent", &user_agent, NULL);
    assert_string_equal(user_agent, "afcore");
    g_free(user_agent);
    fetch_free(fetch_url(download_fixture->session, url_of(download_fixture->fixture, "/")));
    assert_string_equal(seen_header(download_fixture->fixture, 0, "User-Agent"), "afcore");
}

static void has_defaults(void **state) {
    download_fixture *download_fixture = *state;
    char *base, *user_agent, *ca_file, *proxy, *folder;
    guint64 memory, disk;
    guint connect, idle, total;
    g_object_get(download_fixture->session, "base-url", &base, "user-agent", &user_agent, "ca-file",
                 &ca_file, "proxy", &proxy, "cache-folder", &folder, "cache-memory-bytes", &memory,
                 "cache-disk-bytes", &disk, "connect-timeout-ms", &connect, "idle-timeout-ms",
                 &idle, "total-timeout-ms", &total, NULL);
    assert_null(base);
    assert_string_equal(user_agent, "afcore");
    g_free(user_agent);
    assert_null(ca_file);
    assert_null(proxy);
    assert_null(folder);
    assert_int_equal(memory, 0);
    assert_int_equal(disk, 150 << 20);
    assert_int_equal(connect, 30000);
    assert_int_equal(idle, 60000);
    assert_int_equal(total, 0);
}

static void resolves_urls_against_the_base(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/v1/users", answer(200, "", "users"));
    g_object_set(download_fixture->session, "base-url", url_of(download_fixture->fixture, "/v1/"),
                 "user-agent", NULL, NULL);
    fetch *fetch = fetch_url(download_fixture->session, "users");
    check_response(fetch, 200, "users");
    fetch_free(fetch);
    assert_string_equal(seen_header(download_fixture->fixture, 0, "User-Agent"), "");
}

static void ends_when_a_time_limit_passes(void **state) {
    download_fixture *download_fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(download_fixture->fixture, "/", script);
    g_object_set(download_fixture->session, "total-timeout-ms", 1, NULL);
    fetch *fetch = fetch_url(download_fixture->session, url_of(download_fixture->fixture, "/"));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TIMEOUT);
    fetch_free(fetch);
}

/* ---- Downloads ----------------------------------------------------------------------------- */

static fetch *download(download_fixture *download_fixture, GFile *file, gboolean resume) {
    fetch *fetch = fetch_new(download_fixture->session, "GET",
                             url_of(download_fixture->fixture, "/file"));
    afgio_request_set_destination(fetch->request, file, resume);
    fetch_watch(fetch);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    return fetch;
}

static void resumes_a_download(void **state) {
    download_fixture *download_fixture = *state;
    range_server range_server = {0};
    char *content = make_content(LARGE, 1);
    range_server_serve(&range_server, download_fixture->fixture, "/file",
                       (afc_slice){content, LARGE}, "\"one\"");
    const char *path = path_in(&download_fixture->folder, "got");
    GFile *file = g_file_new_for_path(path);
    range_server.stops_after = BROKEN_AT;
    fetch *fetch = download(download_fixture, file, TRUE);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TRUNCATED);
    fetch_free(fetch);
    assert_false(file_exists(path));
    range_server.stops_after = WHOLE;
    fetch = download(download_fixture, file, TRUE);
    assert_non_null(fetch->response);
    assert_int_equal(afgio_response_get_status(fetch->response), 206);
    assert_int_equal(afgio_response_get_resumption(fetch->response), AFGIO_RESUMPTION_RESUMED);
    assert_true(g_file_equal(afgio_response_get_file(fetch->response), file));
    assert_int_equal(g_bytes_get_size(afgio_response_get_body(fetch->response)), 0);
    assert_int_equal(fetch->received, LARGE);
    assert_int_equal(fetch->received_total, LARGE);
    fetch_free(fetch);
    check_file(path, (afc_slice){content, LARGE});
    g_object_unref(file);
    free(content);
}

static void writes_no_file_for_an_error_status(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/file", answer(404, "", "none"));
    const char *path = path_in(&download_fixture->folder, "got");
    GFile *file = g_file_new_for_path(path);
    fetch *fetch = download(download_fixture, file, FALSE);
    check_response(fetch, 404, "none");
    assert_null(afgio_response_get_file(fetch->response));
    fetch_free(fetch);
    assert_false(file_exists(path));
    g_object_unref(file);
}

/* ---- The cache ----------------------------------------------------------------------------- */

/** Fetches "/" and checks how the cache took part. */
static void check_use(download_fixture *download_fixture, AfgioCachePolicy policy, unsigned status,
                      AfgioCacheUse use) {
    fetch *fetch = fetch_new(download_fixture->session, "GET",
                             url_of(download_fixture->fixture, "/"));
    afgio_request_set_cache_policy(fetch->request, policy);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    if (fetch->error != NULL) fail_msg("unexpected error: %s", fetch->error->message);
    assert_int_equal(afgio_response_get_status(fetch->response), status);
    assert_int_equal(afgio_response_get_cache_use(fetch->response), use);
    fetch_free(fetch);
}

static void stores_responses_in_memory(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/", answer(200, "Cache-Control: max-age=1000\r\n", "hello"));
    g_object_set(download_fixture->session, "cache-memory-bytes", G_GUINT64_CONSTANT(1) << 20,
                 NULL);
    check_use(download_fixture, AFGIO_CACHE_POLICY_PROTOCOL, 200, AFGIO_CACHE_USE_UNUSED);
    check_use(download_fixture, AFGIO_CACHE_POLICY_PROTOCOL, 200, AFGIO_CACHE_USE_HIT);
    check_use(download_fixture, AFGIO_CACHE_POLICY_RELOAD, 200, AFGIO_CACHE_USE_UNUSED);
    afgio_session_clear_cache(download_fixture->session);
    check_use(download_fixture, AFGIO_CACHE_POLICY_ONLY, 504, AFGIO_CACHE_USE_MISSING);
    assert_int_equal(afts_server_stats(download_fixture->fixture->server).requests, 2);
}

static void stores_responses_on_disk(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/", answer(200, "Cache-Control: max-age=1000\r\n", "hello"));
    const char *path = path_in(&download_fixture->folder, "cache");
    for (int i = 0; i < 2; i++) {
        use_session(download_fixture, g_object_new(AFGIO_TYPE_SESSION, "cache-folder", path, NULL));
        check_use(download_fixture, AFGIO_CACHE_POLICY_PROTOCOL, 200,
                  i == 0 ? AFGIO_CACHE_USE_UNUSED : AFGIO_CACHE_USE_HIT);
        afgio_session_flush_cache(download_fixture->session);
    }
    assert_int_equal(afts_server_stats(download_fixture->fixture->server).requests, 1);
}

static void needs_a_cache_to_use_only_the_cache(void **state) {
    download_fixture *download_fixture = *state;
    fetch *fetch = fetch_new(download_fixture->session, "GET",
                             url_of(download_fixture->fixture, "/"));
    afgio_request_set_cache_policy(fetch->request, AFGIO_CACHE_POLICY_ONLY);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    fetch_free(fetch);
    afgio_session_clear_cache(download_fixture->session);
    afgio_session_flush_cache(download_fixture->session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TLS_TEST(refuses_unknown_authority),
        TLS_TEST(accepts_authority_of_file),
        TLS_TEST(accepts_pinned_key),
        TLS_TEST(refuses_key_that_is_not_pinned),
        DOWNLOAD_TEST(refuses_invalid_pin),
        DOWNLOAD_TEST(opens_after_its_settings_were_corrected),
        DOWNLOAD_TEST(keeps_settings_once_open),
        DOWNLOAD_TEST(has_defaults),
        DOWNLOAD_TEST(resolves_urls_against_the_base),
        DOWNLOAD_TEST(ends_when_a_time_limit_passes),
        DOWNLOAD_TEST(resumes_a_download),
        DOWNLOAD_TEST(writes_no_file_for_an_error_status),
        DOWNLOAD_TEST(stores_responses_in_memory),
        DOWNLOAD_TEST(stores_responses_on_disk),
        DOWNLOAD_TEST(needs_a_cache_to_use_only_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
