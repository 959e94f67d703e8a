/* Challenges over HTTP/2, where others use the connection meanwhile. */
#include "support/auth_server.h"
#include "support/h2.h"

#include <string.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

typedef struct server {
    atomic_uint requests;
    bool stops_upload; /**< Asks before it has read the body, and gives no more window. */
    bool is_wordless;  /**< The 401 has no body. */
} server;

/** 401 with a challenge; the names are those of HPACK's table. */
static bool ask(h2_peer *peer, uint32_t stream, bool is_wordless) {
    static const char head[] = "\x08\x03"
                               "401"
                               "\x0f\x2e\x0d"
                               "Basic realm=x"
                               "\x0f\x0d\x01";
    char block[sizeof head];
    memcpy(block, head, sizeof head - 1);
    block[sizeof head - 1] = is_wordless ? '0' : '4';
    uint8_t flags = H2_END_HEADERS | (is_wordless ? H2_END_STREAM : 0);
    if (!h2_send(peer, H2_HEADERS, flags, stream, block, sizeof block)) return false;
    if (is_wordless) return true;
    return h2_send(peer, H2_DATA, 0, stream, "wh", 2) &&
           h2_send(peer, H2_DATA, H2_END_STREAM, stream, "o?", 2);
}

/** The first request is asked who it is, all others are let in. */
static void serve_streams(afts_conn *conn, const afts_request *request, void *payload) {
    server *server = payload;
    h2_peer peer;
    (void)request;
    if (!h2_begin(&peer, conn)) return;
    for (;;) {
        uint32_t stream = h2_read_request(&peer);
        if (stream == 0) return;
        bool has_body = (peer.frame.flags & H2_END_STREAM) == 0;
        bool is_first = atomic_fetch_add(&server->requests, 1) == 0;
        peer.received = 0;
        if (has_body && !(is_first && server->stops_upload)) {
            if (!h2_send_window(&peer, 0, SIZE) || !h2_send_window(&peer, stream, SIZE)) return;
            if (!h2_read_body(&peer, SIZE)) return;
        }
        bool is_said = is_first ? ask(&peer, stream, server->is_wordless)
                                : h2_send_sized_head(&peer, stream, 200, 2, 0) &&
                                      h2_send(&peer, H2_DATA, H2_END_STREAM, stream, "in", 2);
        if (!is_said) return;
    }
}

typedef struct challenges_sent {
    call *call;
    atomic_uint count;
    uint32_t number;
} challenges_sent;

static afc_challenge_decision at_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    challenges_sent *challenges_sent = call->payload;
    (void)credentials;
    pthread_mutex_lock(&call->lock);
    challenges_sent->number = challenge->number;
    atomic_fetch_add(&challenges_sent->count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    return AFC_CHALLENGE_LATER;
}

static fixture *begin(server *server) {
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, serve_streams, server, H2_CLOSE);
    return fixture;
}

static call *call_asking(fixture *fixture, challenges_sent *challenges_sent) {
    call *call = call_new(fixture, "/");
    call->events.on_challenge = at_challenge;
    call->payload = challenges_sent;
    challenges_sent->call = call;
    return call;
}

static void task_that_awaits_credentials_stops_no_other(void **state) {
    (void)state;
    static const struct {
        afc_challenge_decision answer;
        bool is_wordless;
        int status;
        const char *body;
        afc_status expected;
    } rows[] = {
        {AFC_CHALLENGE_USE, false, 200, "in", AFC_OK},
        {AFC_CHALLENGE_USE, true, 200, "in", AFC_OK},
        {AFC_CHALLENGE_DEFAULT, false, 401, "who?", AFC_OK},
        {AFC_CHALLENGE_DEFAULT, true, 401, "", AFC_OK},
        {AFC_CHALLENGE_CANCEL, false, 0, "", AFC_ECANCELED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        server server = {.is_wordless = rows[i].is_wordless};
        fixture *fixture = begin(&server);
        challenges_sent challenges_sent = {NULL, 0, 0};
        call *call = call_asking(fixture, &challenges_sent);
        call_start(call);
        call_wait_for(call, &challenges_sent.count, 1);
        struct call *other = call_fetch(fixture, "/");
        check_ended(other, AFC_OK);
        assert_int_equal(status_of(other), 200);
        assert_true(other->hops[0].is_reused || !h2_multiplexes());
        call_free(other);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number, rows[i].answer,
                                               &valid_credentials),
                     AFC_OK);
        call_wait(call);
        check_ended(call, rows[i].expected);
        assert_int_equal(status_of(call), rows[i].status);
        check_slice(call->body, rows[i].body);
        call_free(call);
        fixture_free(fixture);
    }
}

