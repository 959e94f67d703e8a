/* Asking before a body is sent, and answers that come instead of the word to go on. */
#include "support/call.h"
#include "support/files.h"
#include "support/form.h"

#include <stdlib.h>

enum { LARGE = 1024 * 1024 + 1 };

static const afc_header own[] = {{ROW_S("expect"), ROW_S("100-Continue"), 0}};

static call *call_putting(fixture *fixture, size_t size, afc_expect expect) {
    static const char zeros[LARGE];
    assert_true(size <= LARGE);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){zeros, size});
    call->request.expect = expect;
    return call;
}

static void check_seen(fixture *fixture, size_t index, const char *expectation, uint64_t body) {
    assert_string_equal(seen_header(fixture, index, "Expect"), expectation);
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    assert_int_equal(request->body_total, body);
    afts_request_free(request);
}

static void large_body_sends_expect_by_default(void **state) {
    fixture *fixture = *state;
    static const struct {
        size_t size;
        afc_expect expect;
        bool asks;
    } rows[] = {
        {0, AFC_EXPECT_ALWAYS, false},        {1, AFC_EXPECT_ALWAYS, true},
        {1, AFC_EXPECT_AUTOMATIC, false},     {LARGE - 1, AFC_EXPECT_AUTOMATIC, false},
        {LARGE, AFC_EXPECT_AUTOMATIC, true},  {LARGE, AFC_EXPECT_NEVER, false},
        {LARGE - 1, AFC_EXPECT_ALWAYS, true}, {1, AFC_EXPECT_AUTOMATIC, false},
    };
    serve(fixture, "/", answer(200, NULL, "ok"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = call_putting(fixture, rows[i].size, rows[i].expect);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->informational_count, rows[i].asks);
        assert_int_equal(call->progress.sent, rows[i].size);
        call_free(call);
        check_seen(fixture, i, rows[i].asks ? "100-continue" : "", rows[i].size);
    }
}

static void body_of_unknown_length_sends_expect(void **state) {
    fixture *fixture = *state;
    script_reader script = {.bytes = S("0123456789")};
    call *call = call_new(fixture, "/");
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = reader_of(&script);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_seen(fixture, 0, "100-continue", 10);
}

static void own_expect_field_decides(void **state) {
    fixture *fixture = *state;
    static const afc_header none[] = {{ROW_S("Expect"), {NULL, 0}, AFC_HEADER_REMOVE}};
    static const afc_header other[] = {{ROW_S("Expect"), ROW_S("miracles"), 0}};
    static const struct {
        const afc_header *header;
        size_t size;
        afc_expect expect;
        const char *seen;
    } rows[] = {
        {own, 1, AFC_EXPECT_NEVER, "100-continue"},
        {own, 0, AFC_EXPECT_ALWAYS, ""},
        {none, LARGE, AFC_EXPECT_ALWAYS, ""},
        {other, 1, AFC_EXPECT_AUTOMATIC, "miracles"},
        {other, LARGE, AFC_EXPECT_AUTOMATIC, "miracles"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = call_putting(fixture, rows[i].size, rows[i].expect);
        call->request.headers = rows[i].header;
        call->request.header_count = 1;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_seen(fixture, i, rows[i].seen, rows[i].size);
    }
}

static void silent_server_gets_the_body(void **state) {
    (void)state;
    fixture *fixture = fixture_new(&(afts_options){.no_auto_continue = true}, NULL);
    call *call = call_putting(fixture, LARGE, AFC_EXPECT_AUTOMATIC);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->informational_count, 0);
    call_free(call);
    check_seen(fixture, 0, "100-continue", LARGE);
    fixture_free(fixture);
}

/** Answers before the body, which it never reads: a request after it would be read as that body. */
static afts_script *refusal(int status, const char *headers) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_respond(script, status, headers, "no", 2);
    return script;
}

/**
 * libcurl before 8.7 begins its wait anew when something arrives, but not the timer that ends it. So what comes first
 * has to come a little later than the request was sent.
 */
static void response_that_begins_does_not_keep_the_body(void **state) {
    fixture *fixture = *state;
    for (int i = 0; i < 4; i++) {
        afts_script *script = afts_script_new();
        afts_read_head_only(script);
        afts_stall(script, "begin");
        if (i % 2 == 0) {
            afts_interim(script, 103, "Link: </style>");
            afts_read_body(script);
            afts_respond(script, 200, NULL, "end", 3);
        } else {
            afts_respond_chunked(script, 200, NULL);
            afts_read_body(script);
            afts_chunk(script, "end", 3);
            afts_last_chunk(script, NULL);
        }
        const char *path = text_of(fixture, "/%d", i);
        serve(fixture, path, script);
        call *call = call_putting(fixture, LARGE, i < 2 ? AFC_EXPECT_AUTOMATIC : AFC_EXPECT_ALWAYS);
        call->request.url = url_of(fixture, path);
        call->request.timeouts.idle_ms = PATIENCE_MS / 10;
        size_t seen = afts_server_stats(fixture->server).requests;
        call_start(call);
        assert_true(afts_wait_requests(fixture->server, seen + 1, PATIENCE_MS));
        for (int n = 0; n < 20; n++) check_fetch(fixture, "/", AFC_OK);
        afts_release(fixture->server, "begin", 1);
        call_wait(call);
        check_ended(call, AFC_OK);
        check_slice(call->body, "end");
        call_free(call);
    }
}

/**
 * Sending waits then, and receiving doesn't. libcurl before 8.7 is made to look again and again whether the body may be
 * sent.
 */
