/* Sessions: trust and pins, resumed downloads, the cache, limits, settings that can't be changed. */
#include "fetch.h"
#include "support/files.h"
#include "support/origin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 600000, BROKEN_AT = 250000 };

typedef struct scene {
    world *world;
    folder folder;
    AfgioSession *session;
} scene;

static int scene_make(void **state, bool tls) {
    scene *scene = g_new0(struct scene, 1);
    scene->world = tls ? world_new_tls() : world_new(NULL, NULL);
    scene->session = afgio_session_new();
    folder_make(&scene->folder);
    *state = scene;
    return 0;
}

static int scene_setup(void **state) {
    return scene_make(state, false);
}

static int scene_setup_tls(void **state) {
    return scene_make(state, true);
}

static int scene_teardown(void **state) {
    scene *scene = *state;
    g_clear_object(&scene->session);
    world_free(scene->world);
    remove_tree(scene->folder.path);
    g_free(scene);
    return 0;
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
#define TLS_TEST(test) cmocka_unit_test_setup_teardown(test, scene_setup_tls, scene_teardown)

/** Replaces the session by one with other settings. */
static void use_session(scene *scene, AfgioSession *session) {
    g_object_unref(scene->session);
    scene->session = session;
}

/* ---- Trust --------------------------------------------------------------------------------- */

/** Trusts the authority of the world, and pins the key of a certificate. */
static void trust(scene *scene, const afts_cert *pinned) {
    const char *path = path_in(&scene->folder, "authority.pem");
    write_file(path, afc_slice_of(afts_cert_pem(scene->world->authority)));
    g_object_set(scene->session, "ca-file", path, NULL);
    if (pinned == NULL) return;
    char *digest = g_base64_encode(afts_cert_spki_sha256(pinned), 32);
    char *pin = g_strconcat("sha256//", digest, NULL);
    afgio_session_pin_host(scene->session, "localhost", FALSE, (const char *const[]){pin, NULL});
    g_free(digest);
    g_free(pin);
}

static void refuses_unknown_authority(void **state) {
    scene *scene = *state;
    fetch *fetch = fetch_url(scene->session, tls_url(scene->world));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_UNTRUSTED);
    fetch_free(fetch);
}

static void accepts_authority_of_file(void **state) {
    scene *scene = *state;
    trust(scene, NULL);
    fetch *fetch = fetch_url(scene->session, tls_url(scene->world));
    assert_non_null(fetch->response);
    fetch_free(fetch);
}

static void accepts_pinned_key(void **state) {
    scene *scene = *state;
    trust(scene, scene->world->leaf);
    fetch *fetch = fetch_url(scene->session, tls_url(scene->world));
    assert_non_null(fetch->response);
    fetch_free(fetch);
}

