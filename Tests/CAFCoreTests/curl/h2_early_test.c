/*
 * HTTP/2: what a server says while a body is still on its way to it, in frames, at every kind of
 * position. The answer counts if there is one, and nothing hangs without one.
 */
#include "support/call.h"
#include "support/form.h"
#include "support/h2.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 4 << 20, WINDOW = 65535, LARGE_WINDOW = 1 << 20, IDLE_MS = 2000 };

/** How often libcurl sends a request that is refused each time. */
enum { ATTEMPTS = 6 };

/* Nothing of the body, some, a frame, all that the client may send unasked, and more after that. */
static const uint64_t positions[] = {0, 1, H2_FRAME_MAX, WINDOW, WINDOW + 100000};

/** What comes once the position is reached. */
typedef enum speech {
    ANSWER,         /**< 413 with a body, and nothing more is said about the stream. */
    ANSWER_NO_BODY, /**< The same without one. */
    ANSWER_RESET,   /**< 413 with a body, then RST_STREAM(NO_ERROR), as RFC 9113 8.1 has it. */
    SUCCESS_RESET,  /**< The same with 200. */
    ANSWER_GOAWAY,  /**< 413, and the connection ends after it. */
    REFUSED,        /**< RST_STREAM(REFUSED_STREAM): nothing was done. */
    FAILED,         /**< RST_STREAM(INTERNAL_ERROR). */
    CANCELED,       /**< RST_STREAM(CANCEL). */
    GOAWAY_BEFORE,  /**< GOAWAY: the stream will not be looked at. */
    GOAWAY_AFTER,   /**< GOAWAY: but this stream will; its answer comes. */
    HALF_ANSWER,    /**< A head, half a body, and RST_STREAM(INTERNAL_ERROR). */
    GONE            /**< The connection, without a word. */
} speech;

typedef struct server {
    speech speech;
    uint64_t position;
    atomic_uint heads; /**< Request heads received, including those of repeated requests. */
} server;

static bool answer_early(h2_peer *peer, uint32_t stream, int status) {
    return h2_send_sized_head(peer, stream, status, 9, 0) &&
           h2_send(peer, H2_DATA, H2_END_STREAM, stream, "too large", 9);
}

/** false: the connection ends. */
static bool speak(h2_peer *peer, uint32_t stream, speech speech) {
    switch (speech) {
    case ANSWER:
        return answer_early(peer, stream, 413);
    case ANSWER_NO_BODY:
        return h2_send_sized_head(peer, stream, 413, 0, H2_END_STREAM);
    case ANSWER_RESET:
        return answer_early(peer, stream, 413) && h2_send_reset(peer, stream, H2_NO_ERROR);
    case SUCCESS_RESET:
        return answer_early(peer, stream, 200) && h2_send_reset(peer, stream, H2_NO_ERROR);
    case ANSWER_GOAWAY:
        return answer_early(peer, stream, 413) && h2_send_goaway(peer, stream, H2_NO_ERROR);
    case REFUSED:
        return h2_send_reset(peer, stream, H2_REFUSED_STREAM);
    case FAILED:
        return h2_send_reset(peer, stream, H2_INTERNAL_ERROR);
    case CANCELED:
        return h2_send_reset(peer, stream, H2_CANCEL);
    case GOAWAY_BEFORE:
        (void)h2_send_goaway(peer, 0, H2_NO_ERROR);
        return false;
    case GOAWAY_AFTER:
        return h2_send_goaway(peer, stream, H2_NO_ERROR) && h2_send_window(peer, 0, SIZE) &&
               h2_send_window(peer, stream, SIZE) && h2_read_body(peer, SIZE) &&
               answer_early(peer, stream, 200);
    case HALF_ANSWER:
        return h2_send_head(peer, stream, 200, 0) && h2_send(peer, H2_DATA, 0, stream, "half", 4) &&
               h2_send_reset(peer, stream, H2_INTERNAL_ERROR);
    case GONE:
        return false;
    }
    return false;
}

