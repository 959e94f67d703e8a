#include "support/fixture.h"

#include <afcore/version.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the process. */
enum { HELD_AT_MOST = 2 << 20 };

fixture *fixture_new(const afts_options *server, const afc_session_options *session) {
    fixture *new = calloc(1, sizeof *new);
    assert_non_null(new);
    new->server = afts_server_new(server);
    assert_non_null(new->server);
    assert_int_equal(afts_server_start(new->server), 0);
    afc_failure failure;
    check_status(afc_session_new(&new->session, session, &failure), AFC_OK);
    return new;
}

afc_trust_policy *policy_trusting(const char *pem) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy;
    options.anchors = afc_slice_of(pem);
    check_status(afc_trust_policy_new(&policy, &options, NULL), AFC_OK);
    return policy;
}

fixture *fixture_new_tls(void) {
    return fixture_new_alpn(NULL, NULL);
}

fixture *fixture_new_alpn(const char *alpn, const afc_session_options *session) {
    afts_cert *authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *leaf = afts_cert_new(NULL, authority);
    assert_non_null(leaf);
    afts_tls tls = {
        .chain_pem = afts_cert_chain_pem(leaf), .key_pem = afts_cert_key_pem(leaf), .alpn = alpn};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (session != NULL) options = *session;
    options.trust = policy_trusting(afts_cert_pem(authority));
    fixture *new = fixture_new(&(afts_options){.tls = &tls}, &options);
    afc_trust_policy_release(options.trust);
    new->authority = authority;
    new->leaf = leaf;
    return new;
}

void fixture_close_session(fixture *fixture) {
    if (fixture->session == NULL) return;
    afc_session_release(fixture->session);
    fixture->session = NULL;
    afc_join_closed_sessions();
}

void fixture_free(fixture *fixture) {
    fixture_close_session(fixture);
    afts_server_free(fixture->server);
    afts_cert_free(fixture->leaf);
    afts_cert_free(fixture->authority);
    free(fixture);
}

int fixture_setup(void **state) {
    *state = fixture_new(NULL, NULL);
    return 0;
}

int fixture_teardown(void **state) {
    fixture *fixture = *state;
    /* A test that failed may have left tasks behind that nothing else would end. */
    if (fixture->session != NULL) afc_session_cancel_all(fixture->session);
    fixture_free(fixture);
    /* And a proxy in the environment, to which the sessions of the next tests would send their requests. */
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"};
    for (size_t i = 0; i < COUNT_OF(proxies); i++) unsetenv(proxies[i]);
    return 0;
}

static char *next_text(fixture *fixture) {
    return fixture->texts[fixture->next_text++ % COUNT_OF(fixture->texts)];
}

const char *url_of(fixture *fixture, const char *path) {
    char *text = next_text(fixture);
    size_t size = sizeof fixture->texts[0];
    assert_true(afts_server_url(fixture->server, path, text, size) < size);
    return text;
}

const char *text_of(fixture *fixture, const char *format, ...) {
    char *text = next_text(fixture);
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof fixture->texts[0], format, arguments);
    va_end(arguments);
    assert_in_range(size, 0, sizeof fixture->texts[0] - 1);
    return text;
}

void serve(fixture *fixture, const char *path, afts_script *script) {
    assert_int_equal(afts_route(fixture->server, NULL, path, script), 0);
}

void serve_once(fixture *fixture, const char *path, afts_script *script) {
    assert_int_equal(afts_route_times(fixture->server, NULL, path, 1, script), 0);
}

void serve_bytes(fixture *fixture, const char *path, afc_slice bytes) {
    afts_script *script = afts_script_new();
    afts_send(script, bytes.bytes, bytes.size);
    afts_close(script);
    serve(fixture, path, script);
}

void serve_text(fixture *fixture, const char *path, const char *text) {
    serve_bytes(fixture, path, afc_slice_of(text));
}

afts_script *answer(int status, const char *headers, const char *body) {
    afts_script *script = afts_script_new();
    afts_respond(script, status, headers, body, strlen(body));
    return script;
}

const char *seen_header(fixture *fixture, size_t index, const char *name) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    const char *value = afts_request_header(request, name);
    const char *text = text_of(fixture, "%s", value != NULL ? value : "");
    afts_request_free(request);
    return text;
}

/** The most that one direction of a socket's buffer may grow to: the last of three numbers. */
static uint64_t largest_buffer(const char *path) {
    FILE *file = fopen(path, "re");
    unsigned long long largest = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %*u %llu", &largest), 1);
    fclose(file);
    return largest;
}

uint64_t buffered_at_most(void) {
    return HELD_AT_MOST + largest_buffer("/proc/sys/net/ipv4/tcp_rmem") +
           largest_buffer("/proc/sys/net/ipv4/tcp_wmem");
}

bool libcurl_is_at_least(unsigned major, unsigned minor) {
    unsigned found_major = 0, found_minor = 0;
    assert_int_equal(sscanf(afc_curl_version(), "%u.%u", &found_major, &found_minor), 2);
    return found_major > major || (found_major == major && found_minor >= minor);
}

size_t count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

const char *tls_url(fixture *fixture) {
    return text_of(fixture, "https://localhost%s/", strrchr(url_of(fixture, ""), ':'));
}
