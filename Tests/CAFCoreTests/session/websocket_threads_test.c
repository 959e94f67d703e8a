/* WebSockets and callbacks that use them, several threads, forks, and sessions that end. */
#include "support/child.h"
#include "support/websocket.h"

#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- Callbacks ----------------------------------------------------------------- */

static void send_and_close(wire *wire) {
    (void)afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("from on_open"), 0,
                             NULL);
    (void)afc_websocket_close(wire->socket, AFC_WEBSOCKET_GOING_AWAY, afc_slice_of("bye"));
}

static void callbacks_may_send_and_close(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    wire *wire = wire_new(world, "/");
    wire->at_open = send_and_close;
    wire_open(wire, world);
    check_log(wire, "open;sent ok;text from on_open;closed 1001 bye;");
    wire_free(wire);
}

static afc_status cancel_at_message(wire *wire, const afc_websocket_message *message) {
    (void)message;
    afc_websocket_cancel(wire->socket);
    return AFC_OK;
}

/** What came with that message isn't passed on, and a close frame in it doesn't count. */
static void cancel_in_on_message_is_the_last_callback_but_one(void **state) {
    world *world = *state;
    serve_wire(world, "/",
               S("\x81\x01"
                 "a\x81\x01"
                 "b\x8a\x01"
                 "c\x88\x00"));
    wire *wire = wire_new(world, "/");
    wire->at_message = cancel_at_message;
    wire_open(wire, world);
    check_log(wire, "open;text a;closed 1006;");
    check_status(wire->failure.status, AFC_ECANCELED);
    wire_free(wire);
}

/** The loop has rarely noticed the cancel at this moment. */
static void refuses_what_is_sent_after_a_cancel(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    for (int round = 0; round < 200; round++) {
        wire *wire = wire_opened(world, "/");
        afc_slice late = afc_slice_of("late");
        afc_websocket_cancel(wire->socket);
        check_status(afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, late, 0, NULL),
                     AFC_ECLOSED);
        check_status(afc_websocket_ping(wire->socket, late), AFC_ECLOSED);
        check_status(afc_websocket_close(wire->socket, AFC_WEBSOCKET_NORMAL, late), AFC_OK);
        check_log(wire, "open;closed 1006;");
        check_status(wire->failure.status, AFC_ECANCELED);
        wire_free(wire);
    }
}

typedef struct batches {
    atomic_uint reported; /**< Messages before the end of a batch. */
    atomic_bool was_empty;
} batches;

static void end_batch(void *context) {
    wire *wire = context;
    batches *batches = wire->payload;
    unsigned count = atomic_load(&wire->message_count);
    pthread_mutex_lock(&wire->lock);
    if (count == atomic_load(&batches->reported)) atomic_store(&batches->was_empty, true);
    atomic_store(&batches->reported, count);
    pthread_cond_broadcast(&wire->changed);
    pthread_mutex_unlock(&wire->lock);
}

static void batch_ends_after_every_message(void **state) {
    world *world = *state;
    batches batches = {0};
    serve_wire(world, "/",
               S("\x81\x01"
                 "a\x81\x01"
                 "b\x81\x01"
                 "c"));
    wire *wire = wire_new(world, "/");
    wire->payload = &batches;
    wire->events.on_batch_end = end_batch;
    wire_open(wire, world);
    wire_wait_for(wire, &batches.reported, 3);
    afc_websocket_cancel(wire->socket);
    check_log(wire, "open;text a;text b;text c;closed 1006;");
    assert_false(atomic_load(&batches.was_empty));
    wire_free(wire);
}

static afc_status refuse(wire *wire, const afc_websocket_message *message) {
    (void)wire, (void)message;
    return AFC_EFILE;
}

static void status_of_on_message_ends_the_socket(void **state) {
    world *world = *state;
    serve_wire(world, "/",
               S("\x81\x01"
                 "a\x81\x01"
                 "b"));
    wire *wire = wire_new(world, "/");
    wire->at_message = refuse;
    wire_open(wire, world);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_EFILE);
    wire_free(wire);
}

static void refuse_sizes_without_bytes(wire *wire) {
    const afc_slice none = {NULL, 1};
    afc_status *statuses = wire->payload;
    statuses[0] = afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, none, 0, NULL);
    statuses[1] = afc_websocket_send(wire->socket, AFC_WEBSOCKET_BINARY, none, 0, NULL);
    statuses[2] = afc_websocket_ping(wire->socket, none);
    statuses[3] = afc_websocket_close(wire->socket, AFC_WEBSOCKET_NORMAL, none);
    (void)afc_websocket_close(wire->socket, AFC_WEBSOCKET_NORMAL, afc_slice_of(""));
}

static void refuses_a_size_without_bytes(void **state) {
    world *world = *state;
    afc_status statuses[4] = {AFC_OK};
    serve_echo(world, "/", NULL);
    wire *wire = wire_new(world, "/");
    wire->payload = statuses;
    wire->at_open = refuse_sizes_without_bytes;
    wire_open(wire, world);
    check_log(wire, "open;closed 1000;");
    for (size_t i = 0; i < COUNT_OF(statuses); i++) check_status(statuses[i], AFC_EINVAL);
    wire_free(wire);
}