static void suspended_task_receives_what_comes_before_its_body(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new(), *silent = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "hint");
    afts_interim(script, 103, "Link: </style>");
    afts_respond(script, 413, NULL, "end", 3);
    serve(fixture, "/put", script);
    afts_read_head_only(silent);
    afts_wait_peer_close(silent);
    serve(fixture, "/silent", silent);
    call *call = call_putting(fixture, LARGE, AFC_EXPECT_AUTOMATIC);
    call->request.url = url_of(fixture, "/put");
    call_start(call);
    assert_true(afts_wait_requests(fixture->server, 1, PATIENCE_MS));
    afc_task_suspend(call->task);
    /* Its time limit passes after the first looks, which are made 220 and 320 ms after the request. */
    struct call *late = call_new(fixture, "/silent");
    late->request.timeouts.total_ms = 700;
    call_perform(late);
    check_ended(late, AFC_ETIMEOUT);
    call_free(late);
    afts_release(fixture->server, "hint", 1);
    call_wait_for(call, &call->informational_count, 1);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 413);
    check_slice(call->body, "end");
    call_free(call);
}

static void final_response_prevents_the_body(void **state) {
    fixture *fixture = *state;
    static const int statuses[] = {200, 204, 302, 401, 403, 413, 500};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        serve(fixture, "/", refusal(statuses[i], NULL));
        for (int own_field = 0; own_field < 2; own_field++) {
            script_reader script = {.bytes = S("0123456789"), .reads_once = true};
            call *call = call_putting(fixture, 0, own_field ? AFC_EXPECT_NEVER : AFC_EXPECT_ALWAYS);
            call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = 10};
            call->request.body.reader = reader_of(&script);
            call->request.headers = own;
            call->request.header_count = (size_t)own_field;
            call->request.limits.redirects = -1;
            call_perform(call);
            check_ended(call, AFC_OK);
            assert_int_equal(status_of(call), statuses[i]);
            if (statuses[i] != 204) check_slice(call->body, "no");
            assert_int_equal(call->hop_count, 1);
            assert_int_equal(script.reads, 0);
            call_free(call);
            assert_int_equal(script.releases, 1);
        }
        /* The connection waits for a body still. */
        serve(fixture, "/", answer(200, NULL, "fine"));
        call *next = call_fetch(fixture, "/");
        check_ended(next, AFC_OK);
        check_slice(next->body, "fine");
        call_free(next);
    }
}

static void status_417_repeats_without_expect(void **state) {
    fixture *fixture = *state;
    for (int own_field = 0; own_field < 2; own_field++) {
        size_t first = afts_server_stats(fixture->server).requests;
        serve_once(fixture, "/", refusal(417, NULL));
        call *call = call_putting(fixture, 10,
                                  own_field ? AFC_EXPECT_AUTOMATIC : AFC_EXPECT_ALWAYS);
        call->request.headers = own;
        call->request.header_count = (size_t)own_field;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->hops[0].status, 417);
        assert_int_equal(call->head_count, 1);
        call_free(call);
        check_seen(fixture, first, "100-continue", 0);
        check_seen(fixture, first + 1, "", 10);
    }
    /* The handle that saw the 417 asks again for the next request. */
    size_t first = afts_server_stats(fixture->server).requests;
    call *call = call_putting(fixture, 10, AFC_EXPECT_ALWAYS);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_seen(fixture, first, "100-continue", 10);
}

static void second_417_is_returned(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", refusal(417, NULL));
    call *call = call_putting(fixture, 10, AFC_EXPECT_ALWAYS);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 417);
    assert_int_equal(call->hop_count, 2);
    call_free(call);
    call = call_putting(fixture, 10, AFC_EXPECT_NEVER);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 417);
    assert_int_equal(call->hop_count, 1);
    call_free(call);
}

/** 417 after the wait, in the middle of a body that can't be had again. */
static void late_417_needs_replayable_body(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_read_body_bytes(script, 3);
    afts_respond(script, 417, "Connection: close", "no", 2);
    serve(fixture, "/", script);
    script_reader reader = {.bytes = S("0123456789"), .piece = 3, .reads_once = true};
    call *call = call_new(fixture, "/");
    call->request.method = "POST";
    call->request.expect = AFC_EXPECT_ALWAYS;
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = 10};
    call->request.body.reader = reader_of(&reader);
    call_perform(call);
    check_ended(call, AFC_EREPLAY);
    check_contains(call->failure.text, "417");
    assert_int_equal(status_of(call), 417);
    call_free(call);
}

static void refuses_invalid_expect(void **state) {
    fixture *fixture = *state;
    call *call = call_putting(fixture, 1, (afc_expect)3);
    afc_failure failure;
    afc_task *task;
    check_status(afc_task_new(&task, fixture->session, &call->request, NULL, &failure), AFC_EINVAL);
    check_contains(failure.text, "expect");
    call->request.expect = AFC_EXPECT_NEVER;
    call_perform(call);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(large_body_sends_expect_by_default),
        FIXTURE_TEST(body_of_unknown_length_sends_expect),
        FIXTURE_TEST(own_expect_field_decides),
        FIXTURE_TEST(response_that_begins_does_not_keep_the_body),
        cmocka_unit_test(silent_server_gets_the_body),
        FIXTURE_TEST(suspended_task_receives_what_comes_before_its_body),
        FIXTURE_TEST(final_response_prevents_the_body),
        FIXTURE_TEST(status_417_repeats_without_expect),
        FIXTURE_TEST(second_417_is_returned),
        FIXTURE_TEST(late_417_needs_replayable_body),
        FIXTURE_TEST(refuses_invalid_expect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