static bool serve_request(server *server, h2_peer *peer) {
    uint32_t stream = h2_read_request(peer);
    if (stream == 0) return false;
    atomic_fetch_add(&server->heads, 1);
    if ((peer->frame.flags & H2_END_STREAM) != 0) return answer_early(peer, stream, 200);
    peer->received = 0;
    if (server->position > WINDOW) {
        h2_send_window(peer, 0, LARGE_WINDOW);
        h2_send_window(peer, stream, LARGE_WINDOW);
    }
    return h2_read_body(peer, server->position) && speak(peer, stream, server->speech);
}

static void handle(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    h2_peer *peer = malloc(sizeof *peer);
    if (peer != NULL && h2_begin(peer, conn)) {
        while (serve_request(payload, peer)) {}
    }
    free(peer);
}

typedef struct upload {
    char *bytes;
    script_reader reader;
} upload;

static void send_body(call *call, upload *upload, afc_body_kind kind) {
    call->request.method = "POST";
    call->request.body.kind = kind;
    call->request.body.bytes = (afc_slice){upload->bytes, SIZE};
    if (kind == AFC_BODY_READER) {
        upload->reader = (script_reader){.bytes = {upload->bytes, SIZE}, .reads_once = true};
        call->request.body.reader = reader_of(&upload->reader);
        call->request.body.length = AFC_LENGTH_UNKNOWN;
    }
    call_perform(call);
}

/* ---- What it comes to ---------------------------------------------------------------------- */

typedef struct row {
    speech speech;
    afc_status expected, expected_of_reader; /**< A body that can be read once. */
    int status;                              /**< Status of the response; 0: no response. */
    size_t body;
    size_t connections; /**< After one more request; ANY_NUMBER: requests may have been repeated. */
} row;

enum { ANY_NUMBER = 0 };

/*
 * libcurl repeats what was refused, on a new connection each, until it has tried often enough. It
 * takes no notice of the reset behind a success, so there the limit of time has to.
 */
static const row rows[] = {
    {ANSWER, AFC_OK, AFC_OK, 413, 9, 1},
    {ANSWER_NO_BODY, AFC_OK, AFC_OK, 413, 0, 1},
    {ANSWER_RESET, AFC_OK, AFC_OK, 413, 9, 1},
    {SUCCESS_RESET, AFC_ETIMEOUT, AFC_ETIMEOUT, 200, 9, 1},
    {ANSWER_GOAWAY, AFC_OK, AFC_OK, 413, 9, 2},
    {REFUSED, AFC_ELOST, AFC_EREPLAY, 0, 0, ANY_NUMBER}, /* With exceptions, see check_refused(). */
    {FAILED, AFC_EPROTOCOL, AFC_EPROTOCOL, 0, 0, 1},
    {CANCELED, AFC_EPROTOCOL, AFC_EPROTOCOL, 0, 0, 1},
    {GOAWAY_BEFORE, AFC_ELOST, AFC_ELOST, 0, 0, 2},
    {GOAWAY_AFTER, AFC_OK, AFC_OK, 200, 9, 2},
    {HALF_ANSWER, AFC_ETRUNCATED, AFC_ETRUNCATED, 200, 4, 1},
    {GONE, AFC_ELOST, AFC_ELOST, 0, 0, 2},
};

/**
 * A body that can be read once can be sent again as long as nothing of it was asked for. Whether the
 * client gets to that before it hears the refusal is its own affair if the server awaits none of it.
 */
