/*
 * Time limits. The server does nothing, so only a limit can end the task; which one did is
 * compared, and that it did not ring early. How late it may ring depends on the machine and is not
 * asserted, beyond telling 300 ms from the long limits beside it.
 */
#include "base/clock.h"
#include "support/call.h"
#include "support/child.h"
#include "support/threads.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORT_MS = 300, LONG_MS = 600000 };

/** A limit that passes in a test without ringing; all else has to happen in less. */
enum { PASSING_MS = 3000 };

/** Runs the call: it must end by `which` limit, not before SHORT_MS have passed. How many hops it has made. */
static size_t check_times_out(call *call, afc_timeout which) {
    int64_t start = afc__now_us();
    call_perform(call);
    int64_t took_ms = (afc__now_us() - start) / 1000;
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, which);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    assert_true(took_ms >= SHORT_MS);
    assert_true(took_ms < LONG_MS);
    size_t hops = call->hop_count;
    call_free(call);
    return hops;
}

static call *call_with_limits(fixture *fixture, const char *path, uint32_t connect, uint32_t idle,
                              uint32_t total) {
    call *call = call_new(fixture, path);
    call->request.timeouts = (afc_timeouts){connect, idle, total, {0}};
    return call;
}

/** A path whose script sends `text` and then nothing. */
static void serve_stalled(fixture *fixture, const char *path, const char *text) {
    afts_script *script = afts_script_new();
    afts_send_text(script, text);
    afts_stall(script, path);
    serve(fixture, path, script);
}

/* ---- Connecting ---------------------------------------------------------------------------- */

static void connecting_times_out(void **state) {
    (void)state;
    fixture *fixture = fixture_new(&(afts_options){.unreachable = true}, NULL);
    check_times_out(call_with_limits(fixture, "/", SHORT_MS, LONG_MS, LONG_MS),
                    AFC_TIMEOUT_CONNECT);
    check_times_out(call_with_limits(fixture, "/", LONG_MS, LONG_MS, SHORT_MS), AFC_TIMEOUT_TOTAL);
    check_times_out(call_with_limits(fixture, "/", 0, SHORT_MS, LONG_MS), AFC_TIMEOUT_IDLE);
    fixture_free(fixture);
}

static void stalled_handshake_hits_the_connect_limit(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_script *script = afts_script_new();
    afts_stall(script, "no handshake");
    afts_on_accept(fixture->server, AFTS_EVERY_CONNECTION, script);
    check_times_out(call_with_limits(fixture, "/", SHORT_MS, LONG_MS, LONG_MS),
                    AFC_TIMEOUT_CONNECT);
    fixture_free(fixture);
}

static void connect_limit_ends_with_the_connection(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/", "");
    call *call = call_with_limits(fixture, "/", PASSING_MS, PASSING_MS + 100, LONG_MS);
    check_times_out(call, AFC_TIMEOUT_IDLE);
}

/* ---- Idleness ------------------------------------------------------------------------------ */

static void silence_in_any_phase_hits_the_idle_limit(void **state) {
    fixture *fixture = *state;
    static const char stalled_redirect[] =
        "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 9\r\n\r\n1234";
    static const char *const before[] = {"",
                                         "HTTP/1.1 200",
                                         "HTTP/1.1 200 OK\r\nX: y\r\n",
                                         "HTTP/1.1 103 Hints\r\n\r\n",
                                         "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234",
                                         stalled_redirect};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        serve_stalled(fixture, "/", before[i]);
        check_times_out(call_with_limits(fixture, "/", LONG_MS, SHORT_MS, LONG_MS),
                        AFC_TIMEOUT_IDLE);
    }
}

static void time_of_a_hop_counts_until_its_limit(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234");
    call *call = call_with_limits(fixture, "/", LONG_MS, SHORT_MS, LONG_MS);
    call_perform(call);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->hop_count, 1);
    /* Clocks are read at slightly different times. */
    assert_true(call->hops[0].total_us - call->hops[0].first_byte_us >= SHORT_MS * 900);
    call_free(call);
}

static void server_that_stops_reading_hits_the_idle_limit(void **state) {
    (void)state;
    static const char body[16 << 20];
    fixture *fixture = fixture_new(&(afts_options){.receive_buffer = 4096}, NULL);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "deaf");
    serve(fixture, "/", script);
    call *call = call_with_limits(fixture, "/", LONG_MS, SHORT_MS, LONG_MS);
    call_send(call, "PUT", (afc_slice){body, sizeof body});
    check_times_out(call, AFC_TIMEOUT_IDLE);
    fixture_free(fixture);
}

