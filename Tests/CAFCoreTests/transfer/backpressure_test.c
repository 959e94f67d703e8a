/* What a slow consumer may cost: nothing but time, whatever the server sends. */
#include "support/call.h"

#include <stdio.h>
#include <string.h>

enum { PLENTY = 32 << 20 };

static void serve_endless_status(fixture *fixture, const char *path, int status,
                                 const char *headers) {
    static char block[16 * 1024];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 26);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, status, headers, block, sizeof block, AFTS_FOREVER);
    serve(fixture, path, script);
}

static void serve_endless(fixture *fixture, const char *path, const char *headers) {
    serve_endless_status(fixture, path, 200, headers);
}

static call *start_events(fixture *fixture, const char *path,
                          afc_status (*at_body)(call *, afc_slice)) {
    call *call = call_new(fixture, path);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = at_body;
    call_start(call);
    return call;
}

/**
 * Other tasks run to their end meanwhile, so the loop has had every chance to read on, until the server is sending only
 * what these get; it must never have got rid of more than buffers hold.
 */
static void check_bounded(fixture *fixture, const call *held) {
    enum { OF_OTHERS = 64 * 1024 };
    uint64_t before, sent = 0;
    do {
        before = sent;
        for (int i = 0; i < 50; i++) check_fetch(fixture, "/other", AFC_OK);
        sent = afts_server_stats(fixture->server).sent;
        assert_true(sent <= atomic_load(&held->taken) + buffered_at_most());
    } while (sent - before > OF_OTHERS);
}