static void check_refused(const row *row, const call *call, const upload *upload, unsigned heads,
                          uint64_t position, afc_body_kind kind) {
    bool is_repeated = kind == AFC_BODY_BYTES || (position == 0 && heads == ATTEMPTS);
    /*
     * Before 8.10 libcurl reads once more when it closes a connection (ossl_close() in lib/vtls/openssl.c). What it
     * finds then may be the end of the connection, and nothing tells that from a request that was lost with it.
     */
    bool may_be_lost = libcurl_is_at_least(8, 1) && !libcurl_is_at_least(8, 10) && !is_repeated &&
                       call->failure.status == AFC_ELOST;
    afc_status of_reader = may_be_lost ? AFC_ELOST : row->expected_of_reader;
    check_ended(call, is_repeated ? row->expected : of_reader);
    if (is_repeated) {
        assert_int_equal(heads, ATTEMPTS);
    } else {
        assert_true(upload->reader.reads > 0);
        if (position > 0) assert_int_equal(heads, 1);
    }
}

/** Newer versions of libcurl end the request where older ones wait for the limit of time. */
static row of_this_libcurl(const row *any) {
    row expected = *any;
    if (any->speech == SUCCESS_RESET && libcurl_is_at_least(8, 1)) {
        expected.expected = expected.expected_of_reader = AFC_OK;
        expected.body = 9;
    }
    /* A stream above the last one that GOAWAY names was not processed, so it may be sent again. */
    if (any->speech == GOAWAY_BEFORE && libcurl_is_at_least(8, 1))
        expected.connections = ANY_NUMBER;
    return expected;
}

static void check_row(const row *any, upload *upload, uint64_t position, afc_body_kind kind,
                      h2_end end) {
    const struct row row_of_it = of_this_libcurl(any), *row = &row_of_it;
    server server = {.speech = row->speech, .position = position};
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, handle, &server, end);
    call *call = call_new(fixture, "/");
    if (row->speech == SUCCESS_RESET) call->request.timeouts.idle_ms = IDLE_MS;
    send_body(call, upload, kind);
    unsigned heads = atomic_load(&server.heads);
    if (row->speech == REFUSED) {
        check_refused(row, call, upload, heads, position, kind);
    } else {
        bool is_reader = kind == AFC_BODY_READER;
        bool cannot_repeat = is_reader && row->connections == ANY_NUMBER &&
                             call->failure.status == AFC_EREPLAY;
        afc_status expected = is_reader ? row->expected_of_reader : row->expected;
        check_ended(call, cannot_repeat ? AFC_EREPLAY : expected);
        assert_true(heads == 1 || (heads > 1 && row->connections == ANY_NUMBER));
    }
    assert_int_equal(status_of(call), row->status);
    assert_int_equal(call->body.size, row->body);
    assert_int_equal(call->hop_count, 1);
    call_free(call);
    /* Whatever happened to one stream, the next request gets its answer. */
    check_fetch(fixture, "/", AFC_OK);
    if (row->connections != ANY_NUMBER) {
        assert_int_equal(afts_server_stats(fixture->server).accepted, row->connections);
    }
    fixture_free(fixture);
}

static void returns_response_sent_in_the_middle_of_the_request_body(void **state) {
    (void)state;
    upload upload = {.bytes = calloc(1, SIZE)};
    assert_non_null(upload.bytes);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        /* Where time has to pass, once is enough. */
        size_t count = rows[i].speech == SUCCESS_RESET ? 1 : COUNT_OF(positions);
        for (size_t j = 0; j < count; j++) {
            check_row(&rows[i], &upload, positions[j], AFC_BODY_BYTES, H2_CLOSE);
            check_row(&rows[i], &upload, positions[j], AFC_BODY_READER, H2_RESET);
        }
    }
    free(upload.bytes);
}

/* ---- What was read and never sent ---------------------------------------------------------- */

enum { BODY = 100000 };

/** A body that says when it is being read, and what came of it in the end. */
typedef struct stuck {
    script_reader reader;
    afts_server *server;
    char bytes[BODY];
    atomic_uint refusals;
    atomic_bool is_whole;
} stuck;