static void slow_bytes_are_not_idle_and_hit_the_total_limit(void **state) {
    fixture *fixture = *state;
    static char field[4096] = "HTTP/1.1 200 OK\r\nX: ";
    static char chunks[4096] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    memset(field + strlen(field), 'v', sizeof field - strlen(field));
    for (size_t at = strlen(chunks); at + 6 <= sizeof chunks; at += 6) {
        memcpy(chunks + at, "1\r\nx\r\n", 6);
    }
    const char *const slow[] = {field, chunks};
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        afts_script *script = afts_script_new();
        afts_send_crumbs(script, slow[i], sizeof field, 1, 20);
        serve(fixture, "/", script);
        check_times_out(call_with_limits(fixture, "/", LONG_MS, 5000, SHORT_MS), AFC_TIMEOUT_TOTAL);
    }
}

/** Keeps the loop busy until the response that another task waits for is here, and its limit has passed. */
static afc_status keep_loop_busy(call *call, afc_response *response) {
    (void)response;
    int64_t start = afc__now_us();
    uint64_t sent = afts_server_stats(((fixture *)call->payload)->server).sent;
    afts_release(((fixture *)call->payload)->server, "answer", 1);
    while (afts_server_stats(((fixture *)call->payload)->server).sent == sent ||
           afc__now_us() - start < PASSING_MS * INT64_C(1000)) {
        sched_yield();
    }
    return AFC_OK;
}

static void response_that_waits_for_a_busy_loop_is_not_silence(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "answer");
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    serve(fixture, "/waits", script);
    serve(fixture, "/busy", answer(200, NULL, "hi"));
    call *waiting = call_with_limits(fixture, "/waits", LONG_MS, PASSING_MS, LONG_MS);
    call_start(waiting);
    assert_true(afts_wait_stalled(fixture->server, "answer", 1, PATIENCE_MS));
    call *busy = call_with_limits(fixture, "/busy", LONG_MS, LONG_MS, LONG_MS);
    busy->at_head = keep_loop_busy;
    busy->payload = fixture;
    call_perform(busy);
    check_ended(busy, AFC_OK);
    call_wait(waiting);
    check_ended(waiting, AFC_OK);
    call_free(busy);
    call_free(waiting);
}

/** Lets the time of the limit pass on the loop, measured by a task that has only that to do. */
static void let_limit_pass(fixture *fixture) {
    serve_stalled(fixture, "/clock", "");
    check_times_out(call_with_limits(fixture, "/clock", LONG_MS, LONG_MS, PASSING_MS + SHORT_MS),
                    AFC_TIMEOUT_TOTAL);
    afts_release(fixture->server, "/clock", 1);
}

static void serve_halves(fixture *fixture) {
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    afts_stall(script, "half");
    afts_send_text(script, "67890");
    serve(fixture, "/halves", script);
}

static void suspended_task_is_not_idle(void **state) {
    fixture *fixture = *state;
    serve_halves(fixture);
    call *call = call_with_limits(fixture, "/halves", LONG_MS, PASSING_MS, LONG_MS);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->keeps_body = true;
    call_start(call);
    afc_task_suspend(call->task);
    let_limit_pass(fixture);
    assert_int_equal(atomic_load(&call->done_count), 0);
    afts_release(fixture->server, "half", 1);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "1234567890");
    call_free(call);
}

static afc_status hold_until_released(call *call, afc_slice chunk) {
    (void)chunk;
    return atomic_load((atomic_bool *)call->payload) ? AFC_OK : AFC_EAGAIN;
}

static void paused_task_is_not_idle(void **state) {
    fixture *fixture = *state;
    serve_halves(fixture);
    atomic_bool is_open = false;
    call *call = call_with_limits(fixture, "/halves", LONG_MS, PASSING_MS, LONG_MS);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = hold_until_released;
    call->payload = &is_open;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    let_limit_pass(fixture);
    assert_int_equal(atomic_load(&call->done_count), 0);
    atomic_store(&is_open, true);
    afc_task_wake(call->task);
    /* Reading again, and nothing comes: now it counts. */
    call_wait(call);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, AFC_TIMEOUT_IDLE);
    call_free(call);
}

/** No assertion may run in a child: it would report into the parent's test run. */
_Noreturn static void fetch_in_a_child(const char *url) {
    afc_session *session;
    afc_result *result = NULL;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    request.timeouts.idle_ms = PASSING_MS;
    afc_status status = afc_session_new(&session, NULL, NULL);
    if (status == AFC_OK) status = afc_perform(&result, session, &request, NULL);
    child_exit(status == AFC_OK ? 0 : 1);
}