/** The rest of the body will never be wanted, so nothing waits for room to send it. */
static void challenged_upload_is_replayed(void **state) {
    (void)state;
    static char bytes[SIZE];
    for (int is_later = 0; is_later < 2; is_later++) {
        for (int is_wordless = 0; is_wordless < 2; is_wordless++) {
            server server = {.is_wordless = is_wordless != 0, .stops_upload = true};
            fixture *fixture = begin(&server);
            challenges_sent challenges_sent = {NULL, 0, 0};
            call *call = call_asking(fixture, &challenges_sent);
            call_send(call, "PUT", (afc_slice){bytes, sizeof bytes});
            if (!is_later) {
                call->events.on_challenge = NULL;
                call->request.credentials = &valid_credentials;
            }
            call_start(call);
            if (is_later) {
                call_wait_for(call, &challenges_sent.count, 1);
                check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                                       AFC_CHALLENGE_USE, &valid_credentials),
                             AFC_OK);
            }
            call_wait(call);
            check_ended(call, AFC_OK);
            assert_int_equal(status_of(call), 200);
            assert_int_equal(call->hop_count, 2);
            call_free(call);
            fixture_free(fixture);
        }
    }
}

/* ---- Accepted, and written to a descriptor -------------------------------------------------- */

/** A 401 of `first` bytes, and once the third request has come, of `rest` more. */
typedef struct teller {
    size_t first, rest;
    atomic_uint requests;
} teller;

static char content_at(size_t position) {
    return (char)(position * 31 + position / 251);
}

/** As far as the client has room for it, which it has for more than these tests send. */
static bool send_content(h2_peer *peer, uint32_t stream, size_t from, size_t to, bool ends) {
    char block[H2_FRAME_MAX];
    while (from < to) {
        size_t size = to - from < sizeof block ? to - from : sizeof block;
        for (size_t i = 0; i < size; i++) block[i] = content_at(from + i);
        from += size;
        uint8_t flags = ends && from == to ? H2_END_STREAM : 0;
        if (!h2_send(peer, H2_DATA, flags, stream, block, size)) return false;
    }
    return true;
}

static bool challenge_at_length(h2_peer *peer, uint32_t stream, const teller *teller) {
    static const char head[] = "\x08\x03"
                               "401"
                               "\x0f\x2e\x0d"
                               "Basic realm=x";
    return h2_send(peer, H2_HEADERS, H2_END_HEADERS, stream, head, sizeof head - 1) &&
           send_content(peer, stream, 0, teller->first, teller->rest == 0);
}

static void tell_at_length(afts_conn *conn, const afts_request *request, void *payload) {
    teller *teller = payload;
    h2_peer peer;
    uint32_t challenged = 0;
    (void)request;
    if (!h2_begin(&peer, conn)) return;
    for (;;) {
        uint32_t stream = h2_read_request(&peer);
        if (stream == 0) return;
        unsigned before = atomic_fetch_add(&teller->requests, 1);
        bool is_said = true;
        if (before == 0) {
            challenged = stream;
            is_said = challenge_at_length(&peer, stream, teller);
        } else {
            if (before == 2 && teller->rest > 0) {
                is_said = send_content(&peer, challenged, teller->first,
                                       teller->first + teller->rest, true);
            }
            is_said = is_said && h2_send_sized_head(&peer, stream, 200, 2, 0) &&
                      h2_send(&peer, H2_DATA, H2_END_STREAM, stream, "in", 2);
        }
        if (!is_said) return;
    }
}

static int chosen_descriptor;

/** The task has its own afterwards. */
static afc_status choose_descriptor(call *call, afc_response *response) {
    (void)call;
    afc_status status = afc_response_set_descriptor(response, chosen_descriptor);
    close(chosen_descriptor);
    return status;
}

static void check_content(int descriptor, size_t size) {
    char block[60000];
    size_t done = 0;
    ssize_t count;
    while ((count = read(descriptor, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < count; i++) {
            if (block[i] != content_at(done + (size_t)i)) fail_msg("wrong byte at %zu", done);
        }
        done += (size_t)count;
    }
    assert_int_equal(done, size);
}

/** What was kept while the challenge waited may be more than a pipe has room for, and not yet all. */
static void accepted_401_is_written_to_a_descriptor(void **state) {
    (void)state;
    static const struct {
        size_t first, rest;
    } rows[] = {{4, 0}, {3 << 20, 0}, {256 << 10, 256 << 10}, {3 << 20, 1 << 20}};
    if (!h2_multiplexes()) skip();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        teller teller = {.first = rows[i].first, .rest = rows[i].rest};
        fixture *fixture = h2_fixture(NULL);
        h2_serve(fixture, tell_at_length, &teller, H2_CLOSE);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        chosen_descriptor = ends[1];
        challenges_sent challenges_sent = {NULL, 0, 0};
        call *call = call_asking(fixture, &challenges_sent);
        call->at_head = choose_descriptor;
        call_start(call);
        call_wait_for(call, &challenges_sent.count, 1);
        /* Its response follows on the same connection, so all before it has come. */
        check_fetch(fixture, "/", AFC_OK);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                               AFC_CHALLENGE_DEFAULT, NULL),
                     AFC_OK);
        call_wait_for(call, &call->head_count, 1);
        if (rows[i].rest > 0) check_fetch(fixture, "/", AFC_OK);
        check_content(ends[0], rows[i].first + rows[i].rest);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 401);
        assert_int_equal(call->progress.received, rows[i].first + rows[i].rest);
        assert_int_equal(afc_result_get_body_size(call->result), rows[i].first + rows[i].rest);
        call_free(call);
        close(ends[0]);
        fixture_free(fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_that_awaits_credentials_stops_no_other),
        cmocka_unit_test(challenged_upload_is_replayed),
        cmocka_unit_test(accepted_401_is_written_to_a_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
