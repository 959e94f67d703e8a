/*
 * Out of memory anywhere: every allocation of our own fails once, and each time the task ends
 * exactly once, or is refused, and nothing is lost.
 */
#include "base/alloc.h"
#include "support/auth_server.h"
#include "support/call.h"
#include "support/files.h"
#include "support/torture.h"

#include <unistd.h>

/** Begin, and if that is not refused wait; the call tells what happened. */
static void try(call *call) {
    afc_failure failure;
    afc_status status = afc_task_begin(&call->task, call->session, &call->request, &call->events,
                                       &failure);
    if (status == AFC_OK) {
        call_wait(call);
        assert_int_equal(atomic_load(&call->done_count), 1);
        status = call->failure.status;
    } else {
        assert_null(call->task);
        assert_int_equal(atomic_load(&call->done_count), 0);
    }
    assert_int_equal(atomic_load(&call->release_count), 1);
    if (status != AFC_OK && status != AFC_ENOMEM) print_error("%s\n", call->failure.text);
    assert_true(status == AFC_OK || status == AFC_ENOMEM);
}

typedef void (*setting)(call *call, folder *folder);

static void set_nothing(call *call, folder *folder) {
    (void)call, (void)folder;
}

static void set_post(call *call, folder *folder) {
    static const afc_header fields[] = {{{"X-One", 5}, {"1", 1}, 0},
                                        {{"Accept", 6}, {NULL, 0}, AFC_HEADER_REMOVE}};
    (void)folder;
    call_send(call, "POST", S("content"));
    call->request.headers = fields;
    call->request.header_count = COUNT_OF(fields);
}

static void set_download(call *call, folder *folder) {
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(folder, "got")};
}

static afc_status name_file(call *call, afc_response *response) {
    response->path = call->payload;
    response->flags = AFC_FILE_KEEP_PARTIAL;
    return AFC_OK;
}

static void set_late_download(call *call, folder *folder) {
    call->payload = (void *)(uintptr_t)path_in(folder, "got");
    call->at_head = name_file;
}

static void hear(void *context, const afc_challenge *challenge) {
    (void)context, (void)challenge;
}

static void set_credentials(call *call, folder *folder) {
    set_post(call, folder);
    call->request.credentials = &valid_credentials;
    call->events.on_challenge_accepted = hear;
}

/** The server is its own proxy. */
static void set_proxy(call *call, folder *folder) {
    (void)folder;
    call->request.proxy = call->request.url;
    call->request.proxy_credentials = &valid_credentials;
}

static void ignore_trace(void *context, const afc_trace *trace) {
    (void)context, (void)trace;
}

static void set_trace(call *call, folder *folder) {
    set_post(call, folder);
    call->events.on_trace = ignore_trace;
}

static void set_tunnel(call *call, folder *folder) {
    set_proxy(call, folder);
    call->request.url = "https://example.test/";
}

/** Answered already while it is asked. Without memory the answer is another one, or none. */
static afc_challenge_decision answer_later(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    (void)credentials;
    afc_challenge_decision answer = challenge->failures > 0 ? AFC_CHALLENGE_DEFAULT
                                                            : AFC_CHALLENGE_USE;
    afc_status status = afc_task_answer_challenge(call->task, challenge->number, answer,
                                                  &valid_credentials);
    return status == AFC_OK ? AFC_CHALLENGE_LATER : AFC_CHALLENGE_DEFAULT;
}

static void set_later(call *call, folder *folder) {
    (void)folder;
    call->events.on_challenge = answer_later;
}

static void set_upload(call *call, folder *folder) {
    call->request.method = "PUT";
    call->request.body = (afc_body){.kind = AFC_BODY_FILE, .path = path_in(folder, "body")};
}

static int drained[2];

static void set_descriptor(call *call, folder *folder) {
    (void)folder;
    call->request.sink = (afc_sink){.kind = AFC_SINK_FD, .descriptor = drained[1]};
}

static void warm_up(fixture *fixture, afc_session *session) {
    call *call = call_new(fixture, "/warm");
    call->session = session;
    call_perform(call);
    call_free(call);
}

/** One round; false once the task made fewer than `n` allocations. */
static bool fail_allocation(fixture *fixture, const char *path, setting set, bool is_warm,
                            folder *folder, size_t n) {
    afc_session *session;
    check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
    if (is_warm) warm_up(fixture, session);
    call *call = call_new(fixture, path);
    call->session = session;
    set(call, folder);
    afc__alloc_fail_at(n);
    try(call);
    size_t made = afc__alloc_fail_at(0);
    if (made < n) check_ended(call, AFC_OK);
    call_free(call);
    /* What failed for one task must not stay with the session. */
    warm_up(fixture, session);
    afc_session_release(session);
    afc_join_closed_sessions();
    return made >= n;
}

static void torture(fixture *fixture, const char *path, setting set) {
    folder folder;
    folder_make(&folder);
    write_file(path_in(&folder, "body"), S("from a file"));
    for (int is_warm = 0; is_warm <= 1; is_warm++) {
        size_t n = 1;
        while (fail_allocation(fixture, path, set, is_warm != 0, &folder, n)) n++;
        assert_true(n > 1);
    }
    folder_remove(&folder);
}

static void get_survives_failed_allocations(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "X-One: 1\r\nX-Two: 2", "content of some length"));
    torture(fixture, "/", set_nothing);
}

static void post_survives_failed_allocations(void **state) {
    torture(*state, "/", set_post);
}

static void traced_task_survives_failed_allocations(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Set-Cookie: a=b", "content of some length"));
    torture(fixture, "/", set_trace);
}

static void redirect_survives_failed_allocations(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/from", answer(307, "Location: /over", "moved"));
    serve(fixture, "/over", answer(302, "Location: /to", "moved"));
    torture(fixture, "/from", set_post);
}

