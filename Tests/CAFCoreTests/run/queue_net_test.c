/* Tasks that wait for their host: their order, their limits, and what ends them meanwhile. */
#include "curl/driver_internal.h"
#include "session/task_internal.h"
#include "support/call.h"
#include "support/h2.h"
#include "support/heap.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_MS = 300, LONG_MS = 600000 };

static fixture *fixture_with(uint32_t per_host, uint32_t total) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = per_host;
    options.max_connections = total;
    return fixture_new(NULL, &options);
}

/** Takes the only connection until "gate" is released. */
static call *block(fixture *fixture) {
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 200, NULL, "", 0);
    serve(fixture, "/block", script);
    call *call = call_new(fixture, "/block");
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "gate", 1, PATIENCE_MS));
    return call;
}

static void unblock(fixture *fixture, call *call) {
    afts_release(fixture->server, "gate", AFTS_OPEN);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/** Waits until the loop has taken all that was posted, and has ended a turn. */
static void let_loop_turn(fixture *fixture) {
    for (int i = 0; i < 2; i++) {
        call *call = call_new(fixture, "/never");
        call_start(call);
        afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
    }
}

static call *start(fixture *fixture, const char *path, uint8_t priority) {
    call *call = call_new(fixture, path);
    call->request.priority = priority;
    call_start(call);
    return call;
}

static void finish(call *call, afc_status expected) {
    call_wait(call);
    check_ended(call, expected);
    call_free(call);
}

static void check_target(fixture *fixture, size_t index, const char *expected) {
    afts_request *seen = afts_copy_request(fixture->server, index);
    assert_non_null(seen);
    assert_string_equal(seen->target, expected);
    afts_request_free(seen);
}

/* ---- Order --------------------------------------------------------------------------------- */

static void sends_by_priority_then_in_order(void **state) {
    (void)state;
    static const uint8_t priorities[] = {0, 1, 255, 16, 255, 17, 1, 0};
    static const char *const order[] = {"/2", "/4", "/5", "/0", "/3", "/7", "/1", "/6"};
    fixture *fixture = fixture_with(1, 0);
    call *calls[COUNT_OF(priorities)], *blocker = block(fixture);
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        calls[i] = start(fixture, text_of(fixture, "/%zu", i), priorities[i]);
    }
    let_loop_turn(fixture);
    unblock(fixture, blocker);
    for (size_t i = 0; i < COUNT_OF(priorities); i++) finish(calls[i], AFC_OK);
    for (size_t i = 0; i < COUNT_OF(order); i++) check_target(fixture, i + 1, order[i]);
    fixture_free(fixture);
}

static void redirect_to_its_host_runs_first(void **state) {
    (void)state;
    fixture *fixture = fixture_with(1, 0);
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 302, "Location: /to", "", 0);
    serve(fixture, "/block", script);
    call *first = start(fixture, "/block", 1), *others[5];
    assert_true(afts_wait_stalled(fixture->server, "gate", 1, PATIENCE_MS));
    for (size_t i = 0; i < 5; i++) others[i] = start(fixture, "/other", 255);
    let_loop_turn(fixture);
    unblock(fixture, first);
    for (size_t i = 0; i < 5; i++) finish(others[i], AFC_OK);
    check_target(fixture, 1, "/to");
    check_target(fixture, 2, "/other");
    fixture_free(fixture);
}

static void redirect_runs_before_new_tasks_of_another_host(void **state) {
    (void)state;
    fixture *to = fixture_with(1, 0), *from = fixture_new(NULL, NULL);
    call *blocker = block(to);
    call *waiting[3];
    for (size_t i = 0; i < 3; i++) waiting[i] = start(to, "/waiting", 255);
    serve(from, "/", answer(302, text_of(from, "Location: %s", url_of(to, "/redirected")), ""));
    call *redirected = call_new(from, "/");
    redirected->session = to->session;
    redirected->request.priority = 1;
    call_start(redirected);
    call_wait_for(redirected, &redirected->redirect_count, 1);
    let_loop_turn(to);
    unblock(to, blocker);
    finish(redirected, AFC_OK);
    for (size_t i = 0; i < 3; i++) finish(waiting[i], AFC_OK);
    check_target(to, 1, "/redirected");
    fixture_free(from);
    fixture_free(to);
}