static void paused_body_stops_the_server(void **state) {
    fixture *fixture = *state;
    serve_endless(fixture, "/endless", NULL);
    call *call = start_events(fixture, "/endless", call_hold);
    call_wait_for(call, &call->refused_count, 1);
    check_bounded(fixture, call);
    assert_int_equal(atomic_load(&call->refused_count), 1);
    for (unsigned i = 2; i < 20; i++) {
        afc_task_wake(call->task);
        call_wait_for(call, &call->refused_count, i);
    }
    assert_int_equal(atomic_load(&call->taken), 0);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static afc_challenge_decision ask_user(void *context, const afc_challenge *challenge,
                                       afc_credentials *credentials) {
    (void)context, (void)challenge, (void)credentials;
    return AFC_CHALLENGE_LATER;
}

/** A user may take minutes to type a password. */
static void challenge_that_waits_for_its_answer_stops_the_server(void **state) {
    fixture *fixture = *state;
    serve_endless_status(fixture, "/endless", 401, "WWW-Authenticate: Basic realm=x");
    call *call = call_new(fixture, "/endless");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->events.on_challenge = ask_user;
    call_start(call);
    check_bounded(fixture, call);
    assert_int_equal(atomic_load(&call->taken), 0);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/** What a reader has refused, which it must get again as it was. */
typedef struct refused_piece {
    char bytes[16 * 1024];
    size_t size;      /**< 0: nothing. */
    size_t repeats;   /**< How often a piece came again, */
    size_t differing; /**< and how often as another one. */
} refused_piece;

/** Refuses each piece once. */
static afc_status refuse_each(call *call, afc_slice chunk) {
    refused_piece *refused = call->payload;
    if (refused->size == 0) {
        memcpy(refused->bytes, chunk.bytes, chunk.size);
        refused->size = chunk.size;
        afc_task_wake(call->task);
        return AFC_EAGAIN;
    }
    refused->repeats++;
    bool is_same = chunk.size == refused->size &&
                   memcmp(chunk.bytes, refused->bytes, chunk.size) == 0;
    if (!is_same) refused->differing++;
    refused->size = 0;
    return AFC_OK;
}

/** Refuses the first piece once, and ends the task when it comes again. */
static afc_status refuse_and_fail(call *call, afc_slice chunk) {
    (void)chunk;
    if (atomic_load(&call->refused_count) > 0) return AFC_EFILE;
    afc_task_wake(call->task);
    return AFC_EAGAIN;
}

/** The server sends nothing more, so only the callback can end the task. */
static void error_after_a_pause_ends_the_task(void **state) {
    fixture *fixture = *state;
    static const char *const fields[] = {"Content-Length: 9\r\n\r\nhello",
                                         "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, text_of(fixture, "HTTP/1.1 200 OK\r\n%s", fields[i]));
        afts_stall(script, "never");
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->at_body = refuse_and_fail;
        call_perform(call);
        check_ended(call, AFC_EFILE);
        assert_int_equal(atomic_load(&call->taken), 0);
        call_free(call);
    }
}

/** Small chunks that arrive together, which libcurl joins while it is paused. */
static void refused_piece_comes_again_as_it_was(void **state) {
    fixture *fixture = *state;
    enum { CHUNKS = 200 };
    static const char *const codings[] = {"Transfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: chunked\r\nX-Padded: yes\r\n"};
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        static char sent[64 * 1024], body[64 * 1024];
        size_t size = 0, body_size = 0, padding = i == 0 ? 0 : 120;
        size += (size_t)snprintf(sent, sizeof sent, "HTTP/1.1 200 OK\r\n%s\r\n", codings[i]);
        for (int n = 0; n < CHUNKS; n++) {
            char text[160];
            int length = snprintf(text, sizeof text, "%d.%*s", n, (int)padding, "");
            memcpy(body + body_size, text, (size_t)length);
            body_size += (size_t)length;
            size += (size_t)snprintf(sent + size, sizeof sent - size, "%x\r\n%s\r\n", length, text);
        }
        size += (size_t)snprintf(sent + size, sizeof sent - size, "0\r\n\r\n");
        afts_script *script = afts_script_new();
        afts_send(script, sent, size);
        serve(fixture, "/chunks", script);
        static refused_piece refused;
        refused = (refused_piece){.size = 0};
        call *call = call_new(fixture, "/chunks");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->keeps_body = true;
        call->at_body = refuse_each;
        call->payload = &refused;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_true(refused.repeats >= 2);
        assert_int_equal(refused.differing, 0);
        assert_int_equal(call->body.size, body_size);
        assert_memory_equal(call->body.bytes, body, body_size);
        call_free(call);
    }
}

/** The server sends all of it and closes while the body is not read: the end is no reason to lose what is held. */
static void paused_body_is_complete_after_its_connection_ended(void **state) {
    fixture *fixture = *state;
    static char bytes[100 * 1000];
    static const size_t sizes[] = {1, 552, 20000, sizeof bytes};
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < COUNT_OF(sizes) * 5; i++) {
        size_t size = sizes[i % COUNT_OF(sizes)];
        afts_script *script = afts_script_new();
        afts_send_text(script, "HTTP/1.1 200 OK\r\n\r\n");
        afts_send(script, bytes, size);
        afts_close(script);
        serve(fixture, "/", script);
        atomic_uint permits = 0;
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->at_body = call_take_one;
        call->keeps_body = true;
        call->payload = &permits;
        call_start(call);
        call_wait_for(call, &call->refused_count, 1);
        for (int n = 0; n < 10; n++) check_fetch(fixture, "/other", AFC_OK);
        assert_int_equal(atomic_load(&call->done_count), 0);
        atomic_store(&permits, 1000000);
        afc_task_wake(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, size);
        assert_memory_equal(call->body.bytes, bytes, size);
        call_free(call);
    }
}

/** One piece per wake: libcurl 8.8.0 to 8.14.1 would read more each time, until its buffer has no more room. */
static void check_slow_consumer(fixture *fixture, bool keeps_encoding) {
    enum { PIECES = 1000 };
    atomic_uint permits = 0;
    call *call = call_new(fixture, "/endless");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->request.keep_encoding = keeps_encoding;
    call->at_body = call_take_one;
    call->keeps_body = true;
    call->payload = &permits;
    call_start(call);
    for (unsigned i = 1; i <= PIECES; i++) {
        call_wait_for(call, &call->refused_count, i);
        atomic_fetch_add(&permits, 1);
        afc_task_wake(call->task);
    }
    call_wait_for(call, &call->refused_count, PIECES + 1);
    assert_true(atomic_load(&call->taken) > 0);
    check_bounded(fixture, call);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    for (size_t i = 0; i < call->body.size; i++) {
        assert_int_equal(call->body.bytes[i], 'a' + i % (16 * 1024) % 26);
    }
    call_free(call);
}

