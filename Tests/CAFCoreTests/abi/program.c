/*
 * A program that uses every struct of the public headers. It is built against one version of them and run with a
 * library of another. It fails if a field is read or written where the other one has another.
 */
#include <afcore/afcore.h>

#include <caftestserver.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) fail(__LINE__, #condition);                                              \
    } while (0)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void fail(int line, const char *text) {
    fprintf(stderr, "line %d: not true: %s\n", line, text);
    exit(1);
}

/** A struct that the library fills, between bytes that it must not touch. */
#define GUARDED(type)                                                                              \
    struct {                                                                                       \
        uint64_t before;                                                                           \
        type value;                                                                                \
        uint64_t after[8];                                                                         \
    }
#define GUARD(guarded) memset(&(guarded), 0xA5, sizeof(guarded))
#define IS_GUARDED(guarded) is_untouched(&(guarded).before, 8) && is_untouched((guarded).after, 64)

static bool is_untouched(const void *bytes, size_t size) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        if (byte[i] != 0xA5) return false;
    }
    return true;
}

static bool is_text(afc_slice slice, const char *text) {
    return slice.size == strlen(text) && memcmp(slice.bytes, text, slice.size) == 0;
}

/* ---- One task ------------------------------------------------------------------------------- */

typedef struct call {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    unsigned redirects, challenges, accepted, heads, traces;
    afc_progress progress;
    afc_result *result;
} call;

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    call *call = context;
    CHECK(redirect->count == 1 && !redirect->crosses_origin && redirect->head->status == 302);
    CHECK(redirect->header_count == 1 && strcmp(redirect->method, "GET") == 0);
    call->redirects++;
    return AFC_REDIRECT_FOLLOW;
}

static afc_status on_head(void *context, afc_response *response) {
    call *call = context;
    CHECK(response->head->status == 200 && response->path == NULL && response->flags == 0);
    call->heads++;
    return AFC_OK;
}

static void on_progress(void *context, const afc_progress *progress) {
    ((call *)context)->progress = *progress;
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    ((call *)context)->challenges++;
    CHECK(challenge->scheme == AFC_AUTH_BASIC && strcmp(challenge->realm, "here") == 0);
    credentials->user = "me";
    credentials->password = "secret";
    credentials->schemes = AFC_AUTH_BASIC;
    return AFC_CHALLENGE_USE;
}

static void on_challenge_accepted(void *context, const afc_challenge *challenge) {
    CHECK(strcmp(challenge->proposed->user, "me") == 0);
    ((call *)context)->accepted++;
}

static void on_trace(void *context, const afc_trace *trace) {
    if (trace->kind == AFC_TRACE_CONNECTION) CHECK(trace->connection->remote_port != 0);
    ((call *)context)->traces++;
}

static void on_done(void *context, afc_result *result) {
    ((call *)context)->result = result;
}

