#include "support/recorded_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Recording ----------------------------------------------------------------------------- */

static void write_log(recorded_socket *socket, const char *what, afc_slice bytes, const char *end) {
    size_t used = strlen(socket->log);
    int shown = bytes.size < 40 ? (int)bytes.size : 40;
    const char *mark = bytes.size > 0 ? " " : "";
    snprintf(socket->log + used, sizeof(socket->log) - used, "%s%s%.*s%s;", what, mark, shown,
             bytes.bytes != NULL ? bytes.bytes : "", end);
}

static void count(recorded_socket *socket, atomic_uint *counter) {
    atomic_fetch_add(counter, 1);
    pthread_cond_broadcast(&socket->changed);
}

static void on_open(void *context, const afc_websocket_opening *opening) {
    recorded_socket *socket = context;
    pthread_mutex_lock(&socket->lock);
    socket->is_compressed = opening->is_compressed;
    write_log(socket, "open", opening->protocol, "");
    count(socket, &socket->open_count);
    pthread_mutex_unlock(&socket->lock);
    if (socket->at_open != NULL) socket->at_open(socket);
}

static afc_status on_message(void *context, const afc_websocket_message *message) {
    recorded_socket *socket = context;
    if (socket->at_message != NULL) {
        afc_status status = socket->at_message(socket, message);
        if (status != AFC_OK) return status;
    }
    pthread_mutex_lock(&socket->lock);
    const char *kind = message->kind == AFC_WEBSOCKET_TEXT ? "text" : "binary";
    write_log(socket, message->is_first ? kind : "more", message->bytes,
              message->is_last ? "" : "+");
    atomic_fetch_add(&socket->received, message->bytes.size);
    count(socket, &socket->message_count);
    pthread_mutex_unlock(&socket->lock);
    return AFC_OK;
}

static void on_sent(void *context, void *message_context, afc_status status) {
    recorded_socket *socket = context;
    (void)message_context;
    if (socket->at_sent != NULL) socket->at_sent(socket, status);
    pthread_mutex_lock(&socket->lock);
    write_log(socket, "sent", afc_slice_of(afc_status_name(status)), "");
    count(socket, &socket->sent_count);
    pthread_mutex_unlock(&socket->lock);
}

static void on_pong(void *context, afc_slice payload, int64_t round_trip_us) {
    recorded_socket *socket = context;
    pthread_mutex_lock(&socket->lock);
    write_log(socket, round_trip_us >= 0 ? "pong" : "stray", payload, "");
    atomic_store(&socket->round_trip_us, round_trip_us);
    count(socket, &socket->pong_count);
    pthread_mutex_unlock(&socket->lock);
}

static void on_closed(void *context, const afc_websocket_end *end) {
    recorded_socket *socket = context;
    char what[32];
    pthread_mutex_lock(&socket->lock);
    socket->failure = end->failure;
    socket->code = end->code;
    const afc_head *head = afc_result_get_head(end->result);
    socket->status = head != NULL ? head->status : 0;
    socket->body_status = afc_result_get_failure(end->result)->status;
    afc_slice body = afc_result_get_body(end->result);
    socket->body_size = (size_t)afc_result_get_body_size(end->result);
    socket->body = malloc(body.size + 1);
    if (socket->body != NULL) {
        memcpy(socket->body, body.bytes, body.size);
        socket->body[body.size] = '\0';
    }
    snprintf(what, sizeof what, "closed %u", (unsigned)end->code);
    write_log(socket, what, end->reason, "");
    count(socket, &socket->closed_count);
    pthread_mutex_unlock(&socket->lock);
}

static void on_release(void *context) {
    recorded_socket *socket = context;
    pthread_mutex_lock(&socket->lock);
    count(socket, &socket->release_count);
    pthread_mutex_unlock(&socket->lock);
}

/* ---- Making and waiting -------------------------------------------------------------------- */