typedef struct record {
    char order[64];
    size_t count;
} record;

static void note_first_host(call *call) {
    record *record = call->payload;
    record->order[record->count++] = 'a';
}

static void note_second_host(call *call) {
    record *record = call->payload;
    record->order[record->count++] = 'b';
}

static void hosts_alternate_at_the_total_limit(void **state) {
    (void)state;
    enum { EACH = 8 };
    fixture *first = fixture_with(6, 1), *second = fixture_new(NULL, NULL);
    call *blocker = block(first), *calls[2 * EACH];
    record record = {{0}, 0};
    for (size_t i = 0; i < 2 * EACH; i++) {
        calls[i] = call_new(i < EACH ? first : second, "/");
        calls[i]->session = first->session;
        calls[i]->payload = &record;
        calls[i]->at_done = i < EACH ? note_first_host : note_second_host;
        call_start(calls[i]);
    }
    let_loop_turn(first);
    unblock(first, blocker);
    for (size_t i = 0; i < 2 * EACH; i++) finish(calls[i], AFC_OK);
    assert_string_equal(record.order, "abababababababab");
    fixture_free(second);
    fixture_free(first);
}

/* ---- Limits -------------------------------------------------------------------------------- */

typedef struct peaks {
    afc_session *session;
    size_t running, handles;
} peaks;

static void note_peaks(call *call) {
    peaks *peaks = call->payload;
    const afc__driver *driver = peaks->session->driver;
    if (peaks->session->queue.running > peaks->running) {
        peaks->running = peaks->session->queue.running;
    }
    if (driver->pool.count > peaks->handles) peaks->handles = driver->pool.count;
}

static void only_running_tasks_have_handles(void **state) {
    (void)state;
    enum { TASKS = 300, LIMIT = 3 };
    fixture *fixture = fixture_with(LIMIT, 0);
    peaks peaks = {fixture->session, 0, 0};
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/");
        calls[i]->payload = &peaks;
        calls[i]->at_done = note_peaks;
        call_start(calls[i]);
    }
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], AFC_OK);
    assert_true(peaks.running <= LIMIT);
    assert_true(peaks.handles <= LIMIT);
    assert_true(afts_server_stats(fixture->server).peak_open <= LIMIT);
    fixture_free(fixture);
}

static void limits_spare_handles(void **state) {
    (void)state;
    enum { TASKS = 200 };
    fixture *fixture = fixture_with(0, 0);
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 200, NULL, "", 0);
    serve(fixture, "/late", script);
    peaks peaks = {fixture->session, 0, 0}, after = {fixture->session, 0, 0};
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/late");
        calls[i]->payload = &peaks;
        calls[i]->at_done = note_peaks;
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(fixture->server, "gate", TASKS, PATIENCE_MS));
    afts_release(fixture->server, "gate", AFTS_OPEN);
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], AFC_OK);
    assert_true(peaks.handles > 128);
    call *last = call_new(fixture, "/");
    last->payload = &after;
    last->at_done = note_peaks;
    call_start(last);
    finish(last, AFC_OK);
    assert_true(after.handles <= 128);
    fixture_free(fixture);
}

enum { STREAMS = 50 };

/** Answers no request before all have come. */
static void answer_all_at_once(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request, (void)payload;
    h2_peer *peer = malloc(sizeof *peer);
    uint32_t streams[STREAMS];
    size_t count = 0;
    bool is_open = peer != NULL && h2_begin(peer, conn);
    while (is_open && count < STREAMS) {
        streams[count] = h2_read_request(peer);
        is_open = streams[count++] != 0;
    }
    for (size_t i = 0; i < STREAMS && is_open; i++) {
        h2_send_head(peer, streams[i], 200, H2_END_STREAM);
    }
    while (is_open && h2_read(peer)) continue;
    free(peer);
}