static void on_release(void *context) {
    call *call = context;
    pthread_mutex_lock(&call->lock);
    call->is_done = true;
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static call *perform(afc_session *session, const afc_request *request) {
    call *call = calloc(1, sizeof *call);
    CHECK(call != NULL);
    pthread_mutex_init(&call->lock, NULL);
    pthread_cond_init(&call->changed, NULL);
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = call;
    events.on_redirect = on_redirect;
    events.on_head = on_head;
    events.on_progress = on_progress;
    events.on_challenge = on_challenge;
    events.on_challenge_accepted = on_challenge_accepted;
    events.on_trace = on_trace;
    events.on_done = on_done;
    events.release = on_release;
    GUARDED(afc_failure) failure;
    GUARD(failure);
    afc_status status = afc_task_begin(NULL, session, request, &events, &failure.value);
    if (status != AFC_OK) fail(__LINE__, failure.value.text);
    CHECK(IS_GUARDED(failure));
    pthread_mutex_lock(&call->lock);
    while (!call->is_done) pthread_cond_wait(&call->changed, &call->lock);
    pthread_mutex_unlock(&call->lock);
    const afc_failure *why = afc_result_get_failure(call->result);
    if (why->status != AFC_OK) fail(__LINE__, why->text);
    return call;
}

static void drop(call *call) {
    afc_result_free(call->result);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    free(call);
}

/* ---- The scene ------------------------------------------------------------------------------ */

typedef struct scene {
    afts_server *server;
    char url[128];
    char folder[64], path[96];
} scene;

static void respond(afts_server *server, const char *path, size_t times, int status,
                    const char *headers, const char *body) {
    afts_script *script = afts_script_new();
    afts_respond(script, status, headers, body, strlen(body));
    CHECK((times > 0 ? afts_route_times(server, NULL, path, times, script)
                     : afts_route(server, NULL, path, script)) == AFTS_OK);
}

static void open_scene(scene *scene) {
    scene->server = afts_server_new(NULL);
    CHECK(scene->server != NULL && afts_server_start(scene->server) == AFTS_OK);
    respond(scene->server, "/first", 0, 302, "Location: /guarded\r\n", "");
    respond(scene->server, "/guarded", 1, 401, "WWW-Authenticate: Basic realm=here\r\n", "no");
    respond(scene->server, "/guarded", 0, 200, "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n", "hello");
    snprintf(scene->folder, sizeof scene->folder, "/tmp/afcore-abi-XXXXXX");
    CHECK(mkdtemp(scene->folder) != NULL);
    snprintf(scene->path, sizeof scene->path, "%s/file", scene->folder);
}

static void close_scene(scene *scene) {
    afts_server_free(scene->server);
    unlink(scene->path);
    rmdir(scene->folder);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static bool was_closed;

static void on_closed(void *context) {
    *(bool *)context = true;
}

static afc_session *make_session(const scene *scene, afc_cookie_jar *jar) {
    const afc_host_override overrides[] = {
        {.host = "none.test", .port = 1, .addresses = "::1"},
        {.host = "here.test", .port = afts_server_port(scene->server), .addresses = "127.0.0.1"}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.user_agent = "abi";
    options.on_closed = on_closed;
    options.context = &was_closed;
    options.tls.min_version = AFC_TLS_1_2;
    options.proxies.source = AFC_PROXIES_NONE;
    options.network.overrides = overrides;
    options.network.override_count = COUNT(overrides);
    options.cookies = jar;
    options.cookie_policy = AFC_COOKIES_ALWAYS;
    afc_session *session;
    GUARDED(afc_failure) failure;
    GUARD(failure);
    CHECK(afc_session_new(&session, &options, &failure.value) == AFC_OK && IS_GUARDED(failure));
    return session;
}

static void fetches_through_redirect_and_challenge(const scene *scene, afc_session *session) {
    char url[128];
    snprintf(url, sizeof url, "http://here.test:%u/first", afts_server_port(scene->server));
    afc_request request = AFC_REQUEST_INIT;
    const afc_header header = {afc_slice_of("X-One"), afc_slice_of("1"), 0};
    request.url = url;
    request.headers = &header;
    request.header_count = 1;
    request.timeouts.total_ms = 300000;
    request.limits.body_bytes = 5;
    request.limits.redirects = 1;
    request.priority = 7;
    call *call = perform(session, &request);
    CHECK(call->redirects == 1 && call->challenges == 1 && call->accepted == 1);
    CHECK(call->heads == 1 && call->traces > 6 && call->progress.received == 5);
    CHECK(is_text(afc_result_get_body(call->result), "hello"));
    size_t count;
    const afc_hop *hops = afc_result_get_hops(call->result, &count);
    CHECK(count == 3 && hops[0].status == 302 && hops[1].status == 401 && hops[2].status == 200);
    CHECK(hops[2].remote_port == afts_server_port(scene->server) && hops[0].location != NULL);
    drop(call);
}

static void sends_a_body_and_writes_a_file(const scene *scene, afc_session *session) {
    char url[128];
    afts_server_url(scene->server, "/echo", url, sizeof url);
    afc_request request = AFC_REQUEST_INIT;
    request.method = "POST";
    request.url = url;
    request.body.kind = AFC_BODY_BYTES;
    request.body.bytes = afc_slice_of("some bytes");
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = scene->path;
    request.ignore_cookies = true;
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "", "stored", 6);
    CHECK(afts_route(scene->server, NULL, "/echo", script) == AFTS_OK);
    call *call = perform(session, &request);
    const afc_download *download = afc_result_get_download(call->result);
    CHECK(download != NULL && download->size == 6 && strcmp(download->path, scene->path) == 0);
    drop(call);
    afts_request *seen = afts_copy_request(scene->server,
                                           afts_server_stats(scene->server).requests - 1);
    CHECK(seen != NULL && seen->body_total == 10);
    CHECK(strcmp(afts_request_header(seen, "User-Agent"), "abi") == 0);
    afts_request_free(seen);
}

static void sends_a_form(const scene *scene, afc_session *session) {
    char url[128];
    afts_server_url(scene->server, "/echo", url, sizeof url);
    afc_part part = AFC_PART_INIT;
    afc_part_file file = AFC_PART_FILE_INIT;
    part.name = afc_slice_of("file");
    file.path = scene->path;
    file.offset = 2;
    file.length = 3;
    afc_request request = AFC_REQUEST_INIT;
    request.method = "POST";
    request.url = url;
    request.body.kind = AFC_BODY_MULTIPART;
    CHECK(afc_multipart_new(&request.body.form, "xyz", NULL) == AFC_OK);
    CHECK(afc_multipart_add_file(request.body.form, &part, &file, NULL) == AFC_OK);
    int64_t length = afc_multipart_get_length(request.body.form);
    call *call = perform(session, &request);
    CHECK(call->progress.sent == length && call->progress.sent_total == length);
    drop(call);
}

static void lists_cookies(afc_cookie_jar *jar) {
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.name = "e";
    cookie.value = "f";
    cookie.domain = "here.test";
    cookie.path = "/deep";
    CHECK(afc_cookie_jar_set(jar, &cookie, NULL) == AFC_OK);
    afc_cookie_list *list;
    CHECK(afc_cookie_jar_copy(&list, jar, "http://here.test/deep", NULL) == AFC_OK);
    CHECK(list->count == 3 && strcmp(list->cookies[0].name, "e") == 0);
    CHECK(strcmp(list->cookies[1].name, "a") == 0 && strcmp(list->cookies[2].value, "d") == 0);
    afc_cookie_list_free(list);
}

static void counts(afc_session *session) {
    GUARDED(afc_session_statistics) statistics;
    GUARD(statistics);
    afc_session_get_statistics(session, &statistics.value);
    CHECK(IS_GUARDED(statistics) && statistics.value.tasks == 3);
    CHECK(statistics.value.connections >= 1);
}

static void caches(void) {
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.capacity = options.purge_to = 10;
    options.shards = 1;
    afc_lru *cache;
    int value;
    CHECK(afc_lru_new(&cache, &options, NULL) == AFC_OK);
    CHECK(afc_lru_put(cache, afc_slice_of("a"), &value, 6) == AFC_OK);
    CHECK(afc_lru_put(cache, afc_slice_of("b"), &value, 6) == AFC_OK);
    GUARDED(afc_lru_statistics) statistics;
    GUARD(statistics);
    afc_lru_get_statistics(cache, &statistics.value);
    CHECK(IS_GUARDED(statistics) && statistics.value.evictions == 1 && statistics.value.cost == 6);
    afc_pressure_options pressure = AFC_PRESSURE_OPTIONS_INIT;
    pressure.path = "/nonexistent";
    CHECK(afc_lru_watch_pressure(cache, &pressure, NULL) == AFC_EUNSUPPORTED);
    afc_lru_free(cache);
}

static void judges_trust(void) {
    const afc_trust_rule rules[] = {{.host = "a.test", .allow_invalid_certificates = true},
                                    {.host = "b.test", .report_only = true}};
    afts_cert *certificate = afts_cert_new(NULL, NULL), *other = afts_cert_new(NULL, NULL);
    CHECK(certificate != NULL && other != NULL);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = afc_slice_of(afts_cert_pem(other));
    options.everywhere.skip_host_check = true;
    options.rules = rules;
    options.rule_count = COUNT(rules);
    afc_trust_policy *policy;
    CHECK(afc_trust_policy_new(&policy, &options, NULL) == AFC_OK);
    size_t size;
    const uint8_t *der = afts_cert_der(certificate, &size);
    const afc_slice chain = {(const char *)der, size};
    afc_trust_report *report;
    GUARDED(afc_failure) failure;
    GUARD(failure);
    CHECK(afc_trust_evaluate(&report, policy, &chain, 1, "b.test", &failure.value) ==
          AFC_EUNTRUSTED);
    CHECK(IS_GUARDED(failure) && failure.value.trust == report->reason);
    CHECK(!report->is_accepted && report->chain_count == 1 && report->chain[0].der.size == size);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
    afts_cert_free(certificate);
    afts_cert_free(other);
}

static void makes_the_rest(void) {
    afc_hsts_options hsts_options = AFC_HSTS_OPTIONS_INIT;
    hsts_options.max_hosts = 100;
    afc_hsts *hsts;
    CHECK(afc_hsts_new(&hsts, &hsts_options, NULL) == AFC_OK);
    afc_hsts_release(hsts);
    afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = "127.0.0.1";
    afc_reach_monitor *monitor;
    CHECK(afc_reach_monitor_new(&monitor, &options, NULL) == AFC_OK);
    GUARDED(afc_reachability) state;
    GUARD(state);
    afc_reach_monitor_get_state(monitor, &state.value);
    CHECK(IS_GUARDED(state) && state.value.status == AFC_REACH_UNKNOWN);
    afc_reach_monitor_free(monitor);
    GUARDED(afc_resume_info) info;
    GUARD(info);
    CHECK(afc_resume_info_read(&info.value, afc_slice_of("x"), NULL) == AFC_EINVAL);
    CHECK(IS_GUARDED(info) && info.value.received == 0);
}

#ifdef AFC_TESTS_NEWER
/** Fields that this program knows and the library doesn't: 0 is fine, anything else is an error. */
static void refuses_unknown_fields(afc_session *session) {
    afc_request request = AFC_REQUEST_INIT;
    afc_task *task;
    afc_failure failure;
    request.url = "http://127.0.0.1/";
    request.grown = 1;
    CHECK(afc_task_new(&task, session, &request, NULL, &failure) == AFC_EUNSUPPORTED);
    CHECK(strstr(failure.text, "AFC_REQUEST_INIT") != NULL);
    request.grown = 0;
    request.timeouts.grown = 1;
    CHECK(afc_task_new(&task, session, &request, NULL, &failure) == AFC_EUNSUPPORTED);
    CHECK(strstr(failure.text, "afc_timeouts") != NULL);
    request.timeouts.grown = 0;
    CHECK(afc_task_new(&task, session, &request, NULL, &failure) == AFC_OK);
    afc_task_release(task);
}
#endif

int main(void) {
    scene scene;
    open_scene(&scene);
    afc_cookie_jar_options jar_options = AFC_COOKIE_JAR_OPTIONS_INIT;
    afc_cookie_jar *jar;
    jar_options.max_cookies = 10;
    CHECK(afc_cookie_jar_new(&jar, &jar_options, NULL) == AFC_OK);
    afc_session *session = make_session(&scene, jar);
    fetches_through_redirect_and_challenge(&scene, session);
    sends_a_body_and_writes_a_file(&scene, session);
    sends_a_form(&scene, session);
    lists_cookies(jar);
    counts(session);
#ifdef AFC_TESTS_NEWER
    refuses_unknown_fields(session);
#endif
    afc_session_release(session);
    afc_join_closed_sessions();
    CHECK(was_closed);
    afc_cookie_jar_release(jar);
    caches();
    judges_trust();
    makes_the_rest();
    close_scene(&scene);
    return 0;
}