recorded_socket *socket_new(fixture *fixture, const char *path) {
    recorded_socket *socket = calloc(1, sizeof *socket);
    assert_non_null(socket);
    pthread_mutex_init(&socket->lock, NULL);
    pthread_cond_init(&socket->changed, NULL);
    socket->request = (afc_request)AFC_REQUEST_INIT;
    socket->request.url = url_of(fixture, path);
    socket->options = (afc_websocket_options)AFC_WEBSOCKET_OPTIONS_INIT;
    socket->options.close_timeout_ms = PATIENCE_MS;
    socket->options.open_timeout_ms = PATIENCE_MS;
    socket->events = (afc_websocket_events)AFC_WEBSOCKET_EVENTS_INIT;
    socket->events.context = socket;
    socket->events.on_open = on_open;
    socket->events.on_message = on_message;
    socket->events.on_sent = on_sent;
    socket->events.on_pong = on_pong;
    socket->events.on_closed = on_closed;
    socket->events.release = on_release;
    return socket;
}

void socket_open(recorded_socket *socket, fixture *fixture) {
    afc_failure failure;
    afc_status status = afc_websocket_open(&socket->socket, fixture->session, &socket->request,
                                           &socket->options, &socket->events, &failure);
    if (status != AFC_OK) fail_msg("refused: %s", failure.text);
}

static void wait_until(recorded_socket *socket, atomic_uint *counter, unsigned wanted,
                       bool may_end) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&socket->lock);
    while (error == 0 && atomic_load(counter) < wanted &&
           (may_end || atomic_load(&socket->release_count) == 0)) {
        error = pthread_cond_timedwait(&socket->changed, &socket->lock, &until);
    }
    bool has_come = atomic_load(counter) >= wanted;
    pthread_mutex_unlock(&socket->lock);
    if (!has_come) {
        fail_msg("waited in vain; log: %s, failure: %s", socket->log, socket->failure.text);
    }
}

void socket_wait_for(recorded_socket *socket, atomic_uint *counter, unsigned wanted) {
    wait_until(socket, counter, wanted, false);
}

void socket_wait(recorded_socket *socket) {
    wait_until(socket, &socket->release_count, 1, true);
}

recorded_socket *socket_opened(fixture *fixture, const char *path) {
    recorded_socket *socket = socket_new(fixture, path);
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    return socket;
}

void socket_free(recorded_socket *socket) {
    if (socket->socket != NULL) {
        socket_wait(socket);
        assert_int_equal(atomic_load(&socket->closed_count), 1);
        assert_int_equal(atomic_load(&socket->release_count), 1);
        afc_websocket_release(socket->socket);
    }
    pthread_cond_destroy(&socket->changed);
    pthread_mutex_destroy(&socket->lock);
    free(socket->body);
    free(socket);
}

void socket_send_text(recorded_socket *socket, const char *text) {
    check_status(
        afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of(text), 0, NULL),
        AFC_OK);
}

void socket_close(recorded_socket *socket) {
    check_status(afc_websocket_close(socket->socket, AFC_WEBSOCKET_NORMAL, afc_slice_of("")),
                 AFC_OK);
}

void check_log_at(recorded_socket *socket, const char *expected, const char *file, int line) {
    socket_wait(socket);
    if (strcmp(socket->log, expected) == 0) return;
    print_error("log: %s\nexpected: %s\nfailure: %s\n", socket->log, expected,
                socket->failure.text);
    _fail(file, line);
}

/* ---- Servers ------------------------------------------------------------------------------- */

void serve_socket_bytes(fixture *fixture, const char *path, afc_slice bytes) {
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send(script, bytes.bytes, bytes.size);
    afts_wait_peer_close(script);
    serve(fixture, path, script);
}

void serve_echo(fixture *fixture, const char *path, const char *headers) {
    afts_script *script = afts_script_new();
    afts_upgrade(script, headers);
    afts_echo_frames(script);
    serve(fixture, path, script);
}

/* ---- The codec ----------------------------------------------------------------------------- */

