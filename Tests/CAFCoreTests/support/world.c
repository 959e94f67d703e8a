#include "support/world.h"

#include <afcore/version.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the process. */
enum { HELD_AT_MOST = 2 << 20 };

world *world_new(const afts_options *server, const afc_session_options *session) {
    world *new = calloc(1, sizeof *new);
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

world *world_new_tls(void) {
    return world_new_alpn(NULL, NULL);
}

world *world_new_alpn(const char *alpn, const afc_session_options *session) {
    afts_cert *authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *leaf = afts_cert_new(NULL, authority);
    assert_non_null(leaf);
    afts_tls tls = {
        .chain_pem = afts_cert_chain_pem(leaf), .key_pem = afts_cert_key_pem(leaf), .alpn = alpn};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (session != NULL) options = *session;
    options.trust = policy_trusting(afts_cert_pem(authority));
    world *new = world_new(&(afts_options){.tls = &tls}, &options);
    afc_trust_policy_release(options.trust);
    new->authority = authority;
    new->leaf = leaf;
    return new;
}

void world_close_session(world *world) {
    if (world->session == NULL) return;
    afc_session_release(world->session);
    world->session = NULL;
    afc_join_closed_sessions();
}

void world_free(world *world) {
    world_close_session(world);
    afts_server_free(world->server);
    afts_cert_free(world->leaf);
    afts_cert_free(world->authority);
    free(world);
}

int world_setup(void **state) {
    *state = world_new(NULL, NULL);
    return 0;
}

int world_teardown(void **state) {
    world *world = *state;
    /* A test that failed may have left tasks behind that nothing else would end. */
    if (world->session != NULL) afc_session_cancel_all(world->session);
    world_free(world);
    /* And a proxy in the environment, to which the sessions of the next tests would send their requests. */
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"};
    for (size_t i = 0; i < COUNT_OF(proxies); i++) unsetenv(proxies[i]);
    return 0;
}

static char *next_text(world *world) {
    return world->texts[world->next_text++ % COUNT_OF(world->texts)];
}

const char *url_of(world *world, const char *path) {
    char *text = next_text(world);
    size_t size = sizeof world->texts[0];
    assert_true(afts_server_url(world->server, path, text, size) < size);
    return text;
}

const char *text_of(world *world, const char *format, ...) {
    char *text = next_text(world);
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof world->texts[0], format, arguments);
    va_end(arguments);
    assert_in_range(size, 0, sizeof world->texts[0] - 1);
    return text;
}

void serve(world *world, const char *path, afts_script *script) {
    assert_int_equal(afts_route(world->server, NULL, path, script), 0);
}

void serve_once(world *world, const char *path, afts_script *script) {
    assert_int_equal(afts_route_times(world->server, NULL, path, 1, script), 0);
}

void serve_bytes(world *world, const char *path, afc_slice bytes) {
    afts_script *script = afts_script_new();
    afts_send(script, bytes.bytes, bytes.size);
    afts_close(script);
    serve(world, path, script);
}

void serve_text(world *world, const char *path, const char *text) {
    serve_bytes(world, path, afc_slice_of(text));
}

afts_script *answer(int status, const char *headers, const char *body) {
    afts_script *script = afts_script_new();
    afts_respond(script, status, headers, body, strlen(body));
    return script;
}

const char *seen_header(world *world, size_t index, const char *name) {
    afts_request *request = afts_copy_request(world->server, index);
    assert_non_null(request);
    const char *value = afts_request_header(request, name);
    const char *text = text_of(world, "%s", value != NULL ? value : "");
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

const char *tls_url(world *world) {
    return text_of(world, "https://localhost%s/", strrchr(url_of(world, ""), ':'));
}
