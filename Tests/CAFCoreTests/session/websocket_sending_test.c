/* Messages that take long to compress: nothing but their own thread waits for them. */
#include "support/child.h"
#include "support/recorded_socket.h"

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- A codec with a context, whose encoder can be stopped -------------------------------------- */

/**
 * Blocks of stored bytes, each changed by the number of bytes before it in the stream: what was encoded in another
 * order than it was sent in is decoded to something else.
 */
typedef struct context_codec {
    afc_websocket_codec table, stored;
    atomic_int streams;
    atomic_int encoding;    /* Threads in the encoder: at most one. */
    atomic_bool is_misused; /* There were two. */
    bool stops;             /* The encoder waits for `may_go_on`, once. */
    bool fails;             /* The encoder has no memory. */
    sem_t has_stopped, may_go_on;
} context_codec;

typedef struct context_stream {
    context_codec *codec;
    void *stored;
    bool encodes;
    unsigned char count;
} context_stream;

static void *open_context(void *context, bool encodes, int window_bits) {
    context_codec *codec = context;
    context_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) return NULL;
    *stream = (context_stream){codec, codec->stored.open(&codec->streams, encodes, window_bits),
                               encodes, 0};
    if (stream->stored != NULL) return stream;
    free(stream);
    return NULL;
}

static void close_context(void *stream) {
    context_stream *own = stream;
    own->codec->stored.close(own->stored);
    free(own);
}

static void reset_context(void *stream) {
    context_stream *own = stream;
    own->codec->stored.reset(own->stored);
    own->count = 0;
}

static void change(context_stream *stream, char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)((unsigned char)bytes[i] ^ stream->count++);
    }
}

static afc_status encode(context_stream *stream, afc_slice *input, char *output, size_t *size) {
    context_codec *codec = stream->codec;
    char changed[256];
    if (atomic_fetch_add(&codec->encoding, 1) != 0) atomic_store(&codec->is_misused, true);
    if (codec->stops) {
        codec->stops = false;
        sem_post(&codec->has_stopped);
        sem_wait(&codec->may_go_on);
    }
    if (codec->fails) {
        atomic_fetch_sub(&codec->encoding, 1);
        return AFC_ENOMEM;
    }
    /* The messages of these tests are short, so one call takes all. */
    afc_slice copy = {changed, input->size < sizeof changed ? input->size : sizeof changed};
    if (copy.size > 0) memcpy(changed, input->bytes, copy.size);
    change(stream, changed, copy.size);
    input->bytes += copy.size;
    input->size -= copy.size;
    afc_status status = codec->stored.convert(stream->stored, &copy, output, size);
    atomic_fetch_sub(&codec->encoding, 1);
    return status;
}

static afc_status convert_context(void *stream, afc_slice *input, char *output, size_t *size) {
    context_stream *own = stream;
    if (own->encodes) return encode(own, input, output, size);
    afc_status status = own->codec->stored.convert(own->stored, input, output, size);
    if (status == AFC_OK) change(own, output, *size);
    return status;
}

static void codec_init(context_codec *codec, bool stops) {
    *codec = (context_codec){.stored = stored_codec(NULL), .stops = stops};
    codec->table = (afc_websocket_codec){codec, open_context, convert_context, reset_context,
                                         close_context};
    sem_init(&codec->has_stopped, 0, 0);
    sem_init(&codec->may_go_on, 0, 0);
}

static void codec_clear(context_codec *codec) {
    assert_int_equal(atomic_load(&codec->streams), 0);
    assert_false(atomic_load(&codec->is_misused));
    sem_destroy(&codec->has_stopped);
    sem_destroy(&codec->may_go_on);
}

/** Makes a socket to an echo server that compresses with this codec, not opened. */
static recorded_socket *make_with(fixture *fixture, context_codec *codec) {
    serve_echo(fixture, "/", "Sec-WebSocket-Extensions: permessage-deflate");
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.codec = &codec->table;
    socket->options.compression_threshold = 1;
    return socket;
}

static void open_compressed(recorded_socket *socket, fixture *fixture) {
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    assert_true(socket->is_compressed);
}

/* ---- A message that is being compressed ---------------------------------------------------------- */

typedef struct slow {
    fixture *fixture;
    context_codec codec;
    recorded_socket *recorded;
    afc_websocket *socket; /* The thread's reference. */
    pthread_t thread;
    afc_status status;
} slow;

static void *send_slowly(void *context) {
    slow *slow = context;
    slow->status = afc_websocket_send(slow->socket, AFC_WEBSOCKET_TEXT, S("slow"), 0, NULL);
    afc_websocket_release(slow->socket);
    return NULL;
}

/** Opens the socket of slow->recorded, and returns while a thread that sends "slow" is in the encoder. */
static void slow_begin(slow *slow) {
    open_compressed(slow->recorded, slow->fixture);
    slow->socket = afc_websocket_retain(slow->recorded->socket);
    assert_int_equal(pthread_create(&slow->thread, NULL, send_slowly, slow), 0);
    sem_wait(&slow->codec.has_stopped);
}

