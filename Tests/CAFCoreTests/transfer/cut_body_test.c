/* A body that is cut short: what was received of it stays in the result, beside the failure. */
#include "support/caching_fixture.h"
#include "support/files.h"
#include "support/h2.h"
#include "support/pieces.h"
#include "transfer/result.h"

#include <stdlib.h>
#include <string.h>

/** "hello" as one stored block (RFC 1951 3.2.4), without the end of the stream. */
static const char cut_zlib[] = "\x78\x01\0\x05\0\xFA\xFFhello";

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n"
#define DEFLATE "Content-Encoding: deflate\r\n"

typedef struct row {
    const char *head;
    afc_slice rest; /**< What follows the head until the connection ends. */
    bool resets;
    afc_status expected;
    const char *body;
} row;

static const row rows[] = {
    {OK "Content-Length: 10\r\n\r\n", S_INIT("hello"), false, AFC_ETRUNCATED, "hello"},
    {OK "Content-Length: 10\r\n\r\n", S_INIT(""), false, AFC_ETRUNCATED, ""},
    {OK "Content-Length: 10\r\n\r\n", S_INIT("hello"), true, AFC_ELOST, "hello"},
    {CHUNKED "\r\n", S_INIT("5\r\nhello\r\n"), false, AFC_ETRUNCATED, "hello"},
    {CHUNKED "\r\n", S_INIT("5\r\nhello\r\n0\r\n"), false, AFC_ETRUNCATED, "hello"},
    {CHUNKED "\r\n", S_INIT("5\r\nhel"), false, AFC_ETRUNCATED, "hel"},
    {CHUNKED "\r\n", S_INIT("5\r\nhello\r\nno chunk\r\n"), false, AFC_EPROTOCOL, "hello"},
    {OK DEFLATE "Content-Length: 99\r\n\r\n",
     {cut_zlib, sizeof cut_zlib - 1},
     false,
     AFC_ETRUNCATED,
     "hello"},
    {"HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n", S_INIT("none"), false, AFC_ETRUNCATED,
     "none"},
    /* Not of a body: the head is refused. */
    {OK "Content-Length: x\r\n\r\n", S_INIT("hello"), false, AFC_EPROTOCOL, ""},
};

static void serve_row(fixture *fixture, const row *row, size_t piece) {
    afts_script *script = afts_script_new();
    afts_send_text(script, row->head);
    if (row->rest.size > 0) afts_send_crumbs(script, row->rest.bytes, row->rest.size, piece, 0);
    if (row->resets) {
        afts_stall(script, "all");
        afts_reset(script);
    } else {
        afts_close(script);
    }
    serve(fixture, "/", script);
}

/** Counts in `refused_count`: has the body arrived? A reset would discard what the client hasn't read yet. */
static void note_progress(void *context, const afc_progress *progress) {
    call *call = context;
    pthread_mutex_lock(&call->lock);
    if (progress->received > 0) atomic_fetch_add(&call->refused_count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static call *start(fixture *fixture, const char *path) {
    call *call = call_new(fixture, path);
    call->events.on_progress = note_progress;
    call_start(call);
    return call;
}

static void body_received_before_the_cut_is_kept(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FOR_EACH_PIECE_SIZE(piece) {
            if (rows[i].resets && piece < rows[i].rest.size) continue;
            serve_row(fixture, &rows[i], piece);
            call *call = start(fixture, "/");
            if (rows[i].resets) {
                call_wait_for(call, &call->refused_count, 1);
                afts_release(fixture->server, "all", 1);
            }
            call_wait(call);
            check_ended(call, rows[i].expected);
            check_slice(call->body, rows[i].body);
            assert_int_equal(afc_result_get_body_size(call->result), call->body.size);
            afc_bytes taken = afc_result_take_body(call->result);
            check_slice(((afc_slice){taken.bytes, taken.size}), rows[i].body);
            afc_free(taken.bytes);
            call_free(call);
        }
    }
}

static void large_body_received_before_the_cut_is_kept(void **state) {
    fixture *fixture = *state;
    enum { RECEIVED = 300000 };
    char *body = malloc(RECEIVED);
    assert_non_null(body);
    for (size_t i = 0; i < RECEIVED; i++) body[i] = (char)(i * 31 + i / 251);
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, NULL, body, RECEIVED, 50000000);
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(call->body.size, RECEIVED);
    assert_memory_equal(call->body.bytes, body, RECEIVED);
    call_free(call);
    free(body);
}