static void slow_consumer_gets_each_byte(void **state) {
    serve_endless(*state, "/endless", NULL);
    check_slow_consumer(*state, false);
}

static void slow_consumer_of_kept_encoding_gets_each_byte(void **state) {
    serve_endless(*state, "/endless", NULL);
    check_slow_consumer(*state, true);
}

/** The body is cut while its reader is slow: everything that was received comes before the failure. */
static void slow_consumer_gets_all_of_a_cut_body(void **state) {
    enum { SIZE = 700 * 1000 };
    fixture *fixture = *state;
    static char bytes[SIZE];
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i * 31 + i / 251);
    for (int variant = 0; variant < 4; variant++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 800000\r\n\r\n");
        afts_send(script, bytes, SIZE);
        afts_close(script);
        serve(fixture, "/cut", script);
        call *call = call_new(fixture, "/cut");
        if (variant >= 2) call_send(call, "POST", S("a body that is sent long before"));
        call->request.keep_encoding = variant % 2 == 1;
        call_perform_with_refusals(call);
        check_ended(call, AFC_ETRUNCATED);
        assert_int_equal(call->body.size, SIZE);
        assert_memory_equal(call->body.bytes, bytes, SIZE);
        call_free(call);
    }
}

static void suspended_task_stops_the_server(void **state) {
    fixture *fixture = *state;
    serve_endless(fixture, "/endless", NULL);
    call *call = start_events(fixture, "/endless", NULL);
    call_wait_for(call, &call->body_count, 1);
    afc_task_suspend(call->task);
    check_fetch(fixture, "/other", AFC_OK); /* Whatever was being delivered has been by now. */
    unsigned before = atomic_load(&call->body_count);
    check_bounded(fixture, call);
    afc_task_wake(call->task);
    check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(atomic_load(&call->body_count), before);
    afc_task_resume(call->task);
    call_wait_for(call, &call->body_count, before + 10);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static afc_redirect_decision suspend_at(call *call, afc_redirect *redirect) {
    (void)redirect;
    afc_task_suspend(call->task);
    return AFC_REDIRECT_FOLLOW;
}

static void suspended_task_starts_no_further_hop(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/here", answer(302, "Location: /there", ""));
    serve(fixture, "/there", answer(200, NULL, "there"));
    call *call = call_new(fixture, "/here");
    call->at_redirect = suspend_at;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_start(call->task);
    call_wait_for(call, &call->redirect_count, 1);
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).requests, 21);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "there");
    call_free(call);
}