static void slow_init(slow *slow, fixture *fixture) {
    slow->fixture = fixture;
    codec_init(&slow->codec, true);
    slow->recorded = make_with(fixture, &slow->codec);
}

static void slow_start(slow *slow, fixture *fixture) {
    slow_init(slow, fixture);
    slow_begin(slow);
}

/** Lets the encoder go on, and checks what the thread's call returns. */
static void slow_finish(slow *slow, afc_status expected) {
    sem_post(&slow->codec.may_go_on);
    pthread_join(slow->thread, NULL);
    check_status(slow->status, expected);
}

static void slow_free(slow *slow) {
    socket_free(slow->recorded);
    codec_clear(&slow->codec);
}

static void close_and_check(recorded_socket *socket) {
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
}

/* ---- Tests --------------------------------------------------------------------- */

static void loop_goes_on_while_a_message_is_compressed(void **state) {
    slow slow;
    slow_start(&slow, *state);
    check_status(afc_websocket_ping(slow.recorded->socket, S("p")), AFC_OK);
    socket_wait_for(slow.recorded, &slow.recorded->pong_count, 1);
    assert_int_equal(afc_websocket_get_queued(slow.recorded->socket), 0);
    slow_finish(&slow, AFC_OK);
    socket_wait_for(slow.recorded, &slow.recorded->message_count, 1);
    close_and_check(slow.recorded);
    slow_free(&slow);
}

/** A pong is reported by the loop, which answers with a message. */
static void send_at_pong(void *context, afc_slice payload, int64_t round_trip_us) {
    recorded_socket *socket = context;
    (void)round_trip_us;
    (void)afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, payload, 0, NULL);
}

static void callback_sends_while_a_message_is_compressed(void **state) {
    slow slow;
    slow_init(&slow, *state);
    slow.recorded->events.on_pong = send_at_pong;
    slow_begin(&slow);
    check_status(afc_websocket_ping(slow.recorded->socket, S("fast")), AFC_OK);
    socket_wait_for(slow.recorded, &slow.recorded->message_count, 1);
    slow_finish(&slow, AFC_OK);
    socket_wait_for(slow.recorded, &slow.recorded->message_count, 2);
    /* The decoder doesn't see what wasn't compressed. */
    socket_send_text(slow.recorded, "next");
    socket_wait_for(slow.recorded, &slow.recorded->message_count, 3);
    socket_close(slow.recorded);
    check_log(slow.recorded,
              "open;sent ok;text fast;sent ok;text slow;sent ok;text next;closed 1000;");
    slow_free(&slow);
}

/** The stream of the codec is then closed by the thread that used it. */
/** Nothing else could be sent, so the socket ends; its end says why. */
static void piece_that_cannot_be_compressed_ends_the_socket(void **state) {
    context_codec codec;
    codec_init(&codec, false);
    recorded_socket *socket = make_with(*state, &codec);
    open_compressed(socket, *state);
    check_status(
        afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("one"), AFC_WEBSOCKET_MORE, NULL),
        AFC_OK);
    codec.fails = true;
    check_status(
        afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("two"), AFC_WEBSOCKET_MORE, NULL),
        AFC_ENOMEM);
    check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("three"), 0, NULL),
                 AFC_ECLOSED);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_ENOMEM);
    check_contains(socket->failure.text, "cannot compress");
    socket_free(socket);
    codec_clear(&codec);
}

static void cancel_ends_a_socket_while_a_message_is_compressed(void **state) {
    slow slow;
    slow_start(&slow, *state);
    afc_websocket_cancel(slow.recorded->socket);
    socket_wait(slow.recorded);
    check_status(slow.recorded->failure.status, AFC_ECANCELED);
    slow_finish(&slow, AFC_ECLOSED);
    assert_int_equal(atomic_load(&slow.recorded->sent_count), 0);
    assert_int_equal(atomic_load(&slow.codec.streams), 0);
    slow_free(&slow);
}

static void close_does_not_wait_for_a_message_that_is_compressed(void **state) {
    slow slow;
    slow_start(&slow, *state);
    socket_close(slow.recorded);
    check_log(slow.recorded, "open;closed 1000;");
    check_status(slow.recorded->failure.status, AFC_OK);
    slow_finish(&slow, AFC_ECLOSED);
    slow_free(&slow);
}

static void session_ends_while_a_message_is_compressed(void **state) {
    slow slow;
    slow_start(&slow, *state);
    socket_close(slow.recorded);
    fixture_close_session(slow.fixture);
    assert_int_equal(atomic_load(&slow.recorded->release_count), 1);
    socket_free(slow.recorded);
    slow_finish(&slow, AFC_ECLOSED);
    codec_clear(&slow.codec);
}

