/* WebSockets whose reader holds messages back, and whose server takes only parts or nothing. */
#include "support/call.h"
#include "support/recorded_socket.h"

#include <stdlib.h>
#include <string.h>

/* ---- Receiving ----------------------------------------------------------------------------- */

static afc_status take_if_permitted(recorded_socket *socket, const afc_websocket_message *message) {
    atomic_int *permits = socket->payload;
    (void)message;
    if (atomic_fetch_sub(permits, 1) > 0) return AFC_OK;
    atomic_fetch_add(permits, 1);
    return AFC_EAGAIN;
}

/** One message per resume. */
static void check_held_messages_of_endless_server(fixture *fixture, const char *url) {
    enum { MESSAGES = 2000 };
    static char block[1000];
    memset(block, 'x', sizeof block);
    block[0] = (char)0x82;
    block[1] = 126;
    block[2] = (char)((sizeof block - 4) >> 8);
    block[3] = (char)((sizeof block - 4) & 0xff);
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_repeated(script, block, sizeof block, AFTS_FOREVER);
    serve(fixture, "/", script);
    atomic_int permits = 0;
    recorded_socket *socket = socket_new(fixture, "/");
    if (url != NULL) socket->request.url = url;
    socket->payload = &permits;
    socket->at_message = take_if_permitted;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    for (unsigned i = 1; i <= MESSAGES; i++) {
        atomic_fetch_add(&permits, 1);
        afc_websocket_resume(socket->socket);
        socket_wait_for(socket, &socket->message_count, i);
        assert_int_equal(atomic_load(&socket->received), (uint64_t)i * (sizeof block - 4));
    }
    uint64_t sent = afts_server_stats(fixture->server).sent;
    assert_true(sent <= atomic_load(&socket->received) + buffered_at_most());
    afc_websocket_cancel(socket->socket);
    socket_free(socket);
}

static void held_message_stops_the_server_and_arrives_once(void **state) {
    check_held_messages_of_endless_server(*state, NULL);
}

static void held_message_stops_the_server_over_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("http/1.1", NULL);
    const char *url = text_of(fixture, "wss%s", strchr(tls_url(fixture), ':'));
    check_held_messages_of_endless_server(fixture, url);
    fixture_free(fixture);
}

/** Numbered messages, taken in their order and only with a permit. */
typedef struct numbered {
    atomic_int permits;
    atomic_uint refused;
    unsigned char next; /**< Loop thread only. */
} numbered;

static afc_status take_numbered(recorded_socket *socket, const afc_websocket_message *message) {
    numbered *numbered = socket->payload;
    if (atomic_fetch_sub(&numbered->permits, 1) <= 0) {
        atomic_fetch_add(&numbered->permits, 1);
        pthread_mutex_lock(&socket->lock);
        atomic_fetch_add(&numbered->refused, 1);
        pthread_cond_broadcast(&socket->changed);
        pthread_mutex_unlock(&socket->lock);
        return AFC_EAGAIN;
    }
    bool is_next = (unsigned char)message->bytes.bytes[0] == numbered->next;
    numbered->next++;
    return is_next ? AFC_OK : AFC_EINTERNAL;
}

enum { MOST_NUMBERED = 100, NUMBERED_SIZE = 1000 };

static void check_held_messages(fixture *fixture, unsigned count) {
    static char bytes[MOST_NUMBERED * NUMBERED_SIZE];
    for (size_t i = 0; i < count; i++) {
        memset(bytes + i * NUMBERED_SIZE, (int)i, NUMBERED_SIZE);
        memcpy(bytes + i * NUMBERED_SIZE, "\x82\x7e\x03\xe4", 4);
    }
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_stall(script, "go");
    afts_send(script, bytes, (size_t)count * NUMBERED_SIZE);
    afts_read_bytes(script, 6 + 4);
    afts_close(script);
    serve(fixture, "/", script);
    numbered numbered = {0};
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = &numbered;
    socket->at_message = take_numbered;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    /* After the head, so that the driver receives them. */
    afts_release(fixture->server, "go", 1);
    socket_wait_for(socket, &numbered.refused, 1);
    /* Resumed, refused again; a message is sent meanwhile, after which the server ends the connection. */
    afc_websocket_resume(socket->socket);
    socket_wait_for(socket, &numbered.refused, 2);
    size_t closed = afts_server_stats(fixture->server).closed;
    socket_send_text(socket, "meet");
    socket_wait_for(socket, &socket->sent_count, 1);
    assert_true(afts_wait_closed(fixture->server, closed + 1, PATIENCE_MS));
    /* The loop has seen the end, if it looks for it: other tasks have run to theirs meanwhile. */
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
    for (unsigned i = 1; i <= count; i++) {
        atomic_fetch_add(&numbered.permits, 1);
        afc_websocket_resume(socket->socket);
        if (i < count) socket_wait_for(socket, &socket->message_count, i);
    }
    socket_wait(socket);
    assert_int_equal(atomic_load(&socket->message_count), count);
    assert_int_equal(socket->code, AFC_WEBSOCKET_ABNORMAL);
    check_status(socket->failure.status, AFC_ELOST);
    socket_free(socket);
}

static void held_messages_come_in_order_before_the_end(void **state) {
    /* The driver reads all of them at once, with only the end behind them; or a part. */
    check_held_messages(*state, 60);
    check_held_messages(*state, MOST_NUMBERED);
}

static afc_status refuse_all(recorded_socket *socket, const afc_websocket_message *message) {
    (void)message;
    numbered *numbered = socket->payload;
    if (atomic_load(&numbered->permits) > 0) return AFC_OK;
    pthread_mutex_lock(&socket->lock);
    atomic_fetch_add(&numbered->refused, 1);
    pthread_cond_broadcast(&socket->changed);
    pthread_mutex_unlock(&socket->lock);
    return AFC_EAGAIN;
}