static void body_received_before_a_time_limit_is_kept(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, OK "Content-Length: 10\r\n\r\nhello");
    afts_stall(script, "rest");
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.timeouts.idle_ms = 500;
    call_perform(call);
    check_ended(call, AFC_ETIMEOUT);
    check_slice(call->body, "hello");
    call_free(call);
}

/* ---- Ended by this side -------------------------------------------------------------------- */

static const char long_body[5000];

static afc_status refuse_head(call *call, afc_response *response) {
    (void)call;
    (void)response;
    return AFC_ECANCELED;
}

static afc_challenge_decision refuse_challenge(void *context, const afc_challenge *challenge,
                                               afc_credentials *credentials) {
    (void)context;
    (void)challenge;
    (void)credentials;
    return AFC_CHALLENGE_CANCEL;
}

/** Whether libcurl counts the bytes of an encoded body only after the next read: then its progress doesn't tell. */
static bool counts_late(void) {
    return libcurl_is_at_least(8, 5);
}

/** Cancels the call once the start of its body has arrived. */
static void cancel_in_body(call *call) {
    call_wait_for(call, &call->refused_count, 1);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
}

static void body_received_before_a_cancel_is_kept(void **state) {
    fixture *fixture = *state;
    static const row cancelled[] = {
        {.head = OK "Content-Length: 10\r\n\r\n", .rest = S_INIT("hello"), .body = "hello"},
        {.head = CHUNKED "\r\n", .rest = S_INIT("5\r\nhello\r\n"), .body = "hello"},
        {.head = OK DEFLATE "Content-Length: 99\r\n\r\n",
         .rest = {cut_zlib, sizeof cut_zlib - 1},
         .body = "hello"},
        {.head = "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n",
         .rest = S_INIT("none"),
         .body = "none"},
    };
    for (size_t i = 0; i < COUNT_OF(cancelled); i++) {
        if (cancelled[i].rest.bytes == cut_zlib && counts_late()) continue;
        afts_script *script = afts_script_new();
        afts_send_text(script, cancelled[i].head);
        afts_send(script, cancelled[i].rest.bytes, cancelled[i].rest.size);
        afts_stall(script, "rest");
        serve(fixture, "/", script);
        call *call = start(fixture, "/");
        cancel_in_body(call);
        check_slice(call->body, cancelled[i].body);
        assert_int_equal(afc_result_get_body_size(call->result), call->body.size);
        call_free(call);
    }
}

/** The body that a FILE sink doesn't save is in memory; the one that it saves isn't. */
static void cancelled_download_keeps_only_an_error_body(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    for (int is_found = 0; is_found <= 1; is_found++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, is_found ? OK : "HTTP/1.1 404 Not Found\r\n");
        afts_send_text(script, "Content-Length: 10\r\n\r\nhello");
        afts_stall(script, "rest");
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "file")};
        call->events.on_progress = note_progress;
        call_start(call);
        cancel_in_body(call);
        check_slice(call->body, is_found ? "" : "hello");
        call_free(call);
    }
    assert_int_equal(count_files(&folder), 0);
    folder_remove(&folder);
}