static void refuses_key_that_is_not_pinned(void **state) {
    scene *scene = *state;
    afts_cert *other = afts_cert_new(NULL, NULL);
    trust(scene, other);
    fetch *fetch = fetch_url(scene->session, tls_url(scene->world));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_UNTRUSTED);
    fetch_free(fetch);
    afts_cert_free(other);
    assert_int_equal(afts_server_stats(scene->world->server).requests, 0);
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void refuses_invalid_pin(void **state) {
    scene *scene = *state;
    GError *error = NULL;
    afgio_session_pin_host(scene->session, "host", FALSE, (const char *const[]){"x", NULL});
    assert_false(afgio_session_open(scene->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
    g_clear_error(&error);
    /* Also where there is no error to return. */
    assert_false(afgio_session_open(scene->session, NULL));
    fetch *fetch = fetch_url(scene->session, url_of(scene->world, "/"));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    fetch_free(fetch);
}

static void opens_after_its_settings_were_corrected(void **state) {
    scene *scene = *state;
    GError *error = NULL;
    g_object_set(scene->session, "ca-file", path_in(&scene->folder, "missing"), NULL);
    assert_false(afgio_session_open(scene->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_FILE));
    g_clear_error(&error);
    /* Without certificates: the system's anchors aren't meant. */
    write_file(path_in(&scene->folder, "empty"), S(""));
    g_object_set(scene->session, "ca-file", path_in(&scene->folder, "empty"), NULL);
    assert_false(afgio_session_open(scene->session, &error));
    assert_non_null(error);
    g_clear_error(&error);
    g_object_set(scene->session, "ca-file", NULL, "proxy", "no proxy", NULL);
    assert_false(afgio_session_open(scene->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
    g_clear_error(&error);
    g_object_set(scene->session, "proxy", "", "cache-folder",
                 path_in(&scene->folder, "missing/cache"), NULL);
    assert_false(afgio_session_open(scene->session, &error));
    assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_FILE));
    g_clear_error(&error);
    static const char *const bases[] = {"example.org/api", "ftp://example.org/", ""};
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        g_object_set(scene->session, "cache-folder", NULL, "base-url", bases[i], NULL);
        assert_false(afgio_session_open(scene->session, &error));
        assert_true(g_error_matches(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT));
        check_contains(error->message, "base-url: ");
        g_clear_error(&error);
    }
    g_object_set(scene->session, "base-url", NULL, NULL);
    assert_true(afgio_session_open(scene->session, &error));
    assert_null(error);
    assert_true(afgio_session_open(scene->session, &error));
}

static void keeps_settings_once_open(void **state) {
    scene *scene = *state;
    serve(scene->world, "/", answer(200, "", ""));
    assert_true(afgio_session_open(scene->session, NULL));
    g_test_expect_message("Afgio", G_LOG_LEVEL_CRITICAL, "*user-agent*can't be changed*");
    g_object_set(scene->session, "user-agent", "other", NULL);
    g_test_assert_expected_messages();
    g_test_expect_message("Afgio", G_LOG_LEVEL_CRITICAL, "*host*can't be pinned*");
    afgio_session_pin_host(scene->session, "host", FALSE, (const char *const[]){"x", NULL});
    g_test_assert_expected_messages();
    char *user_agent;
    g_object_get(scene->session, "user-agent", &user_agent, NULL);
    assert_string_equal(user_agent, "afcore");
    g_free(user_agent);
    fetch_free(fetch_url(scene->session, url_of(scene->world, "/")));
    assert_string_equal(seen_header(scene->world, 0, "User-Agent"), "afcore");
}

static void has_defaults(void **state) {
    scene *scene = *state;
    char *base, *user_agent, *ca_file, *proxy, *folder;
    guint64 memory, disk;
    guint connect, idle, total;
    g_object_get(scene->session, "base-url", &base, "user-agent", &user_agent, "ca-file", &ca_file,
                 "proxy", &proxy, "cache-folder", &folder, "cache-memory-bytes", &memory,
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
    scene *scene = *state;
    serve(scene->world, "/v1/users", answer(200, "", "users"));
    g_object_set(scene->session, "base-url", url_of(scene->world, "/v1/"), "user-agent", NULL,
                 NULL);
    fetch *fetch = fetch_url(scene->session, "users");
    check_response(fetch, 200, "users");
    fetch_free(fetch);
    assert_string_equal(seen_header(scene->world, 0, "User-Agent"), "");
}

static void ends_when_a_time_limit_passes(void **state) {
    scene *scene = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(scene->world, "/", script);
    g_object_set(scene->session, "total-timeout-ms", 1, NULL);
    fetch *fetch = fetch_url(scene->session, url_of(scene->world, "/"));
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TIMEOUT);
    fetch_free(fetch);
}

/* ---- Downloads ----------------------------------------------------------------------------- */

static fetch *download(scene *scene, GFile *file, gboolean resume) {
    fetch *fetch = fetch_new(scene->session, "GET", url_of(scene->world, "/file"));
    afgio_request_set_destination(fetch->request, file, resume);
    fetch_watch(fetch);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    return fetch;
}

static void resumes_a_download(void **state) {
    scene *scene = *state;
    origin origin = {0};
    char *content = make_content(LARGE, 1);
    origin_serve(&origin, scene->world, "/file", (afc_slice){content, LARGE}, "\"one\"");
    const char *path = path_in(&scene->folder, "got");
    GFile *file = g_file_new_for_path(path);
    origin.stops_after = BROKEN_AT;
    fetch *fetch = download(scene, file, TRUE);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TRUNCATED);
    fetch_free(fetch);
    assert_false(file_exists(path));
    origin.stops_after = WHOLE;
    fetch = download(scene, file, TRUE);
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
    scene *scene = *state;
    serve(scene->world, "/file", answer(404, "", "none"));
    const char *path = path_in(&scene->folder, "got");
    GFile *file = g_file_new_for_path(path);
    fetch *fetch = download(scene, file, FALSE);
    check_response(fetch, 404, "none");
    assert_null(afgio_response_get_file(fetch->response));
    fetch_free(fetch);
    assert_false(file_exists(path));
    g_object_unref(file);
}