static void trailers_survive_failed_allocations(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_interim(script, 103, "Link: <a>");
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "1234567890", 10);
    afts_last_chunk(script, "X-Sum: 1");
    serve(fixture, "/", script);
    torture(fixture, "/", set_nothing);
}

static void files_survive_failed_allocations(void **state) {
    torture(*state, "/", set_download);
    torture(*state, "/", set_late_download);
    torture(*state, "/", set_upload);
}

static void *drain(void *context) {
    char block[4096];
    (void)context;
    while (read(drained[0], block, sizeof block) > 0) {}
    return NULL;
}

/** More than a pipe holds, so that some of it has to wait. */
static void descriptors_survive_failed_allocations(void **state) {
    fixture *fixture = *state;
    static char block[1024];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, 300);
    serve(fixture, "/large", script);
    pthread_t thread;
    assert_int_equal(pipe(drained), 0);
    assert_int_equal(pthread_create(&thread, NULL, drain, NULL), 0);
    torture(fixture, "/large", set_descriptor);
    close(drained[1]);
    pthread_join(thread, NULL);
    close(drained[0]);
}

static bool call_at_once(void *context, void (*function)(void *argument), void *argument) {
    (void)context;
    function(argument);
    return true;
}

static void executor_survives_failed_allocations(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    for (size_t n = 1;; n++) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.executor.post = call_at_once;
        afc_session *session;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
        call *call = call_new(fixture, "/");
        call->session = session;
        afc__alloc_fail_at(n);
        try(call);
        size_t made = afc__alloc_fail_at(0);
        if (made < n) check_ended(call, AFC_OK);
        call_free(call);
        afc_session_release(session);
        afc_join_closed_sessions();
        if (made < n) break;
    }
}

static void challenges_survive_failed_allocations(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(401, "WWW-Authenticate: Digest realm=r, nonce=n, qop=auth", "who?"));
    torture(fixture, "/", set_credentials);
    torture(fixture, "/", set_later);
}

static void proxies_survive_failed_allocations(void **state) {
    fixture *fixture = *state;
    static const char asks[] = "Proxy-Authenticate: Digest realm=r, nonce=n, qop=auth";
    serve(fixture, "/", answer(407, asks, "who?"));
    serve(fixture, "example.test:443", answer(407, asks, "who?"));
    torture(fixture, "/", set_proxy);
    for (size_t n = 1;; n++) {
        call *call = call_new(fixture, "/");
        set_tunnel(call, NULL);
        afc__alloc_fail_at(n);
        afc_status status = afc_task_begin(&call->task, call->session, &call->request,
                                           &call->events, NULL);
        if (status == AFC_OK) {
            call_wait(call);
            status = call->failure.status;
        }
        size_t made = afc__alloc_fail_at(0);
        assert_true(status == AFC_EAUTH || (status == AFC_ENOMEM && made >= n));
        call_free(call);
        if (made < n) break;
    }
}

static void tls_survives_failed_allocations(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    for (size_t n = 1;; n++) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.trust = policy_trusting(afts_cert_pem(fixture->authority));
        afc_session *session;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
        afc_trust_policy_release(options.trust);
        call *call = call_new(fixture, "/");
        call->session = session;
        afc__alloc_fail_at(n);
        try(call);
        size_t made = afc__alloc_fail_at(0);
        call_free(call);
        afc_session_release(session);
        if (made < n) break;
    }
    fixture_free(fixture);
}

/** The resolver's thread brings a descriptor of libcurl's own into the loop. */
static void lookups_survive_failed_allocations(void **state) {
    fixture *fixture = *state;
    for (size_t n = 1;; n++) {
        afc_session *session;
        check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
        call *call = call_new(fixture, "/");
        call->session = session;
        call->request.url = "http://no-such-host.invalid/";
        afc__alloc_fail_at(n);
        afc_status status = afc_task_begin(&call->task, session, &call->request, &call->events,
                                           NULL);
        if (status == AFC_OK) {
            call_wait(call);
            status = call->failure.status;
        }
        size_t made = afc__alloc_fail_at(0);
        if (status != AFC_EDNS && status != AFC_ENOMEM) print_error("%s\n", call->failure.text);
        assert_true(made < n ? status == AFC_EDNS : status == AFC_EDNS || status == AFC_ENOMEM);
        call_free(call);
        warm_up(fixture, session);
        afc_session_release(session);
        if (made < n) break;
    }
}

static void session_is_made_or_refused(void **state) {
    (void)state;
    TORTURE(n) {
        afc_session *session;
        afc_failure failure;
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        afc_status status = afc_session_new(&session, &options, &failure);
        assert_true(status == AFC_OK ? session != NULL : session == NULL);
        if (status != AFC_OK) check_status(status, AFC_ENOMEM);
        afc_session_release(session);
        afc_join_closed_sessions();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(get_survives_failed_allocations),
        FIXTURE_TEST(post_survives_failed_allocations),
        FIXTURE_TEST(traced_task_survives_failed_allocations),
        FIXTURE_TEST(redirect_survives_failed_allocations),
        FIXTURE_TEST(trailers_survive_failed_allocations),
        FIXTURE_TEST(challenges_survive_failed_allocations),
        FIXTURE_TEST(proxies_survive_failed_allocations),
        FIXTURE_TEST(files_survive_failed_allocations),
        FIXTURE_TEST(descriptors_survive_failed_allocations),
        FIXTURE_TEST(executor_survives_failed_allocations),
        cmocka_unit_test(tls_survives_failed_allocations),
        FIXTURE_TEST(lookups_survive_failed_allocations),
        cmocka_unit_test(session_is_made_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