/** All tasks of a session are cancelled at once, which sets no flag of theirs. */
static void body_received_before_the_session_is_cancelled_is_kept(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, OK "Content-Length: 10\r\n\r\nhello");
    afts_stall(script, "rest");
    serve(fixture, "/", script);
    call *call = start(fixture, "/");
    call_wait_for(call, &call->refused_count, 1);
    afc_session_cancel_all(fixture->session);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    check_slice(call->body, "hello");
    call_free(call);
}

static void body_that_exceeds_a_limit_is_not_kept(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, CHUNKED "\r\n5\r\nhello\r\n");
    afts_stall(script, "rest");
    afts_send_text(script, "5\r\nworld\r\n0\r\n\r\n");
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.limits.body_bytes = 7;
    call->events.on_progress = note_progress;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afts_release(fixture->server, "rest", 1);
    call_wait(call);
    check_ended(call, AFC_ETOOBIG);
    assert_int_equal(call->body.size, 0);
    call_free(call);
}

/** The body is received together with the head that is refused, so it could be taken by mistake. */
static void body_of_a_refused_response_is_not_kept(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/head", answer(200, NULL, "hello"));
    serve(fixture, "/challenge", answer(401, "WWW-Authenticate: Basic realm=\"r\"", "hello"));
    for (int is_challenge = 0; is_challenge <= 1; is_challenge++) {
        call *call = call_new(fixture, is_challenge ? "/challenge" : "/head");
        call->at_head = refuse_head;
        if (is_challenge) call->events.on_challenge = refuse_challenge;
        call_perform(call);
        check_ended(call, AFC_ECANCELED);
        assert_int_equal(call->body.size, 0);
        call_free(call);
    }
}

static void body_that_was_cut_short_holds_no_reserved_memory(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, NULL, long_body, sizeof long_body, 50000000);
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(call->body.size, sizeof long_body);
    assert_int_equal(call->result->body.capacity, sizeof long_body);
    call_free(call);
}

static void only_what_a_file_sink_does_not_save_is_kept(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_text(fixture, "/found", OK "Content-Length: 10\r\n\r\nhello");
    serve_text(fixture, "/missing", "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nnone");
    for (int is_found = 0; is_found <= 1; is_found++) {
        call *call = call_new(fixture, is_found ? "/found" : "/missing");
        call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "file")};
        call_perform(call);
        check_ended(call, AFC_ETRUNCATED);
        check_slice(call->body, is_found ? "" : "none");
        call_free(call);
    }
    assert_int_equal(count_files(&folder), 0);
    folder_remove(&folder);
}

/* ---- HTTP/2 -------------------------------------------------------------------------------- */

typedef struct reset {
    bool is_encoded;
    uint32_t code; /**< Error code of RST_STREAM. */
    afc_status expected;
} reset;

static void serve_reset(afts_conn *conn, const struct afts_request *request, void *payload) {
    const reset *reset = payload;
    h2_peer *peer = malloc(sizeof *peer);
    (void)request;
    if (peer != NULL && h2_begin(peer, conn)) {
        uint32_t stream = h2_read_request(peer);
        /* :status 200, and content-encoding: deflate by its name's place in the static table (RFC 7541). */
        static const uint8_t head[] = "\x88\x0F\x0B\x07"
                                      "deflate";
        size_t head_size = reset->is_encoded ? sizeof head - 1 : 1;
        const char *body = reset->is_encoded ? cut_zlib : "hello";
        size_t size = reset->is_encoded ? sizeof cut_zlib - 1 : 5;
        if (stream != 0 && h2_send(peer, H2_HEADERS, H2_END_HEADERS, stream, head, head_size) &&
            h2_send(peer, H2_DATA, 0, stream, body, size)) {
            h2_send_reset(peer, stream, reset->code);
        }
        (void)h2_read_request(peer);
    }
    free(peer);
}