/* ---- The cache ----------------------------------------------------------------------------- */

/** Fetches "/" and checks how the cache took part. */
static void check_use(scene *scene, AfgioCachePolicy policy, unsigned status, AfgioCacheUse use) {
    fetch *fetch = fetch_new(scene->session, "GET", url_of(scene->world, "/"));
    afgio_request_set_cache_policy(fetch->request, policy);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    if (fetch->error != NULL) fail_msg("unexpected error: %s", fetch->error->message);
    assert_int_equal(afgio_response_get_status(fetch->response), status);
    assert_int_equal(afgio_response_get_cache_use(fetch->response), use);
    fetch_free(fetch);
}

static void stores_responses_in_memory(void **state) {
    scene *scene = *state;
    serve(scene->world, "/", answer(200, "Cache-Control: max-age=1000\r\n", "hello"));
    g_object_set(scene->session, "cache-memory-bytes", G_GUINT64_CONSTANT(1) << 20, NULL);
    check_use(scene, AFGIO_CACHE_POLICY_PROTOCOL, 200, AFGIO_CACHE_USE_UNUSED);
    check_use(scene, AFGIO_CACHE_POLICY_PROTOCOL, 200, AFGIO_CACHE_USE_HIT);
    check_use(scene, AFGIO_CACHE_POLICY_RELOAD, 200, AFGIO_CACHE_USE_UNUSED);
    afgio_session_clear_cache(scene->session);
    check_use(scene, AFGIO_CACHE_POLICY_ONLY, 504, AFGIO_CACHE_USE_MISSING);
    assert_int_equal(afts_server_stats(scene->world->server).requests, 2);
}

static void stores_responses_on_disk(void **state) {
    scene *scene = *state;
    serve(scene->world, "/", answer(200, "Cache-Control: max-age=1000\r\n", "hello"));
    const char *path = path_in(&scene->folder, "cache");
    for (int i = 0; i < 2; i++) {
        use_session(scene, g_object_new(AFGIO_TYPE_SESSION, "cache-folder", path, NULL));
        check_use(scene, AFGIO_CACHE_POLICY_PROTOCOL, 200,
                  i == 0 ? AFGIO_CACHE_USE_UNUSED : AFGIO_CACHE_USE_HIT);
        afgio_session_flush_cache(scene->session);
    }
    assert_int_equal(afts_server_stats(scene->world->server).requests, 1);
}

static void needs_a_cache_to_use_only_the_cache(void **state) {
    scene *scene = *state;
    fetch *fetch = fetch_new(scene->session, "GET", url_of(scene->world, "/"));
    afgio_request_set_cache_policy(fetch->request, AFGIO_CACHE_POLICY_ONLY);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    fetch_free(fetch);
    afgio_session_clear_cache(scene->session);
    afgio_session_flush_cache(scene->session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TLS_TEST(refuses_unknown_authority),
        TLS_TEST(accepts_authority_of_file),
        TLS_TEST(accepts_pinned_key),
        TLS_TEST(refuses_key_that_is_not_pinned),
        SCENE_TEST(refuses_invalid_pin),
        SCENE_TEST(opens_after_its_settings_were_corrected),
        SCENE_TEST(keeps_settings_once_open),
        SCENE_TEST(has_defaults),
        SCENE_TEST(resolves_urls_against_the_base),
        SCENE_TEST(ends_when_a_time_limit_passes),
        SCENE_TEST(resumes_a_download),
        SCENE_TEST(writes_no_file_for_an_error_status),
        SCENE_TEST(stores_responses_in_memory),
        SCENE_TEST(stores_responses_on_disk),
        SCENE_TEST(needs_a_cache_to_use_only_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