static ptrdiff_t read_and_tell(void *context, void *buffer, size_t size) {
    stuck *stuck = context;
    if (stuck->reader.position == 0) (void)afts_release(stuck->server, "reading", 1);
    afc_reader reader = reader_of(&stuck->reader);
    return reader.read(reader.context, buffer, size);
}

static bool rewind_stuck(void *context) {
    afc_reader reader = reader_of(&((stuck *)context)->reader);
    return reader.rewind(reader.context);
}

/** libcurl 8.5.0 doesn't ask for the body before the server has room for some of it. */
static bool reads_without_window(void) {
    return !libcurl_is_at_least(8, 1) || libcurl_is_at_least(8, 7);
}

/** true: the bytes of the body, one by one, and no more. */
static bool receive(h2_peer *peer, const char *bytes) {
    size_t position = 0;
    do {
        if (!h2_read(peer)) return false;
        if (peer->frame.type != H2_DATA) continue;
        if (peer->frame.size > BODY - position ||
            memcmp(peer->frame.payload, bytes + position, peer->frame.size) != 0) {
            return false;
        }
        position += peer->frame.size;
    } while ((peer->frame.flags & H2_END_STREAM) == 0);
    return position == BODY;
}

/** The first connection lets no request be sent, and refuses those that are. */
static void handle_stuck(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    stuck *stuck = payload;
    h2_peer *peer = malloc(sizeof *peer);
    if (peer == NULL || !h2_begin(peer, conn)) goto out;
    bool is_first = afts_conn_index(conn) == 0;
    uint32_t stream;
    if (is_first && !h2_send_initial_window(peer, 0)) goto out;
    while ((stream = h2_read_request(peer)) != 0) {
        if ((peer->frame.flags & H2_END_STREAM) != 0) {
            if (!answer_early(peer, stream, 200)) break;
        } else if (is_first) {
            if (reads_without_window() && afts_conn_stall(conn, "reading") != 0) break;
            atomic_fetch_add(&stuck->refusals, 1);
            if (!h2_send_reset(peer, stream, H2_REFUSED_STREAM)) break;
        } else {
            h2_send_window(peer, 0, SIZE);
            h2_send_window(peer, stream, SIZE);
            atomic_store(&stuck->is_whole, receive(peer, stuck->bytes));
            if (!answer_early(peer, stream, 200)) break;
        }
    }
out:
    free(peer);
}

static void check_stuck(bool reads_once, afc_status expected) {
    stuck *stuck = calloc(1, sizeof *stuck);
    assert_non_null(stuck);
    for (size_t i = 0; i < BODY; i++) stuck->bytes[i] = (char)(i * 31 >> 4);
    stuck->reader = (script_reader){.bytes = {stuck->bytes, BODY}, .reads_once = reads_once};
    fixture *fixture = h2_fixture(NULL);
    stuck->server = fixture->server;
    h2_serve(fixture, handle_stuck, stuck, H2_CLOSE);
    /* Its answer comes behind the settings. */
    check_fetch(fixture, "/", AFC_OK);
    call *call = call_new(fixture, "/");
    call->request.method = "POST";
    call->request.body.kind = AFC_BODY_READER;
    call->request.body.length = AFC_LENGTH_UNKNOWN;
    call->request.body.reader = (afc_reader){stuck, read_and_tell, reads_once ? NULL : rewind_stuck,
                                             NULL};
    call_perform(call);
    check_ended(call, expected);
    assert_int_equal(atomic_load(&stuck->refusals), 1);
    assert_int_equal(atomic_load(&stuck->is_whole), expected == AFC_OK);
    call_free(call);
    fixture_free(fixture);
    free(stuck);
}

static void repeats_request_with_its_whole_body(void **state) {
    (void)state;
    check_stuck(false, AFC_OK);
    check_stuck(true, reads_without_window() ? AFC_EREPLAY : AFC_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_response_sent_in_the_middle_of_the_request_body),
        cmocka_unit_test(repeats_request_with_its_whole_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
