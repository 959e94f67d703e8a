/*
 * A body that never ends to come leaves the loop to others: after a few milliseconds its exchange waits for the next
 * turn. Here every piece takes longer than that, so that the number of turns doesn't depend on the machine.
 */
#include "support/call.h"
#include "support/h2.h"
#include "support/recorded_socket.h"
#include "support/stored_blocks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* More than libcurl reads before it returns, if it isn't paused: 64 pieces of 16 KiB. */
enum { PIECE = 16 * 1024, PIECES = 64, SIZE = PIECES * PIECE, SLOW_US = 6000 };

/* ---- Slow readers --------------------------------------------------------------------------- */

typedef struct slow {
    uint64_t first_turn,
        last_turn; /**< Turns of the session's loop at the first and the last piece. */
    uint64_t pieces;
} slow;

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/** Takes as long as a peer's many small pieces would. */
static void be_slow(slow *slow, const afc_session *session) {
    afc_session_statistics statistics;
    afc_session_get_statistics(session, &statistics);
    if (slow->pieces++ == 0) slow->first_turn = statistics.turns;
    slow->last_turn = statistics.turns;
    int64_t end = now_us() + SLOW_US;
    while (now_us() < end) {}
}

/**
 * At most a piece for the time, the one that exceeds it, and the same once more after the resumption; newer versions of
 * libcurl pass on a few more that they had decoded.
 */
static void check_turns(const slow *slow) {
    assert_true(slow->pieces >= PIECES / 2);
    uint64_t in_one_turn = libcurl_is_at_least(8, 5) ? 8 : 5;
    assert_in_range(slow->last_turn - slow->first_turn, slow->pieces / in_one_turn, UINT64_MAX);
}

/** The reader whose reads from sockets are slow; NULL: no reads are. */
static _Atomic(slow *) slow_reader;
static afc_session *slow_session;

static void slow_reads(slow *slow, afc_session *session) {
    slow_session = session;
    atomic_store(&slow_reader, slow);
}

static bool is_loop_thread(void) {
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "af-loop") == 0;
}

static ssize_t (*real_recv)(int, void *, size_t, int);

static __attribute__((constructor)) void find_real_recv(void) {
    *(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
}

/** Takes the place of the C library's for libcurl, too. */
ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
    slow *slow = atomic_load(&slow_reader);
    if (slow != NULL && is_loop_thread()) be_slow(slow, slow_session);
    return real_recv(descriptor, bytes, size, flags);
}

static char *pattern_of(size_t size) {
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 7 + (i >> 12));
    return bytes;
}

/* ---- Responses ------------------------------------------------------------------------------ */

static afc_status take_slowly(call *call, afc_slice chunk) {
    (void)chunk;
    be_slow(call->payload, call->session);
    return AFC_OK;
}

static void check_body(call *call, const char *expected) {
    slow slow = {0};
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->keeps_body = true;
    call->at_body = take_slowly;
    call->payload = &slow;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, SIZE);
    assert_memory_equal(call->body.bytes, expected, SIZE);
    call_free(call);
    check_turns(&slow);
}

static void body_yields_and_arrives_whole(void **state) {
    fixture *fixture = *state;
    char *bytes = pattern_of(SIZE);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "", bytes, SIZE);
    serve(fixture, "/", script);
    check_body(call_new(fixture, "/"), bytes);
    free(bytes);
}

static void chunks_yield_and_arrive_whole(void **state) {
    fixture *fixture = *state;
    char *bytes = pattern_of(SIZE);
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, "");
    for (size_t i = 0; i < SIZE; i += PIECE / 2) afts_chunk(script, bytes + i, PIECE / 2);
    afts_last_chunk(script, "");
    serve(fixture, "/", script);
    check_body(call_new(fixture, "/"), bytes);
    free(bytes);
}

static void body_over_tls_yields_and_arrives_whole(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("http/1.1", NULL);
    char *bytes = pattern_of(SIZE);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "", bytes, SIZE);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    check_body(call, bytes);
    fixture_free(fixture);
    free(bytes);
}

static void decoded_body_yields_and_arrives_whole(void **state) {
    fixture *fixture = *state;
    size_t size;
    char *bytes = pattern_of(SIZE);
    char *encoded = stored_blocks(STORED_ZLIB, bytes, SIZE, PIECE, &size);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: deflate", encoded, size);
    serve(fixture, "/", script);
    check_body(call_new(fixture, "/"), bytes);
    free(encoded);
    free(bytes);
}