static void let_pass(int milliseconds) {
    int64_t end = afc__now_us() + milliseconds * INT64_C(1000);
    while (afc__now_us() < end) sched_yield();
}

/** As Ctrl-Z does, until the time of the limit has passed. */
static void stop_for_the_limit(pid_t child) {
    int status;
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    let_pass(PASSING_MS);
    assert_int_equal(kill(child, SIGCONT), 0);
}

static void stopped_process_is_not_idle(void **state) {
    fixture *fixture = *state;
    if (!CAN_FORK) return;
    serve_halves(fixture);
    const char *url = url_of(fixture, "/halves");
    pid_t child = fork();
    if (child == 0) fetch_in_a_child(url);
    assert_true(afts_wait_stalled(fixture->server, "half", 1, PATIENCE_MS));
    wait_until_blocked(child);
    stop_for_the_limit(child);
    /* The child has time to notice a limit that passed, which it must not: there was nothing to read. */
    let_pass(SHORT_MS);
    afts_release(fixture->server, "half", 1);
    child_check(child);
}

static ptrdiff_t read_when_open(void *context, void *buffer, size_t size) {
    call *call = context;
    if (!atomic_load((atomic_bool *)call->payload)) return AFC_READ_AGAIN;
    if (call->head_count > 0 || size == 0) return AFC_READ_END;
    *(char *)buffer = 'x';
    atomic_fetch_add(&call->head_count, 1); /* One byte, then the end. */
    return 1;
}

static void task_with_waiting_reader_is_not_idle(void **state) {
    fixture *fixture = *state;
    atomic_bool is_open = false;
    call *call = call_with_limits(fixture, "/", LONG_MS, PASSING_MS, LONG_MS);
    call->payload = &is_open;
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){call, read_when_open, NULL, NULL};
    call_start(call);
    let_limit_pass(fixture);
    assert_int_equal(atomic_load(&call->done_count), 0);
    atomic_store(&is_open, true);
    afc_task_wake(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/* ---- The whole task ------------------------------------------------------------------------ */

static void total_limit_runs_across_redirects(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_pause(script, 60);
    afts_respond(script, 302, "Location: /", "", 0);
    serve(fixture, "/", script);
    size_t hops = 0;
    /* A machine that was too slow for a second hop gets more time. */
    for (uint32_t limit = PASSING_MS / 2; hops < 2 && limit < LONG_MS; limit *= 2) {
        call *call = call_with_limits(fixture, "/", LONG_MS, LONG_MS, limit);
        call->request.limits.redirects = 1000000;
        hops = check_times_out(call, AFC_TIMEOUT_TOTAL);
    }
    assert_true(hops > 1);
}

static void total_limit_runs_while_suspended(void **state) {
    fixture *fixture = *state;
    call *call = call_with_limits(fixture, "/", LONG_MS, LONG_MS, SHORT_MS);
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_suspend(call->task);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, AFC_TIMEOUT_TOTAL);
    assert_int_equal(call->hop_count, 0);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

/* ---- After a hop whose body waited for its rate -------------------------------------------- */

/**
 * The server answers between two bytes of a slow body, so that the next one was to be sent while the task waits for
 * something else.
 */
static call *call_sending_slowly(fixture *fixture, afts_script *script) {
    serve(fixture, "/", script);
    call *call = call_with_limits(fixture, "/", LONG_MS, LONG_MS, SHORT_MS);
    call_send(call, "PUT", S("a body of many bytes"));
    call->request.expect = AFC_EXPECT_NEVER;
    call->request.max_send_bytes_per_s = 10;
    return call;
}

static afts_script *answer_in_between(int status, const char *headers, const char *body,
                                      size_t size) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_read_body_bytes(script, 1);
    afts_respond(script, status, headers, body, size);
    afts_wait_peer_close(script);
    return script;
}

static void total_limit_runs_in_the_queue_after_a_slow_hop(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    struct fixture *other = fixture_new(NULL, NULL);
    afts_script *script = afts_script_new();
    afts_stall(script, "busy");
    serve(other, "/", script);
    call *busy = call_new(fixture, "/");
    busy->request.url = url_of(other, "/");
    call_start(busy);
    assert_true(afts_wait_stalled(other->server, "busy", 1, PATIENCE_MS));
    const char *field = text_of(fixture, "Location: %s", url_of(other, "/"));
    call *call = call_sending_slowly(fixture, answer_in_between(307, field, "", 0));
    check_times_out(call, AFC_TIMEOUT_TOTAL);
    afc_task_cancel(busy->task);
    call_wait(busy);
    call_free(busy);
    fixture_free(other);
    fixture_free(fixture);
}