static void streams_are_not_limited_by_connections(void **state) {
    (void)state;
    if (!h2_multiplexes()) skip();
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    options.max_connections = 1;
    fixture *fixture = h2_fixture(&options);
    h2_serve(fixture, answer_all_at_once, NULL, H2_CLOSE);
    call *calls[STREAMS];
    for (size_t i = 0; i < STREAMS; i++) {
        calls[i] = call_new(fixture, "/");
        calls[i]->request.url = tls_url(fixture);
        call_start(calls[i]);
    }
    for (size_t i = 0; i < STREAMS; i++) finish(calls[i], AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
    fixture_free(fixture);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void cancelled_waiting_task_sends_nothing(void **state) {
    (void)state;
    enum { TASKS = 100 };
    fixture *fixture = fixture_with(1, 0);
    call *calls[TASKS], *blocker = block(fixture);
    for (size_t i = 0; i < TASKS; i++) calls[i] = start(fixture, "/", 0);
    for (size_t i = 1; i < TASKS; i += 2) afc_task_cancel(calls[i]->task);
    for (size_t i = 1; i < TASKS; i += 2) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_ECANCELED);
        assert_int_equal(calls[i]->hop_count, 0);
        call_free(calls[i]);
    }
    unblock(fixture, blocker);
    for (size_t i = 0; i < TASKS; i += 2) finish(calls[i], AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1 + TASKS / 2);
    fixture_free(fixture);
}

static void cancel_all_ends_waiting_tasks(void **state) {
    (void)state;
    enum { TASKS = 1000 };
    fixture *fixture = fixture_with(1, 0);
    peaks peaks = {fixture->session, 0, 0};
    call *calls[TASKS], *blocker = block(fixture);
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/");
        calls[i]->payload = &peaks;
        calls[i]->at_done = note_peaks;
        call_start(calls[i]);
    }
    /* Once a task for another host has run, the session has begun those before it. */
    call *other = call_new(fixture, "/");
    other->request.url = text_of(fixture, "http://localhost:%u/",
                                 (unsigned)afts_server_port(fixture->server));
    call_perform(other);
    check_ended(other, AFC_OK);
    call_free(other);
    afc_session_statistics before, after;
    afc_session_get_statistics(fixture->session, &before);
    afc_session_cancel_all(fixture->session);
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], AFC_ECANCELED);
    finish(blocker, AFC_ECANCELED);
    /* A part in each turn, so that sockets and alarms are handled in between. */
    afc_session_get_statistics(fixture->session, &after);
    assert_true(after.turns - before.turns >= TASKS / 100);
    assert_true(peaks.handles <= 2);
    assert_int_equal(afts_server_stats(fixture->server).requests, 2);
    afts_release(fixture->server, "gate", AFTS_OPEN);
    check_fetch(fixture, "/", AFC_OK);
    fixture_free(fixture);
}

static void total_time_limit_runs_while_a_task_waits(void **state) {
    (void)state;
    fixture *fixture = fixture_with(1, 0);
    call *blocker = block(fixture), *call = call_new(fixture, "/");
    call->request.timeouts = (afc_timeouts){LONG_MS, LONG_MS, SHORT_MS, {0}};
    call_perform(call);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, AFC_TIMEOUT_TOTAL);
    check_contains(call->failure.text, "no connection to the host was free");
    assert_int_equal(call->hop_count, 0);
    call_free(call);
    unblock(fixture, blocker);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
    fixture_free(fixture);
}

static void other_time_limits_stop_while_a_task_waits(void **state) {
    (void)state;
    fixture *fixture = fixture_with(1, 0);
    call *blocker = block(fixture), *waiting = call_new(fixture, "/"),
         *clock = call_new(fixture, "/");
    waiting->request.timeouts = (afc_timeouts){SHORT_MS / 3, SHORT_MS / 3, LONG_MS, {0}};
    call_start(waiting);
    clock->request.timeouts = (afc_timeouts){LONG_MS, LONG_MS, SHORT_MS, {0}};
    call_start(clock);
    finish(clock, AFC_ETIMEOUT);
    let_loop_turn(fixture);
    assert_int_equal(atomic_load(&waiting->done_count), 0);
    afc_task_cancel(waiting->task);
    finish(waiting, AFC_ECANCELED);
    unblock(fixture, blocker);
    fixture_free(fixture);
}