static void body_received_before_the_reset_of_its_stream_is_kept(void **state) {
    (void)state;
    static const reset resets[] = {
        {false, H2_INTERNAL_ERROR, AFC_ETRUNCATED},
        {false, H2_CANCEL, AFC_ETRUNCATED},
        {true, H2_INTERNAL_ERROR, AFC_ETRUNCATED},
        {false, 1 /* PROTOCOL_ERROR */, AFC_EPROTOCOL},
    };
    for (size_t i = 0; i < COUNT_OF(resets); i++) {
        reset reset = resets[i];
        fixture *fixture = h2_fixture(NULL);
        h2_serve(fixture, serve_reset, &reset, H2_CLOSE);
        call *call = call_fetch(fixture, "/");
        check_ended(call, reset.expected);
        check_slice(call->body, "hello");
        call_free(call);
        fixture_free(fixture);
    }
}

/** How a body without Content-Length ends. */
typedef enum h2_body_end { ORDERLY, BROKEN_FRAME } h2_body_end;

static void serve_fresh(afts_conn *conn, const struct afts_request *request, void *payload) {
    const h2_body_end *end = payload;
    h2_peer *peer = malloc(sizeof *peer);
    (void)request;
    if (peer != NULL && h2_begin(peer, conn)) {
        uint32_t stream = h2_read_request(peer);
        /* :status 200, and cache-control by its name's place in the static table (RFC 7541). */
        static const uint8_t head[] = "\x88\x0F\x09\x0C"
                                      "max-age=1000";
        uint8_t flags = *end == ORDERLY ? H2_END_STREAM : 0;
        if (stream != 0 &&
            h2_send(peer, H2_HEADERS, H2_END_HEADERS, stream, head, sizeof head - 1) &&
            h2_send(peer, H2_DATA, flags, stream, "hello", 5) && *end == BROKEN_FRAME) {
            /* It has eight bytes (RFC 9113 6.7). */
            h2_send(peer, H2_PING, 0, 0, "1234567", 7);
        }
        (void)h2_read_request(peer);
    }
    free(peer);
}

/** libcurl before 8.1.0 takes it for whole. */
static void body_of_a_broken_connection_is_not_stored(void **state) {
    (void)state;
    static const h2_body_end ends[] = {ORDERLY, BROKEN_FRAME};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        h2_body_end end = ends[i];
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        check_status(afc_http_cache_open(&options.http_cache, NULL, NULL), AFC_OK);
        fixture *fixture = h2_fixture(&options);
        h2_serve(fixture, serve_fresh, &end, H2_CLOSE);
        for (size_t k = 0; k < 2; k++) {
            call *call = call_fetch(fixture, "/");
            bool fails = end == BROKEN_FRAME && h2_multiplexes();
            if (!fails) check_ended(call, AFC_OK);
            assert_int_equal(call->failure.status == AFC_OK, !fails);
            check_slice(call->body, "hello");
            bool is_hit = end == ORDERLY && k == 1;
            assert_int_equal(cache_use_of(call), is_hit ? AFC_CACHE_USE_HIT : AFC_CACHE_USE_UNUSED);
            call_free(call);
        }
        fixture_free(fixture);
        afc_http_cache_release(options.http_cache);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(body_received_before_the_cut_is_kept),
        FIXTURE_TEST(large_body_received_before_the_cut_is_kept),
        FIXTURE_TEST(body_received_before_a_time_limit_is_kept),
        FIXTURE_TEST(body_received_before_a_cancel_is_kept),
        FIXTURE_TEST(cancelled_download_keeps_only_an_error_body),
        FIXTURE_TEST(body_received_before_the_session_is_cancelled_is_kept),
        FIXTURE_TEST(body_that_exceeds_a_limit_is_not_kept),
        FIXTURE_TEST(body_of_a_refused_response_is_not_kept),
        FIXTURE_TEST(body_that_was_cut_short_holds_no_reserved_memory),
        FIXTURE_TEST(only_what_a_file_sink_does_not_save_is_kept),
        cmocka_unit_test(body_received_before_the_reset_of_its_stream_is_kept),
        cmocka_unit_test(body_of_a_broken_connection_is_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