static afc_redirect_decision suspend_before_next_hop(call *call, afc_redirect *redirect) {
    (void)redirect;
    afc_task_suspend(call->task);
    return AFC_REDIRECT_FOLLOW;
}

static void total_limit_runs_while_suspended_after_a_slow_hop(void **state) {
    fixture *fixture = *state;
    call *call = call_sending_slowly(fixture, answer_in_between(307, "Location: /", "", 0));
    call->at_redirect = suspend_before_next_hop;
    check_times_out(call, AFC_TIMEOUT_TOTAL);
}

static afc_challenge_decision answer_never(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    (void)context, (void)challenge, (void)credentials;
    return AFC_CHALLENGE_LATER;
}

static void total_limit_runs_while_credentials_are_awaited_after_a_slow_hop(void **state) {
    fixture *fixture = *state;
    call *call = call_sending_slowly(
        fixture, answer_in_between(401, "WWW-Authenticate: Basic realm=x", "", 0));
    call->events.on_challenge = answer_never;
    check_times_out(call, AFC_TIMEOUT_TOTAL);
}

static void total_limit_runs_while_a_pipe_is_full_after_a_slow_hop(void **state) {
    fixture *fixture = *state;
    /* A little more than a pipe takes. */
    static char bytes[64 * 1024 + 3000];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    call *call = call_sending_slowly(fixture, answer_in_between(413, NULL, bytes, sizeof bytes));
    call->request.sink.kind = AFC_SINK_FD;
    call->request.sink.descriptor = ends[1];
    check_times_out(call, AFC_TIMEOUT_TOTAL);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Waiting for a connection -------------------------------------------------------------- */

static void waiting_for_a_connection_hits_only_the_total_limit(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    struct fixture *clock = fixture_new(NULL, NULL);
    afts_script *script = afts_script_new();
    afts_stall(script, "/first");
    afts_respond(script, 200, NULL, "", 0);
    serve(fixture, "/first", script);
    call *first = call_new(fixture, "/first");
    call_start(first);
    assert_true(afts_wait_stalled(fixture->server, "/first", 1, PATIENCE_MS));
    call *queued = call_with_limits(fixture, "/queued", PASSING_MS, PASSING_MS, LONG_MS);
    call_start(queued);
    check_times_out(call_with_limits(fixture, "/late", LONG_MS, LONG_MS, SHORT_MS),
                    AFC_TIMEOUT_TOTAL);
    let_limit_pass(clock);
    assert_int_equal(atomic_load(&queued->done_count), 0);
    afts_release(fixture->server, "/first", 1);
    call_wait(first);
    check_ended(first, AFC_OK);
    call_wait(queued);
    check_ended(queued, AFC_OK);
    call_free(first);
    call_free(queued);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
    fixture_free(clock);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connecting_times_out),
        cmocka_unit_test(stalled_handshake_hits_the_connect_limit),
        FIXTURE_TEST(connect_limit_ends_with_the_connection),
        FIXTURE_TEST(silence_in_any_phase_hits_the_idle_limit),
        FIXTURE_TEST(time_of_a_hop_counts_until_its_limit),
        cmocka_unit_test(server_that_stops_reading_hits_the_idle_limit),
        FIXTURE_TEST(slow_bytes_are_not_idle_and_hit_the_total_limit),
        FIXTURE_TEST(response_that_waits_for_a_busy_loop_is_not_silence),
        FIXTURE_TEST(suspended_task_is_not_idle),
        FIXTURE_TEST(paused_task_is_not_idle),
        FIXTURE_TEST(stopped_process_is_not_idle),
        FIXTURE_TEST(task_with_waiting_reader_is_not_idle),
        FIXTURE_TEST(total_limit_runs_across_redirects),
        FIXTURE_TEST(total_limit_runs_while_suspended),
        cmocka_unit_test(total_limit_runs_in_the_queue_after_a_slow_hop),
        FIXTURE_TEST(total_limit_runs_while_suspended_after_a_slow_hop),
        FIXTURE_TEST(total_limit_runs_while_credentials_are_awaited_after_a_slow_hop),
        FIXTURE_TEST(total_limit_runs_while_a_pipe_is_full_after_a_slow_hop),
        cmocka_unit_test(waiting_for_a_connection_hits_only_the_total_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
