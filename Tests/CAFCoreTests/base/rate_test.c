/*
 * Limits of bytes per second. That a transfer takes no less time than its limit asks for is
 * measured, from the limit itself; how much longer it takes depends on the machine and is not.
 */
#include "base/clock.h"
#include "base/rate.h"
#include "support/call.h"
#include "support/files.h"
#include "support/form.h"

#include <stdlib.h>

enum { RATE = 100000, SIZE = 40000, SECOND_US = 1000000 };

/* ---- The engine ---------------------------------------------------------------------------- */

static void never_waits_without_a_limit(void **state) {
    (void)state;
    afc__rate rate = {0};
    afc__rate_spend(&rate, UINT64_MAX, 5);
    assert_false(afc__rate_is_throttled(&rate, 5));
    assert_int_equal(afc__rate_piece(&rate, SIZE_MAX), SIZE_MAX);
}

static void pieces_have_at_least_one_byte(void **state) {
    (void)state;
    assert_int_equal(afc__rate_piece(&(afc__rate){.per_second = 800}, 1000), 100);
    assert_int_equal(afc__rate_piece(&(afc__rate){.per_second = 800}, 10), 10);
    assert_int_equal(afc__rate_piece(&(afc__rate){.per_second = 1}, 1000), 1);
    assert_int_equal(afc__rate_piece(&(afc__rate){.per_second = UINT64_MAX}, 1000), 1000);
}

static void each_byte_costs_its_time(void **state) {
    (void)state;
    afc__rate rate = {.per_second = 1000};
    assert_false(afc__rate_is_throttled(&rate, 7));
    afc__rate_spend(&rate, 500, 7);
    assert_true(afc__rate_is_throttled(&rate, 500006));
    assert_int_equal(rate.wakeup_us, 500007);
    assert_false(afc__rate_is_throttled(&rate, 500007));
    assert_int_equal(rate.wakeup_us, 0);
    /* Late by 50 ms, which is made up for; then by a second, of which 100 ms are. */
    afc__rate_spend(&rate, 500, 550007);
    assert_int_equal(rate.next_allowed_us, 1000007);
    afc__rate_spend(&rate, 500, 2000007);
    assert_int_equal(rate.next_allowed_us, 2400007);
    afc__rate_spend(&rate, 0, 9000000);
    assert_int_equal(rate.next_allowed_us, 2400007);
}

static void counts_each_byte_once(void **state) {
    (void)state;
    afc__rate rate = {.per_second = 1000};
    static const struct {
        int64_t count, next_allowed_us;
    } rows[] = {{0, 0}, {500, 500007}, {500, 500007}, {600, 600007}, {100, 700007}, {0, 700007}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__rate_spend_count(&rate, rows[i].count, 7);
        assert_int_equal(rate.next_allowed_us, rows[i].next_allowed_us);
    }
}

static void extreme_numbers_do_not_overflow(void **state) {
    (void)state;
    static const uint64_t edges[] = {1, 2, 1000, INT64_MAX, UINT64_MAX / 1000000, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        for (size_t j = 0; j < COUNT_OF(edges); j++) {
            afc__rate rate = {.per_second = edges[i]};
            int64_t now = INT64_C(1) << 50;
            for (int n = 0; n < 3; n++) {
                afc__rate_spend(&rate, edges[j], now);
                assert_true(rate.next_allowed_us >= now - SECOND_US);
                now = rate.next_allowed_us > now ? rate.next_allowed_us : now;
            }
        }
    }
}

/* ---- On a connection ----------------------------------------------------------------------- */

/** Runs a call whose `size` bytes may take no less than the rate says, short of the last piece. */
static void check_slow(call *call, int64_t size, int64_t last_piece) {
    int64_t start = afc__now_us();
    call_perform(call);
    int64_t took = afc__now_us() - start;
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 200);
    assert_true(took >= (size - last_piece) * SECOND_US / RATE);
}

static void serve_zeros(fixture *fixture, const char *path, size_t size) {
    static const char zeros[1000];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, zeros, sizeof zeros, size / sizeof zeros);
    serve(fixture, path, script);
}

static void limits_receiving_into_every_kind_of_sink(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_zeros(fixture, "/", SIZE);
    const char *path = path_in(&folder, "a");
    const afc_sink sinks[] = {{.kind = AFC_SINK_MEMORY},
                              {.kind = AFC_SINK_CALLBACK},
                              {.kind = AFC_SINK_FILE, .path = path}};
    for (size_t i = 0; i < COUNT_OF(sinks); i++) {
        call *call = call_new(fixture, "/");
        call->request.sink = sinks[i];
        call->request.max_receive_bytes_per_s = RATE;
        check_slow(call, SIZE, RATE / 8);
        assert_int_equal(afc_result_get_body_size(call->result), SIZE);
        call_free(call);
    }
    folder_remove(&folder);
}