static void held_message_comes_again_only_after_a_resume(void **state) {
    fixture *fixture = *state;
    enum { MESSAGES = 3 };
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send(script, "\x82\x03one", 5);
    /* The frames of three messages and of a ping, each with a mask. */
    afts_read_bytes(script, MESSAGES * (2 + 4 + 3) + 2 + 4 + 4);
    afts_stall(script, "all is read");
    afts_wait_peer_close(script);
    serve(fixture, "/", script);
    numbered numbered = {0};
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = &numbered;
    socket->at_message = refuse_all;
    socket_open(socket, fixture);
    socket_wait_for(socket, &numbered.refused, 1);
    for (unsigned i = 1; i <= MESSAGES; i++) {
        socket_send_text(socket, "two");
        socket_wait_for(socket, &socket->sent_count, i);
    }
    check_status(afc_websocket_ping(socket->socket, S("ping")), AFC_OK);
    assert_true(afts_wait_stalled(fixture->server, "all is read", 1, PATIENCE_MS));
    /* The loop has passed it on again, if it does: other tasks have run to their ends meanwhile. */
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(atomic_load(&numbered.refused), 1);
    afc_websocket_resume(socket->socket);
    socket_wait_for(socket, &numbered.refused, 2);
    socket_send_text(socket, "two");
    socket_wait_for(socket, &socket->sent_count, MESSAGES + 1);
    atomic_store(&numbered.permits, 1);
    afc_websocket_resume(socket->socket);
    socket_wait_for(socket, &socket->message_count, 1);
    assert_int_equal(atomic_load(&numbered.refused), 2);
    afc_websocket_cancel(socket->socket);
    socket_free(socket);
}

/* ---- Sending ------------------------------------------------------------------------------- */

/* More than the buffers of both directions hold. */
enum { PATTERNS = 12, PATTERN_SIZE = 1 << 20 };

static size_t make_pattern(char *bytes, unsigned number) {
    size_t size = PATTERN_SIZE - number * 1000;
    for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 7 + (i >> 8) + number * 31);
    return size;
}

typedef struct patterns {
    atomic_bool may_begin;
    unsigned next; /**< Loop thread only. */
    char expected[PATTERN_SIZE];
} patterns;

static afc_status take_pattern(recorded_socket *socket, const afc_websocket_message *message) {
    patterns *patterns = socket->payload;
    if (!atomic_load(&patterns->may_begin)) return AFC_EAGAIN;
    size_t size = make_pattern(patterns->expected, patterns->next++);
    bool is_same = message->bytes.size == size &&
                   memcmp(message->bytes.bytes, patterns->expected, size) == 0;
    return is_same ? AFC_OK : AFC_EINTERNAL;
}

static void sends_every_byte_once_if_the_connection_takes_parts(void **state) {
    fixture *fixture = *state;
    patterns *patterns = calloc(1, sizeof *patterns);
    char *bytes = malloc(PATTERN_SIZE);
    uint64_t total = 0;
    assert_non_null(patterns);
    assert_non_null(bytes);
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.limits.queue_bytes = 2 * PATTERNS * PATTERN_SIZE;
    socket->payload = patterns;
    socket->at_message = take_pattern;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    for (unsigned i = 0; i < PATTERNS; i++) {
        afc_slice message = {bytes, make_pattern(bytes, i)};
        check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_BINARY, message, 0, NULL),
                     AFC_OK);
        /* A frame between two messages; AFC_EAGAIN: eight are unanswered. */
        afc_status status = afc_websocket_ping(socket->socket, S("ping"));
        assert_true(status == AFC_OK || status == AFC_EAGAIN);
        total += message.size;
    }
    atomic_store(&patterns->may_begin, true);
    afc_websocket_resume(socket->socket);
    socket_wait_for(socket, &socket->message_count, PATTERNS);
    assert_int_equal(atomic_load(&socket->received), total);
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
    free(bytes);
    free(patterns);
}

static void full_queue_refuses_messages_until_they_are_sent(void **state) {
    fixture *fixture = *state;
    static char bytes[1 << 20];
    /* Its server reads nothing: how fast this thread sends, compared with the loop, must not matter. */
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_stall(script, "reading");
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.limits.queue_bytes = 4 << 20;
    socket_open(socket, fixture);
    afc_status status;
    unsigned accepted = 0;
    do {
        status = afc_websocket_send(socket->socket, AFC_WEBSOCKET_BINARY,
                                    (afc_slice){bytes, sizeof bytes}, 0, NULL);
        accepted += status == AFC_OK;
    } while (status == AFC_OK && accepted < 4000);
    check_status(status, AFC_EAGAIN);
    assert_true(afc_websocket_get_queued(socket->socket) <= 4 << 20);
    afc_websocket_cancel(socket->socket);
    socket_wait(socket);
    /* Each has its completion, also those that were never sent. */
    assert_int_equal(atomic_load(&socket->sent_count), accepted);
    check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL),
                 AFC_ECLOSED);
    check_status(afc_websocket_ping(socket->socket, S("x")), AFC_ECLOSED);
    socket_free(socket);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(held_message_stops_the_server_and_arrives_once),
        cmocka_unit_test(held_message_stops_the_server_over_tls),
        FIXTURE_TEST(held_messages_come_in_order_before_the_end),
        FIXTURE_TEST(held_message_comes_again_only_after_a_resume),
        FIXTURE_TEST(sends_every_byte_once_if_the_connection_takes_parts),
        FIXTURE_TEST(full_queue_refuses_messages_until_they_are_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