static void suspended_task_uses_no_connection(void **state) {
    (void)state;
    fixture *fixture = fixture_with(1, 0);
    call *blocker = block(fixture);
    call *suspended = start(fixture, "/suspended", 255), *other = start(fixture, "/other", 1);
    afc_task_suspend(suspended->task);
    let_loop_turn(fixture);
    unblock(fixture, blocker);
    finish(other, AFC_OK);
    assert_int_equal(atomic_load(&suspended->done_count), 0);
    afc_task_resume(suspended->task);
    finish(suspended, AFC_OK);
    check_target(fixture, 2, "/suspended");
    fixture_free(fixture);
}

static void waiting_tasks_complete_after_the_session_is_released(void **state) {
    (void)state;
    enum { TASKS = 50 };
    fixture *fixture = fixture_with(1, 0);
    call *calls[TASKS], *blocker = block(fixture);
    for (size_t i = 0; i < TASKS; i++) calls[i] = start(fixture, "/", 0);
    afc_session_release(fixture->session);
    fixture->session = NULL;
    unblock(fixture, blocker);
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], AFC_OK);
    afc_join_closed_sessions();
    fixture_free(fixture);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void waiting_task_uses_little_memory(void **state) {
    (void)state;
    enum { TASKS = 2000, MOST_BYTES = 2032 };
    fixture *fixture = fixture_with(1, 0);
    call **calls = calloc(TASKS, sizeof *calls), *blocker = block(fixture);
    assert_non_null(calls);
    size_t url_size = strlen(url_of(fixture, "/"));
    for (size_t i = 0; i < TASKS; i++) calls[i] = call_new(fixture, "/");
    size_t before = heap_in_use();
    for (size_t i = 0; i < TASKS; i++) {
        calls[i]->request.url = url_of(fixture, "/");
        call_start(calls[i]);
    }
    let_loop_turn(fixture);
    size_t after = heap_in_use();
    if (after > before) assert_true((after - before) / TASKS <= MOST_BYTES + 2 * url_size);
    afc_session_cancel_all(fixture->session);
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], AFC_ECANCELED);
    finish(blocker, AFC_ECANCELED);
    afts_release(fixture->server, "gate", AFTS_OPEN);
    free(calls);
    fixture_free(fixture);
}

/* ---- Failures ------------------------------------------------------------------------------ */

static void lost_connection_frees_its_slot(void **state) {
    (void)state;
    enum { TASKS = 10 };
    fixture *fixture = fixture_with(1, 0);
    serve_text(fixture, "/lost", "");
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) calls[i] = start(fixture, i % 2 == 0 ? "/lost" : "/", 0);
    for (size_t i = 0; i < TASKS; i++) finish(calls[i], i % 2 == 0 ? AFC_ELOST : AFC_OK);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_by_priority_then_in_order),
        cmocka_unit_test(redirect_to_its_host_runs_first),
        cmocka_unit_test(redirect_runs_before_new_tasks_of_another_host),
        cmocka_unit_test(hosts_alternate_at_the_total_limit),
        cmocka_unit_test(only_running_tasks_have_handles),
        cmocka_unit_test(limits_spare_handles),
        cmocka_unit_test(streams_are_not_limited_by_connections),
        cmocka_unit_test(cancelled_waiting_task_sends_nothing),
        cmocka_unit_test(cancel_all_ends_waiting_tasks),
        cmocka_unit_test(total_time_limit_runs_while_a_task_waits),
        cmocka_unit_test(other_time_limits_stop_while_a_task_waits),
        cmocka_unit_test(suspended_task_uses_no_connection),
        cmocka_unit_test(waiting_tasks_complete_after_the_session_is_released),
        cmocka_unit_test(waiting_task_uses_little_memory),
        cmocka_unit_test(lost_connection_frees_its_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