static void limits_sending_from_every_kind_of_source(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    write_file(path, (afc_slice){bytes, SIZE});
    serve(fixture, "/", answer(200, NULL, "ok"));
    for (int kind = AFC_BODY_BYTES; kind <= AFC_BODY_MULTIPART; kind++) {
        script_reader script = {.bytes = {bytes, SIZE}};
        call *call = call_new(fixture, "/");
        call->request.method = "POST";
        call->request.max_send_bytes_per_s = RATE;
        call->request.body.kind = (afc_body_kind)kind;
        call->request.body.bytes = (afc_slice){bytes, SIZE};
        if (kind == AFC_BODY_FILE) call->request.body.path = path;
        if (kind == AFC_BODY_READER) {
            call->request.body.reader = reader_of(&script);
            call->request.body.length = AFC_LENGTH_UNKNOWN;
        }
        if (kind == AFC_BODY_MULTIPART) {
            call->request.body.form = form_new();
            form_add_file(call->request.body.form, "f", path);
        }
        check_slow(call, SIZE, RATE / 8);
        assert_true(call->progress.sent >= SIZE);
        call_free(call);
        afts_request *request = afts_copy_request(fixture->server, (size_t)kind - 1);
        assert_non_null(request);
        assert_true(request->body_complete && request->body_total >= SIZE);
        afts_request_free(request);
    }
    free(bytes);
    folder_remove(&folder);
}

static void sending_and_receiving_have_separate_limits(void **state) {
    fixture *fixture = *state;
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, bytes, SIZE / 4, 1);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){bytes, SIZE});
    call->request.max_send_bytes_per_s = RATE;
    call->request.max_receive_bytes_per_s = RATE;
    check_slow(call, SIZE + SIZE / 4, RATE / 4);
    call_free(call);
    free(bytes);
}

static void limit_ends_with_its_request(void **state) {
    fixture *fixture = *state;
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    serve_zeros(fixture, "/", SIZE);
    for (int limited = 1; limited >= 0; limited--) {
        call *call = call_new(fixture, "/");
        call_send(call, "PUT", (afc_slice){bytes, SIZE});
        call->request.max_receive_bytes_per_s = call->request.max_send_bytes_per_s = limited
                                                                                         ? RATE * 10
                                                                                         : 0;
        call->request.timeouts.total_ms = PATIENCE_MS;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, SIZE);
        call_free(call);
    }
    free(bytes);
}

static void throttled_task_can_be_cancelled_and_suspended(void **state) {
    fixture *fixture = *state;
    serve_zeros(fixture, "/", SIZE);
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->request.max_receive_bytes_per_s = 1;
    call_start(call);
    call_wait_for(call, &call->body_count, 1);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    afc_task_wake(call->task);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static void total_time_limit_runs_while_throttled(void **state) {
    fixture *fixture = *state;
    static const char body[100];
    serve(fixture, "/", answer(200, NULL, "ok"));
    for (int way = 0; way < 2; way++) {
        call *call = call_new(fixture, "/");
        serve_zeros(fixture, "/", SIZE);
        if (way == 0) call->request.max_receive_bytes_per_s = 1;
        if (way == 1) call->request.max_send_bytes_per_s = 1;
        if (way == 1) call_send(call, "PUT", (afc_slice){body, sizeof body});
        call->request.timeouts = (afc_timeouts){0, 0, 200, {0}};
        call_perform(call);
        check_ended(call, AFC_ETIMEOUT);
        assert_int_equal(call->failure.timeout, AFC_TIMEOUT_TOTAL);
        call_free(call);
    }
}

static void throttled_task_is_not_idle(void **state) {
    fixture *fixture = *state;
    serve_zeros(fixture, "/", 3000);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", S("abc"));
    call->request.max_send_bytes_per_s = 1;
    call->request.max_receive_bytes_per_s = 1000;
    call->request.timeouts = (afc_timeouts){0, 900, 0, {0}};
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, 3000);
    call_free(call);
}

static void redirect_sends_the_body_at_the_same_rate(void **state) {
    fixture *fixture = *state;
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    serve(fixture, "/", answer(307, "Location: /there", ""));
    serve(fixture, "/there", answer(200, NULL, "ok"));
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){bytes, SIZE});
    call->request.max_send_bytes_per_s = RATE;
    check_slow(call, 2 * SIZE, RATE / 8);
    call_free(call);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_waits_without_a_limit),
        cmocka_unit_test(pieces_have_at_least_one_byte),
        cmocka_unit_test(each_byte_costs_its_time),
        cmocka_unit_test(counts_each_byte_once),
        cmocka_unit_test(extreme_numbers_do_not_overflow),
        FIXTURE_TEST(limits_receiving_into_every_kind_of_sink),
        FIXTURE_TEST(limits_sending_from_every_kind_of_source),
        FIXTURE_TEST(sending_and_receiving_have_separate_limits),
        FIXTURE_TEST(limit_ends_with_its_request),
        FIXTURE_TEST(throttled_task_can_be_cancelled_and_suspended),
        FIXTURE_TEST(total_time_limit_runs_while_throttled),
        FIXTURE_TEST(throttled_task_is_not_idle),
        FIXTURE_TEST(redirect_sends_the_body_at_the_same_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