static afc_status return_size(wire *wire, const afc_websocket_message *message) {
    (void)wire;
    return (afc_status)message->bytes.size;
}

static void names_the_invalid_number_of_on_message(void **state) {
    world *world = *state;
    serve_wire(world, "/", S("\x81\x05hello"));
    wire *wire = wire_new(world, "/");
    wire->at_message = return_size;
    wire_open(wire, world);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_EINVAL);
    check_contains(wire->failure.text,
                   "on_message returned 5: expected AFC_OK, AFC_EAGAIN or an error");
    wire_free(wire);
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
    wire_send_text(context, "compressed");
    return NULL;
}

static int use_in_child(wire *wire) {
    alarm(PATIENCE_MS / 1000);
    bool is_closed = afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL) ==
                         AFC_ECLOSED &&
                     afc_websocket_ping(wire->socket, S("x")) == AFC_ECLOSED &&
                     afc_websocket_close(wire->socket, 1000, S("")) == AFC_OK &&
                     afc_websocket_get_queued(wire->socket) == 0;
    afc_websocket_cancel(wire->socket);
    afc_websocket_resume(wire->socket);
    afc_websocket_release(wire->socket);
    return is_closed ? 0 : 1;
}

static void does_nothing_in_a_child_and_never_waits(void **state) {
    world *world = *state;
    pthread_t thread;
    afc_websocket_codec codec = stored_codec(NULL);
    serve_echo(world, "/", "Sec-WebSocket-Extensions: permessage-deflate");
    sem_init(&encoding, 0, 0);
    sem_init(&may_go_on, 0, 0);
    convert = codec.convert;
    codec.convert = convert_slowly;
    wire *wire = wire_new(world, "/");
    wire->options.codec = &codec;
    wire->options.compression_threshold = 1;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    pthread_create(&thread, NULL, send_slowly, wire);
    sem_wait(&encoding);
    pid_t child = fork();
    if (child == 0) child_exit(use_in_child(wire));
    child_check(child);
    for (int i = 0; i < 100; i++) sem_post(&may_go_on);
    pthread_join(thread, NULL);
    wire_wait_for(wire, &wire->message_count, 1);
    wire_close(wire);
    wire_wait(wire);
    check_status(wire->failure.status, AFC_OK);
    wire_free(wire);
}

enum { SENDERS = 4, PER_SENDER = 200 };

static void *send_many(void *context) {
    wire *wire = context;
    for (int i = 0; i < PER_SENDER; i++) {
        while (afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("threads"), 0,
                                  NULL) == AFC_EAGAIN) {}
    }
    return NULL;
}

static void threads_send_at_once(void **state) {
    world *world = *state;
    pthread_t threads[SENDERS];
    serve_echo(world, "/", NULL);
    wire *wire = wire_opened(world, "/");
    for (size_t i = 0; i < SENDERS; i++) pthread_create(&threads[i], NULL, send_many, wire);
    for (size_t i = 0; i < SENDERS; i++) pthread_join(threads[i], NULL);
    wire_wait_for(wire, &wire->message_count, SENDERS * PER_SENDER);
    wire_close(wire);
    wire_wait(wire);
    check_status(wire->failure.status, AFC_OK);
    assert_int_equal(atomic_load(&wire->sent_count), SENDERS * PER_SENDER);
    wire_free(wire);
}

/** In any state: during the handshake, a message, the close. */
static void cancel_at_any_moment_ends_once(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    for (int round = 0; round < 60; round++) {
        wire *wire = wire_new(world, "/");
        wire_open(wire, world);
        if (round % 3 > 0) wire_wait_for(wire, &wire->open_count, 1);
        if (round % 2 > 0) wire_send_text(wire, "in flight");
        if (round % 3 > 1) wire_close(wire);
        afc_websocket_cancel(wire->socket);
        if (round % 5 == 0) afc_session_cancel_all(world->session);
        wire_free(wire);
    }
}

static void released_socket_goes_on_until_it_ends(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    wire *wire = wire_opened(world, "/");
    wire_send_text(wire, "in flight");
    wire_close(wire);
    afc_websocket_release(wire->socket);
    wire->socket = NULL;
    check_log(wire, "open;sent ok;text in flight;closed 1000;");
    wire_free(wire);
}

static void session_waits_for_its_sockets(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    wire *wire = wire_opened(world, "/");
    wire_close(wire);
    world_close_session(world);
    assert_int_equal(atomic_load(&wire->release_count), 1);
    wire_free(wire);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(callbacks_may_send_and_close),
        WORLD_TEST(batch_ends_after_every_message),
        WORLD_TEST(cancel_in_on_message_is_the_last_callback_but_one),
        WORLD_TEST(refuses_what_is_sent_after_a_cancel),
        WORLD_TEST(status_of_on_message_ends_the_socket),
        WORLD_TEST(names_the_invalid_number_of_on_message),
        WORLD_TEST(refuses_a_size_without_bytes),
        WORLD_TEST(does_nothing_in_a_child_and_never_waits),
        WORLD_TEST(threads_send_at_once),
        WORLD_TEST(cancel_at_any_moment_ends_once),
        WORLD_TEST(released_socket_goes_on_until_it_ends),
        WORLD_TEST(session_waits_for_its_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