static void fork_does_not_wait_for_a_message_that_is_compressed(void **state) {
    slow slow;
    slow_start(&slow, *state);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        afc_websocket *socket = slow.recorded->socket;
        afc_status status = afc_websocket_send(socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL);
        afc_websocket_release(socket);
        child_exit(status == AFC_ECLOSED ? 0 : 1);
    }
    child_check(child);
    slow_finish(&slow, AFC_OK);
    socket_wait_for(slow.recorded, &slow.recorded->message_count, 1);
    close_and_check(slow.recorded);
    slow_free(&slow);
}

/* ---- Several threads --------------------------------------------------------------------------- */

enum { SENDERS = 4 };

static int per_sender(void) {
    return (int)test_amount(100, 20);
}

typedef struct numbered {
    recorded_socket *socket;
    char name;
    pthread_t thread;
} numbered;

static void *send_numbered(void *context) {
    numbered *own = context;
    char text[16];
    for (int i = 0; i < per_sender(); i++) {
        snprintf(text, sizeof text, "%c%04d", own->name, i);
        while (afc_websocket_send(own->socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of(text), 0,
                                  NULL) == AFC_EAGAIN) {
            sched_yield();
        }
    }
    return NULL;
}

/**
 * Checks that the numbers of each sender come in order; and answers some on the loop thread, which must come back as
 * well.
 */
static afc_status check_order(recorded_socket *socket, const afc_websocket_message *message) {
    int *next = socket->payload;
    char expected[8];
    const char *bytes = message->bytes.bytes;
    if (message->bytes.size != 5 || memchr("abcdL", bytes[0], 5) == NULL) return AFC_EPROTOCOL;
    if (bytes[0] == 'L') return AFC_OK;
    snprintf(expected, sizeof expected, "%c%04d", bytes[0], next[bytes[0] - 'a']++);
    if (memcmp(bytes, expected, 5) != 0) return AFC_EPROTOCOL;
    return afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("Lloop"), 0, NULL);
}

static void threads_and_callbacks_send_in_the_order_of_compression(void **state) {
    fixture *fixture = *state;
    context_codec codec;
    numbered senders[SENDERS];
    int next[SENDERS] = {0};
    codec_init(&codec, false);
    recorded_socket *socket = make_with(fixture, &codec);
    socket->at_message = check_order;
    socket->payload = next;
    open_compressed(socket, fixture);
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (numbered){.socket = socket, .name = (char)('a' + i)};
        pthread_create(&senders[i].thread, NULL, send_numbered, &senders[i]);
    }
    for (size_t i = 0; i < SENDERS; i++) pthread_join(senders[i].thread, NULL);
    socket_wait_for(socket, &socket->message_count, 2 * SENDERS * (size_t)per_sender());
    close_and_check(socket);
    socket_free(socket);
    codec_clear(&codec);
}

/** Threads send until they learn of the end, which comes at any moment. */
static void *send_until_closed(void *context) {
    afc_websocket *socket = context;
    afc_status status;
    do {
        status = afc_websocket_send(socket, AFC_WEBSOCKET_TEXT, S("again"), 0, NULL);
        if (status == AFC_EAGAIN) sched_yield();
    } while (status == AFC_OK || status == AFC_EAGAIN);
    afc_websocket_release(socket);
    return status == AFC_ECLOSED ? NULL : context;
}

static void socket_ends_at_any_moment_of_sending(void **state) {
    fixture *fixture = *state;
    for (size_t round = 0; round < test_amount(20, 4); round++) {
        context_codec codec;
        pthread_t threads[2];
        codec_init(&codec, false);
        recorded_socket *socket = make_with(fixture, &codec);
        /* All that is queued is sent before the close frame: with the usual limit, more than a million messages. */
        socket->options.limits.queue_bytes = 4096;
        open_compressed(socket, fixture);
        for (size_t i = 0; i < 2; i++) {
            pthread_create(&threads[i], NULL, send_until_closed,
                           afc_websocket_retain(socket->socket));
        }
        socket_wait_for(socket, &socket->message_count, (unsigned)round);
        if (round % 2 == 0) {
            afc_websocket_cancel(socket->socket);
        } else {
            socket_close(socket);
        }
        for (size_t i = 0; i < 2; i++) {
            void *failure;
            pthread_join(threads[i], &failure);
            assert_null(failure);
        }
        socket_free(socket);
        codec_clear(&codec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(loop_goes_on_while_a_message_is_compressed),
        FIXTURE_TEST(callback_sends_while_a_message_is_compressed),
        FIXTURE_TEST(piece_that_cannot_be_compressed_ends_the_socket),
        FIXTURE_TEST(cancel_ends_a_socket_while_a_message_is_compressed),
        FIXTURE_TEST(close_does_not_wait_for_a_message_that_is_compressed),
        FIXTURE_TEST(session_ends_while_a_message_is_compressed),
        FIXTURE_TEST(fork_does_not_wait_for_a_message_that_is_compressed),
        FIXTURE_TEST(threads_and_callbacks_send_in_the_order_of_compression),
        FIXTURE_TEST(socket_ends_at_any_moment_of_sending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