static void resuming_task_keeps_its_body_paused(void **state) {
    fixture *fixture = *state;
    serve_endless(fixture, "/endless", NULL);
    call *call = start_events(fixture, "/endless", call_hold);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(atomic_load(&call->refused_count), 1);
    afc_task_suspend(call->task);
    afc_task_wake(call->task);
    check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(atomic_load(&call->refused_count), 1);
    afc_task_resume(call->task);
    call_wait_for(call, &call->refused_count, 2);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/* ---- Waking -------------------------------------------------------------------------------- */

typedef struct waking {
    atomic_uint count;
    /** How often on_body had been refused when on_wake came last. */
    atomic_uint refused_before;
} waking;

static void note_wake(void *context) {
    call *call = context;
    waking *waking = call->payload;
    atomic_store(&waking->refused_before, atomic_load(&call->refused_count));
    atomic_fetch_add(&waking->count, 1);
}

static void wake_is_reported_before_the_body_continues(void **state) {
    fixture *fixture = *state;
    serve_endless(fixture, "/endless", NULL);
    waking waking = {0};
    call *call = call_new(fixture, "/endless");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = call_hold;
    call->events.on_wake = note_wake;
    call->payload = &waking;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    assert_int_equal(atomic_load(&waking.count), 0);
    for (unsigned i = 1; i < 20; i++) {
        afc_task_wake(call->task);
        call_wait_for(call, &call->refused_count, i + 1);
        assert_int_equal(atomic_load(&waking.count), i);
        assert_int_equal(atomic_load(&waking.refused_before), i);
    }
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static afc_status wake_myself(call *call, afc_slice chunk) {
    (void)chunk;
    afc_task_wake(call->task);
    return AFC_OK;
}

static void wake_inside_the_callback_needs_no_more_body(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "12345", 5);
    afts_stall(script, "rest");
    afts_chunk(script, "67890", 5);
    afts_last_chunk(script, NULL);
    serve(fixture, "/halves", script);
    waking waking = {0};
    call *call = call_new(fixture, "/halves");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = wake_myself;
    call->events.on_wake = note_wake;
    call->keeps_body = true;
    call->payload = &waking;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_start(call->task);
    call_wait_for(call, &call->body_count, 1);
    check_fetch(fixture, "/other", AFC_OK); /* Whatever was posted has been taken by now. */
    assert_int_equal(atomic_load(&waking.count), 1);
    afts_release(fixture->server, "rest", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "1234567890");
    call_free(call);
}

/* ---- Both directions at once --------------------------------------------------------------- */

static ptrdiff_t read_nothing(void *context, void *buffer, size_t size) {
    (void)buffer, (void)size;
    call *call = context;
    return atomic_load(&call->taken) < 10 ? AFC_READ_AGAIN : AFC_READ_END;
}

static afc_status wake_at_end(call *call, afc_slice chunk) {
    (void)chunk;
    if (atomic_load(&call->taken) + chunk.size == 10) afc_task_wake(call->task);
    return AFC_OK;
}

static void response_arrives_while_the_request_body_waits(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "12345", 5);
    afts_stall(script, "half");
    afts_chunk(script, "67890", 5);
    afts_read_body(script);
    afts_last_chunk(script, NULL);
    serve(fixture, "/both", script);
    call *call = call_new(fixture, "/both");
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){call, read_nothing, NULL, NULL};
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = wake_at_end;
    call->keeps_body = true;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_start(call->task);
    call_wait_for(call, &call->body_count, 1);
    /* A body held by the suspension must move on afterwards, although the reader still waits. */
    afc_task_suspend(call->task);
    afts_release(fixture->server, "half", 1);
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "1234567890");
    call_free(call);
}

/* ---- Uploads ------------------------------------------------------------------------------- */

typedef struct endless {
    atomic_uint_fast64_t produced;
} endless;

static ptrdiff_t read_endless(void *context, void *buffer, size_t size) {
    memset(buffer, 'u', size);
    atomic_fetch_add(&((endless *)context)->produced, size);
    return (ptrdiff_t)size;
}

static void server_that_does_not_read_stops_the_reader(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "deaf");
    serve(fixture, "/deaf", script);
    endless source = {0};
    call *call = call_new(fixture, "/deaf");
    call->request.method = "PUT";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){&source, read_endless, NULL, NULL};
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "deaf", 1, PATIENCE_MS));
    for (int i = 0; i < 50; i++) check_fetch(fixture, "/other", AFC_OK);
    assert_true(atomic_load(&source.produced) <= PLENTY);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(paused_body_stops_the_server),
        FIXTURE_TEST(challenge_that_waits_for_its_answer_stops_the_server),
        FIXTURE_TEST(error_after_a_pause_ends_the_task),
        FIXTURE_TEST(refused_piece_comes_again_as_it_was),
        FIXTURE_TEST(paused_body_is_complete_after_its_connection_ended),
        FIXTURE_TEST(slow_consumer_gets_each_byte),
        FIXTURE_TEST(slow_consumer_of_kept_encoding_gets_each_byte),
        FIXTURE_TEST(slow_consumer_gets_all_of_a_cut_body),
        FIXTURE_TEST(suspended_task_stops_the_server),
        FIXTURE_TEST(suspended_task_starts_no_further_hop),
        FIXTURE_TEST(resuming_task_keeps_its_body_paused),
        FIXTURE_TEST(wake_is_reported_before_the_body_continues),
        FIXTURE_TEST(wake_inside_the_callback_needs_no_more_body),
        FIXTURE_TEST(response_arrives_while_the_request_body_waits),
        FIXTURE_TEST(server_that_does_not_read_stops_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
