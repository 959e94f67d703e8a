/*
 * What the server says while the request's body has nothing to send yet: an answer ends the exchange at once unless it
 * is a success, for which the body is awaited, and so does the end of the connection.
 */
#include "support/call.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/** When the test gives up; nothing else would end an exchange that waits for its body. */
enum { TOO_LATE_MS = 60000 };

static const char text[] = "the body";

/* ---- Bodies -------------------------------------------------------------------------------- */

/** Can be read once, and has nothing at first. */
typedef struct late_reader {
    atomic_bool is_open; /**< It has bytes now. */
    bool opens_itself;   /**< It has bytes when it is asked for the second time. */
    afts_server *server; /**< The first time opens the gate "asked" there. */
    bool was_asked;
    size_t position;
} late_reader;

static ptrdiff_t read_late(void *context, void *buffer, size_t size) {
    late_reader *reader = context;
    if (!reader->was_asked) (void)afts_release(reader->server, "asked", 1);
    reader->was_asked = true;
    if (!atomic_exchange(&reader->is_open, atomic_load(&reader->is_open) || reader->opens_itself))
        return AFC_READ_AGAIN;
    size_t left = strlen(text) - reader->position;
    if (size > left) size = left;
    memcpy(buffer, text + reader->position, size);
    reader->position += size;
    return (ptrdiff_t)size;
}

static call *call_reading(fixture *fixture, late_reader *reader) {
    call *call = call_new(fixture, "/");
    reader->server = fixture->server;
    call->request.method = "PUT";
    call->request.expect = AFC_EXPECT_NEVER;
    call->request.timeouts.total_ms = TOO_LATE_MS;
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){reader, read_late, NULL, NULL};
    return call;
}

typedef enum body_kind { READER, EMPTY_PIPE, SLOW, BODY_KINDS } body_kind;

/** Sends a body of that kind; the pipe stays open until the end. */
static call *send_waiting(fixture *fixture, body_kind kind) {
    late_reader reader = {false};
    int ends[2];
    call *call = call_reading(fixture, &reader);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (kind == EMPTY_PIPE) {
        call->request.body = (afc_body){.kind = AFC_BODY_FD, .length = AFC_LENGTH_UNKNOWN};
        call->request.body.descriptor = ends[0];
    } else if (kind == SLOW) {
        call_send(call, "PUT", S("a body that is sent in ten minutes"));
        call->request.max_send_bytes_per_s = 1;
    }
    call_perform(call);
    close(ends[0]);
    close(ends[1]);
    return call;
}

/** Answers with these bytes once the body was asked for, if a reader says so. */
static afts_script *early_answer(const char *bytes, bool awaits_reader) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    if (awaits_reader) afts_stall(script, "asked");
    afts_send_text(script, bytes);
    return script;
}

/* ---- Answers ------------------------------------------------------------------------------- */

typedef struct row {
    const char *answer;
    bool closes; /**< The server ends the connection then; otherwise it waits for the client to. */
    afc_status expected;
    int status;
    const char *body;
} row;

#define REFUSED "HTTP/1.1 413 Content Too Large\r\n"
#define CHUNKS "Transfer-Encoding: chunked\r\n\r\n5\r\nlarge\r\n0\r\n\r\n"

static const row rows[] = {
    {REFUSED "Content-Length: 5\r\n\r\nlarge", false, AFC_OK, 413, "large"},
    {REFUSED "Content-Length: 0\r\n\r\n", false, AFC_OK, 413, ""},
    {REFUSED "Content-Length: 5\r\nConnection: close\r\n\r\nlarge", false, AFC_OK, 413, "large"},
    {REFUSED CHUNKS, false, AFC_OK, 413, "large"},
    {REFUSED "Connection: close\r\n" CHUNKS, false, AFC_OK, 413, "large"},
    {REFUSED "\r\nlarge", true, AFC_OK, 413, "large"},
    {REFUSED "Content-Length: 9\r\n\r\nlarge", true, AFC_ETRUNCATED, 413, "large"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfine", true, AFC_OK, 200, "fine"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfine", true, AFC_ETRUNCATED, 200, "fine"},

    {REFUSED "A: b\r\n", true, AFC_EPROTOCOL, 0, ""},
    {"", true, AFC_ELOST, 0, ""},
};