/** What one read becomes can be any number of pieces, between which others come. */
static void pieces_of_one_read_yield_and_arrive_whole(void **state) {
    fixture *fixture = *state;
    /* 1 MiB of zeros, made by libbrotlienc. */
    static const char encoded[] = "\x5B\xFF\xFF\x0F\x40\x02\x20\x1E\x0B\x24\xF7\xFE\x01";
    char *zeros = calloc(1, SIZE);
    assert_non_null(zeros);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: br", encoded, sizeof encoded - 1);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.limits.decoding_ratio = UINT32_MAX;
    check_body(call, zeros);
    free(zeros);
}

/* ---- WebSockets ----------------------------------------------------------------------------- */

typedef struct messages {
    slow slow;
    afc_session *session;
    const char *expected;
} messages;

static afc_status take_message(recorded_socket *socket, const afc_websocket_message *message) {
    messages *messages = socket->payload;
    const char *expected = messages->expected + messages->slow.pieces * (PIECE - 4);
    be_slow(&messages->slow, messages->session);
    bool is_next = message->bytes.size == PIECE - 4 &&
                   memcmp(message->bytes.bytes, expected, PIECE - 4) == 0;
    return is_next ? AFC_OK : AFC_EINTERNAL;
}

/** They follow the head at once, and so are read by libcurl; and the connection ends behind them. */
static void messages_yield_and_arrive_before_the_end(void **state) {
    fixture *fixture = *state;
    char *bytes = pattern_of(SIZE);
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    for (size_t i = 0; i < PIECES; i++) {
        static const char head[] = {'\x82', 126, (PIECE - 4) >> 8, (char)(PIECE - 4)};
        afts_send(script, head, sizeof head);
        afts_send(script, bytes + i * (PIECE - 4), PIECE - 4);
    }
    afts_close(script);
    serve(fixture, "/", script);
    messages messages = {.session = fixture->session, .expected = bytes};
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = &messages;
    socket->at_message = take_message;
    socket_open(socket, fixture);
    socket_wait(socket);
    assert_int_equal(atomic_load(&socket->message_count), PIECES);
    check_status(socket->failure.status, AFC_ELOST);
    socket_free(socket);
    check_turns(&messages.slow);
    free(bytes);
}

/* ---- Frames --------------------------------------------------------------------------------- */

enum { FRAMES = 256 * 1024, FRAME_SIZE = 9, UNKNOWN_TYPE = 0x42 };

/** From 8.15.0, libcurl reads up to four records of TLS at once. */
static size_t frame_count(void) {
    return libcurl_is_at_least(8, 15) ? (size_t)4 * FRAMES : FRAMES;
}

/** Sends frames without content, which mean nothing to libcurl (RFC 9113 4.1), and only then the response. */
static void send_empty_frames(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request, (void)payload;
    h2_peer *peer = malloc(sizeof *peer);
    size_t count = frame_count();
    unsigned char *frames = calloc(count, FRAME_SIZE);
    uint32_t stream = peer != NULL && frames != NULL && h2_begin(peer, conn) ? h2_read_request(peer)
                                                                             : 0;
    if (stream != 0) {
        for (size_t i = 0; i < count; i++) frames[i * FRAME_SIZE + 3] = UNKNOWN_TYPE;
        (void)afts_conn_send(conn, frames, count * FRAME_SIZE);
        (void)h2_send_head(peer, stream, 200, H2_END_STREAM);
        while (h2_read(peer)) {}
    }
    free(frames);
    free(peer);
}

/** libcurl makes no callback for them, and would read on for as long as there are some. */
static void empty_frames_yield(void **state) {
    (void)state;
    fixture *fixture = h2_fixture(NULL);
    slow slow = {0};
    h2_serve(fixture, send_empty_frames, NULL, H2_CLOSE);
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    slow_reads(&slow, fixture->session);
    call_perform(call);
    slow_reads(NULL, NULL);
    check_ended(call, AFC_OK);
    call_free(call);
    fixture_free(fixture);
    /* Each turn has 64 reads for nothing. */
    assert_true(slow.pieces >= 200);
    assert_in_range(slow.last_turn - slow.first_turn, slow.pieces / 100, UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(body_yields_and_arrives_whole),
        FIXTURE_TEST(chunks_yield_and_arrive_whole),
        cmocka_unit_test(body_over_tls_yields_and_arrives_whole),
        FIXTURE_TEST(decoded_body_yields_and_arrives_whole),
        FIXTURE_TEST(pieces_of_one_read_yield_and_arrive_whole),
        FIXTURE_TEST(messages_yield_and_arrive_before_the_end),
        cmocka_unit_test(empty_frames_yield),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
