/* WebSockets and callbacks that use them, several threads, forks, and sessions that end. */
#include "support/call.h"
#include "support/child.h"
#include "support/recorded_socket.h"

#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- Callbacks ----------------------------------------------------------------- */

static void send_and_close(recorded_socket *socket) {
    (void)afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("from on_open"), 0,
                             NULL);
    (void)afc_websocket_close(socket->socket, AFC_WEBSOCKET_GOING_AWAY, afc_slice_of("bye"));
}

static void callbacks_may_send_and_close(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->at_open = send_and_close;
    socket_open(socket, fixture);
    check_log(socket, "open;sent ok;text from on_open;closed 1001 bye;");
    socket_free(socket);
}

static afc_status cancel_at_message(recorded_socket *socket, const afc_websocket_message *message) {
    (void)message;
    afc_websocket_cancel(socket->socket);
    return AFC_OK;
}

/** What came with that message isn't passed on, and a close frame in it doesn't count. */
static void cancel_in_on_message_is_the_last_callback_but_one(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/",
                       S("\x81\x01"
                         "a\x81\x01"
                         "b\x8a\x01"
                         "c\x88\x00"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->at_message = cancel_at_message;
    socket_open(socket, fixture);
    check_log(socket, "open;text a;closed 1006;");
    check_status(socket->failure.status, AFC_ECANCELED);
    socket_free(socket);
}

/** The loop has rarely noticed the cancel at this moment. */
static void refuses_what_is_sent_after_a_cancel(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    for (int round = 0; round < 200; round++) {
        recorded_socket *socket = socket_opened(fixture, "/");
        afc_slice late = afc_slice_of("late");
        afc_websocket_cancel(socket->socket);
        check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, late, 0, NULL),
                     AFC_ECLOSED);
        check_status(afc_websocket_ping(socket->socket, late), AFC_ECLOSED);
        check_status(afc_websocket_close(socket->socket, AFC_WEBSOCKET_NORMAL, late), AFC_OK);
        check_log(socket, "open;closed 1006;");
        check_status(socket->failure.status, AFC_ECANCELED);
        socket_free(socket);
    }
}

typedef struct batches {
    atomic_uint reported; /**< Messages before the end of a batch. */
    atomic_bool was_empty;
} batches;

static void end_batch(void *context) {
    recorded_socket *socket = context;
    batches *batches = socket->payload;
    unsigned count = atomic_load(&socket->message_count);
    pthread_mutex_lock(&socket->lock);
    if (count == atomic_load(&batches->reported)) atomic_store(&batches->was_empty, true);
    atomic_store(&batches->reported, count);
    pthread_cond_broadcast(&socket->changed);
    pthread_mutex_unlock(&socket->lock);
}

static void note_late_batch(void *context) {
    recorded_socket *socket = context;
    if (atomic_load(&socket->closed_count) > 0) atomic_store((atomic_bool *)socket->payload, true);
}

static void batch_ends_after_every_message(void **state) {
    fixture *fixture = *state;
    batches batches = {0};
    serve_socket_bytes(fixture, "/",
                       S("\x81\x01"
                         "a\x81\x01"
                         "b\x81\x01"
                         "c"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = &batches;
    socket->events.on_batch_end = end_batch;
    socket_open(socket, fixture);
    socket_wait_for(socket, &batches.reported, 3);
    afc_websocket_cancel(socket->socket);
    check_log(socket, "open;text a;text b;text c;closed 1006;");
    assert_false(atomic_load(&batches.was_empty));
    socket_free(socket);
}

static afc_status refuse(recorded_socket *socket, const afc_websocket_message *message) {
    (void)socket, (void)message;
    return AFC_EFILE;
}

static void status_of_on_message_ends_the_socket(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/",
                       S("\x81\x01"
                         "a\x81\x01"
                         "b"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->at_message = refuse;
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_EFILE);
    socket_free(socket);
}

/** A message belongs to a batch, also the one that ends the socket before the batch. */
static void batch_never_ends_after_the_socket(void **state) {
    fixture *fixture = *state;
    atomic_bool was_late = false;
    serve_socket_bytes(fixture, "/",
                       S("\x81\x01"
                         "a"));
    serve(fixture, "/next", answer(200, NULL, "ok"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = &was_late;
    socket->at_message = refuse;
    socket->events.on_batch_end = note_late_batch;
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1006;");
    /* By now that turn of the loop is over. */
    check_fetch(fixture, "/next", AFC_OK);
    assert_false(atomic_load(&was_late));
    socket_free(socket);
}

static void refuse_sizes_without_bytes(recorded_socket *socket) {
    const afc_slice none = {NULL, 1};
    afc_status *statuses = socket->payload;
    statuses[0] = afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, none, 0, NULL);
    statuses[1] = afc_websocket_send(socket->socket, AFC_WEBSOCKET_BINARY, none, 0, NULL);
    statuses[2] = afc_websocket_ping(socket->socket, none);
    statuses[3] = afc_websocket_close(socket->socket, AFC_WEBSOCKET_NORMAL, none);
    (void)afc_websocket_close(socket->socket, AFC_WEBSOCKET_NORMAL, afc_slice_of(""));
}

static void refuses_a_size_without_bytes(void **state) {
    fixture *fixture = *state;
    afc_status statuses[4] = {AFC_OK};
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->payload = statuses;
    socket->at_open = refuse_sizes_without_bytes;
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1000;");
    for (size_t i = 0; i < COUNT_OF(statuses); i++) check_status(statuses[i], AFC_EINVAL);
    socket_free(socket);
}

static afc_status return_size(recorded_socket *socket, const afc_websocket_message *message) {
    (void)socket;
    return (afc_status)message->bytes.size;
}

static void names_the_invalid_number_of_on_message(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/", S("\x81\x05hello"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->at_message = return_size;
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_EINVAL);
    check_contains(socket->failure.text,
                   "on_message returned 5: expected AFC_OK, AFC_EAGAIN or an error");
    socket_free(socket);
}

/** A codec whose encoder waits, as another thread may when the process is forked. */
static sem_t encoding, may_go_on;

static afc_status (*convert)(void *stream, afc_slice *input, char *output, size_t *size);

static afc_status convert_slowly(void *stream, afc_slice *input, char *output, size_t *size) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2;
    sem_post(&encoding);
    /* Not for ever: a test that fails before it goes on would wait for this thread. */
    sem_timedwait(&may_go_on, &end);
    return convert(stream, input, output, size);
}

static void *send_slowly(void *context) {
    socket_send_text(context, "compressed");
    return NULL;
}

static int use_in_child(recorded_socket *socket) {
    alarm(PATIENCE_MS / 1000);
    bool is_closed = afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL) ==
                         AFC_ECLOSED &&
                     afc_websocket_ping(socket->socket, S("x")) == AFC_ECLOSED &&
                     afc_websocket_close(socket->socket, 1000, S("")) == AFC_OK &&
                     afc_websocket_get_queued(socket->socket) == 0;
    afc_websocket_cancel(socket->socket);
    afc_websocket_resume(socket->socket);
    afc_websocket_release(socket->socket);
    return is_closed ? 0 : 1;
}