static void check_row(fixture *fixture, const row *row, body_kind kind) {
    afts_script *script = early_answer(row->answer, kind == READER);
    if (row->closes) afts_half_close(script);
    afts_wait_peer_close(script);
    serve(fixture, "/", script);
    call *call = send_waiting(fixture, kind);
    check_ended(call, row->expected);
    assert_int_equal(status_of(call), row->status);
    check_slice(call->body, row->body);
    assert_int_equal(call->hop_count, 1);
    call_free(call);
}

static void ends_with_what_the_server_said(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (body_kind kind = 0; kind < BODY_KINDS; kind++) check_row(fixture, &rows[i], kind);
    }
}

static void ends_with_what_the_server_said_over_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    for (size_t i = 0; i < COUNT_OF(rows); i++) check_row(fixture, &rows[i], READER);
    fixture_free(fixture);
}

static void awaits_the_body_after_a_success(void **state) {
    fixture *fixture = *state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        afts_script *script = early_answer(answers[i], true);
        afts_read_body(script);
        serve(fixture, "/", script);
        late_reader reader = {false};
        call *call = call_reading(fixture, &reader);
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->keeps_body = true;
        call_start(call);
        call_wait_for(call, &call->body_count, 1);
        /* The loop has seen the end of the answer, if it looks for it. */
        for (int j = 0; j < 20; j++) check_fetch(fixture, "/other", AFC_OK);
        atomic_store(&reader.is_open, true);
        afc_task_wake(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        check_slice(call->body, "early");
        assert_int_equal(call->progress.sent, strlen(text));
        call_free(call);
    }
}

/* ---- Bodies that nothing was read of ------------------------------------------------------- */

static void repeats_request_whose_body_had_nothing_yet(void **state) {
    fixture *fixture = *state;
    static const char *const heads[] = {
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 307 There\r\nLocation: /\r\nContent-Length: 2\r\n\r\n->",
        ("HTTP/1.1 308 There\r\nLocation: /\r\n" CHUNKS)};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        afts_script *script = early_answer(heads[i], true);
        afts_wait_peer_close(script);
        serve(fixture, "/", answer(200, NULL, "done"));
        serve_once(fixture, "/", script);
        late_reader reader = {.opens_itself = true};
        call *call = call_reading(fixture, &reader);
        afc_credentials credentials = AFC_CREDENTIALS_INIT;
        credentials.user = "user", credentials.password = "password";
        call->request.credentials = &credentials;
        call_perform(call);
        check_ended(call, AFC_OK);
        check_slice(call->body, "done");
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->progress.sent, strlen(text));
        call_free(call);
    }
}

static void repeats_request_on_a_lost_connection_if_its_body_had_nothing_yet(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "done"));
    check_fetch(fixture, "/", AFC_OK);
    afts_script *script = early_answer("", true);
    afts_close(script);
    serve_once(fixture, "/", script);
    late_reader reader = {.opens_itself = true};
    call *call = call_reading(fixture, &reader);
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "done");
    /* By us, or by libcurl as part of the same hop. */
    assert_true(call->hops[call->hop_count - 1].is_retried);
    assert_int_equal(call->progress.sent, strlen(text));
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(ends_with_what_the_server_said),
        cmocka_unit_test(ends_with_what_the_server_said_over_tls),
        FIXTURE_TEST(awaits_the_body_after_a_success),
        FIXTURE_TEST(repeats_request_whose_body_had_nothing_yet),
        FIXTURE_TEST(repeats_request_on_a_lost_connection_if_its_body_had_nothing_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