enum { LONGEST_BLOCK = 4096, BLOCK_HEAD = 5 };

typedef struct stored_stream {
    atomic_int *open_streams;
    bool encodes;
    unsigned char head[BLOCK_HEAD]; /**< Decoding: of the next block. */
    size_t head_size, left;
    unsigned char pending[BLOCK_HEAD + LONGEST_BLOCK]; /**< Encoding: what has no room yet. */
    size_t pending_size, pending_offset;
    bool is_flushed;
} stored_stream;

static void *open_stored(void *context, bool encodes, int window_bits) {
    if (window_bits < 8 || window_bits > 15) return NULL;
    stored_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->encodes = encodes;
    stream->is_flushed = true;
    stream->open_streams = context;
    if (context != NULL) atomic_fetch_add(stream->open_streams, 1);
    return stream;
}

static void put_block(stored_stream *stream, const char *bytes, size_t size) {
    stream->pending[0] = 0;
    stream->pending[1] = (unsigned char)size;
    stream->pending[2] = (unsigned char)(size >> 8);
    stream->pending[3] = (unsigned char)~size;
    stream->pending[4] = (unsigned char)(~size >> 8);
    if (size > 0) memcpy(stream->pending + BLOCK_HEAD, bytes, size);
    stream->pending_size = BLOCK_HEAD + size;
    stream->pending_offset = 0;
}

static void encode_stored(stored_stream *stream, afc_slice *input, char *output, size_t *size) {
    size_t room = *size;
    *size = 0;
    for (;;) {
        size_t left = stream->pending_size - stream->pending_offset;
        size_t part = left < room - *size ? left : room - *size;
        memcpy(output + *size, stream->pending + stream->pending_offset, part);
        stream->pending_offset += part;
        *size += part;
        if (*size == room) return;
        if (input->size > 0) {
            size_t block = input->size < LONGEST_BLOCK ? input->size : LONGEST_BLOCK;
            put_block(stream, input->bytes, block);
            input->bytes += block;
            input->size -= block;
            stream->is_flushed = false;
        } else if (!stream->is_flushed) {
            put_block(stream, NULL, 0);
            stream->is_flushed = true;
        } else {
            return;
        }
    }
}

static afc_status decode_stored(stored_stream *stream, afc_slice *input, char *output,
                                size_t *size) {
    size_t room = *size;
    *size = 0;
    while (input->size > 0 && *size < room) {
        if (stream->left > 0) {
            size_t part = stream->left < input->size ? stream->left : input->size;
            if (part > room - *size) part = room - *size;
            memcpy(output + *size, input->bytes, part);
            *size += part;
            stream->left -= part;
            input->bytes += part;
            input->size -= part;
            continue;
        }
        stream->head[stream->head_size++] = (unsigned char)*input->bytes++;
        input->size--;
        if (stream->head_size < BLOCK_HEAD) continue;
        stream->head_size = 0;
        stream->left = (size_t)stream->head[1] | (size_t)stream->head[2] << 8;
        size_t check = (size_t)stream->head[3] | (size_t)stream->head[4] << 8;
        if (stream->head[0] != 0 || (stream->left ^ check) != 0xffff) return AFC_EPROTOCOL;
    }
    return AFC_OK;
}

static afc_status convert_stored(void *context, afc_slice *input, char *output, size_t *size) {
    stored_stream *stream = context;
    if (!stream->encodes) return decode_stored(stream, input, output, size);
    encode_stored(stream, input, output, size);
    return AFC_OK;
}

static void reset_stored(void *context) {
    stored_stream *stream = context;
    stream->head_size = stream->left = 0;
}

static void close_stored(void *context) {
    stored_stream *stream = context;
    if (stream->open_streams != NULL) atomic_fetch_sub(stream->open_streams, 1);
    free(stream);
}

afc_websocket_codec stored_codec(atomic_int *open_streams) {
    return (afc_websocket_codec){open_streams, open_stored, convert_stored, reset_stored,
                                 close_stored};
}