static void does_nothing_in_a_child_and_never_waits(void **state) {
    fixture *fixture = *state;
    pthread_t thread;
    afc_websocket_codec codec = stored_codec(NULL);
    serve_echo(fixture, "/", "Sec-WebSocket-Extensions: permessage-deflate");
    sem_init(&encoding, 0, 0);
    sem_init(&may_go_on, 0, 0);
    convert = codec.convert;
    codec.convert = convert_slowly;
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.codec = &codec;
    socket->options.compression_threshold = 1;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    pthread_create(&thread, NULL, send_slowly, socket);
    sem_wait(&encoding);
    pid_t child = fork();
    if (child == 0) child_exit(use_in_child(socket));
    child_check(child);
    for (int i = 0; i < 100; i++) sem_post(&may_go_on);
    pthread_join(thread, NULL);
    socket_wait_for(socket, &socket->message_count, 1);
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
}

enum { SENDERS = 4, PER_SENDER = 200 };

static void *send_many(void *context) {
    recorded_socket *socket = context;
    for (int i = 0; i < PER_SENDER; i++) {
        while (afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("threads"), 0,
                                  NULL) == AFC_EAGAIN) {}
    }
    return NULL;
}

static void threads_send_at_once(void **state) {
    fixture *fixture = *state;
    pthread_t threads[SENDERS];
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_opened(fixture, "/");
    for (size_t i = 0; i < SENDERS; i++) pthread_create(&threads[i], NULL, send_many, socket);
    for (size_t i = 0; i < SENDERS; i++) pthread_join(threads[i], NULL);
    socket_wait_for(socket, &socket->message_count, SENDERS * PER_SENDER);
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
    assert_int_equal(atomic_load(&socket->sent_count), SENDERS * PER_SENDER);
    socket_free(socket);
}

/** In any state: during the handshake, a message, the close. */
static void cancel_at_any_moment_ends_once(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    for (int round = 0; round < 60; round++) {
        recorded_socket *socket = socket_new(fixture, "/");
        socket_open(socket, fixture);
        if (round % 3 > 0) socket_wait_for(socket, &socket->open_count, 1);
        if (round % 2 > 0) socket_send_text(socket, "in flight");
        if (round % 3 > 1) socket_close(socket);
        afc_websocket_cancel(socket->socket);
        if (round % 5 == 0) afc_session_cancel_all(fixture->session);
        socket_free(socket);
    }
}

static void released_socket_goes_on_until_it_ends(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_opened(fixture, "/");
    socket_send_text(socket, "in flight");
    socket_close(socket);
    afc_websocket_release(socket->socket);
    socket->socket = NULL;
    check_log(socket, "open;sent ok;text in flight;closed 1000;");
    socket_free(socket);
}

static void session_waits_for_its_sockets(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_opened(fixture, "/");
    socket_close(socket);
    fixture_close_session(fixture);
    assert_int_equal(atomic_load(&socket->release_count), 1);
    socket_free(socket);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(callbacks_may_send_and_close),
        FIXTURE_TEST(batch_ends_after_every_message),
        FIXTURE_TEST(batch_never_ends_after_the_socket),
        FIXTURE_TEST(cancel_in_on_message_is_the_last_callback_but_one),
        FIXTURE_TEST(refuses_what_is_sent_after_a_cancel),
        FIXTURE_TEST(status_of_on_message_ends_the_socket),
        FIXTURE_TEST(names_the_invalid_number_of_on_message),
        FIXTURE_TEST(refuses_a_size_without_bytes),
        FIXTURE_TEST(does_nothing_in_a_child_and_never_waits),
        FIXTURE_TEST(threads_send_at_once),
        FIXTURE_TEST(cancel_at_any_moment_ends_once),
        FIXTURE_TEST(released_socket_goes_on_until_it_ends),
        FIXTURE_TEST(session_waits_for_its_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
