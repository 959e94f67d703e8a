#include "support/websocket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Recording ----------------------------------------------------------------------------- */

static void write_log(wire *wire, const char *what, afc_slice bytes, const char *end) {
    size_t used = strlen(wire->log);
    int shown = bytes.size < 40 ? (int)bytes.size : 40;
    const char *mark = bytes.size > 0 ? " " : "";
    snprintf(wire->log + used, sizeof wire->log - used, "%s%s%.*s%s;", what, mark, shown,
             bytes.bytes != NULL ? bytes.bytes : "", end);
}

static void count(wire *wire, atomic_uint *counter) {
    atomic_fetch_add(counter, 1);
    pthread_cond_broadcast(&wire->changed);
}

static void on_open(void *context, const afc_websocket_opening *opening) {
    wire *wire = context;
    pthread_mutex_lock(&wire->lock);
    wire->is_compressed = opening->is_compressed;
    write_log(wire, "open", opening->protocol, "");
    count(wire, &wire->open_count);
    pthread_mutex_unlock(&wire->lock);
    if (wire->at_open != NULL) wire->at_open(wire);
}

static afc_status on_message(void *context, const afc_websocket_message *message) {
    wire *wire = context;
    if (wire->at_message != NULL) {
        afc_status status = wire->at_message(wire, message);
        if (status != AFC_OK) return status;
    }
    pthread_mutex_lock(&wire->lock);
    const char *kind = message->kind == AFC_WEBSOCKET_TEXT ? "text" : "binary";
    write_log(wire, message->is_first ? kind : "more", message->bytes, message->is_last ? "" : "+");
    atomic_fetch_add(&wire->received, message->bytes.size);
    count(wire, &wire->message_count);
    pthread_mutex_unlock(&wire->lock);
    return AFC_OK;
}

static void on_sent(void *context, void *message_context, afc_status status) {
    wire *wire = context;
    (void)message_context;
    if (wire->at_sent != NULL) wire->at_sent(wire, status);
    pthread_mutex_lock(&wire->lock);
    write_log(wire, "sent", afc_slice_of(afc_status_name(status)), "");
    count(wire, &wire->sent_count);
    pthread_mutex_unlock(&wire->lock);
}

static void on_pong(void *context, afc_slice payload, int64_t round_trip_us) {
    wire *wire = context;
    pthread_mutex_lock(&wire->lock);
    write_log(wire, round_trip_us >= 0 ? "pong" : "stray", payload, "");
    atomic_store(&wire->round_trip_us, round_trip_us);
    count(wire, &wire->pong_count);
    pthread_mutex_unlock(&wire->lock);
}

static void on_closed(void *context, const afc_websocket_end *end) {
    wire *wire = context;
    char what[32];
    pthread_mutex_lock(&wire->lock);
    wire->failure = end->failure;
    wire->code = end->code;
    const afc_head *head = afc_result_get_head(end->result);
    wire->status = head != NULL ? head->status : 0;
    wire->body_status = afc_result_get_failure(end->result)->status;
    afc_slice body = afc_result_get_body(end->result);
    wire->body_size = body.size;
    wire->body = malloc(body.size + 1);
    if (wire->body != NULL) {
        memcpy(wire->body, body.bytes, body.size);
        wire->body[body.size] = '\0';
    }
    snprintf(what, sizeof what, "closed %u", (unsigned)end->code);
    write_log(wire, what, end->reason, "");
    count(wire, &wire->closed_count);
    pthread_mutex_unlock(&wire->lock);
}

static void on_release(void *context) {
    wire *wire = context;
    pthread_mutex_lock(&wire->lock);
    count(wire, &wire->release_count);
    pthread_mutex_unlock(&wire->lock);
}

/* ---- Making and waiting -------------------------------------------------------------------- */

wire *wire_new(world *world, const char *path) {
    wire *wire = calloc(1, sizeof *wire);
    assert_non_null(wire);
    pthread_mutex_init(&wire->lock, NULL);
    pthread_cond_init(&wire->changed, NULL);
    wire->request = (afc_request)AFC_REQUEST_INIT;
    wire->request.url = url_of(world, path);
    wire->options = (afc_websocket_options)AFC_WEBSOCKET_OPTIONS_INIT;
    wire->options.close_timeout_ms = PATIENCE_MS;
    wire->options.open_timeout_ms = PATIENCE_MS;
    wire->events = (afc_websocket_events)AFC_WEBSOCKET_EVENTS_INIT;
    wire->events.context = wire;
    wire->events.on_open = on_open;
    wire->events.on_message = on_message;
    wire->events.on_sent = on_sent;
    wire->events.on_pong = on_pong;
    wire->events.on_closed = on_closed;
    wire->events.release = on_release;
    return wire;
}

void wire_open(wire *wire, world *world) {
    afc_failure failure;
    afc_status status = afc_websocket_open(&wire->socket, world->session, &wire->request,
                                           &wire->options, &wire->events, &failure);
    if (status != AFC_OK) fail_msg("refused: %s", failure.text);
}

static void wait_until(wire *wire, atomic_uint *counter, unsigned wanted, bool may_end) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&wire->lock);
    while (error == 0 && atomic_load(counter) < wanted &&
           (may_end || atomic_load(&wire->release_count) == 0)) {
        error = pthread_cond_timedwait(&wire->changed, &wire->lock, &until);
    }
    bool has_come = atomic_load(counter) >= wanted;
    pthread_mutex_unlock(&wire->lock);
    if (!has_come) {
        fail_msg("waited in vain; log: %s, failure: %s", wire->log, wire->failure.text);
    }
}

void wire_wait_for(wire *wire, atomic_uint *counter, unsigned wanted) {
    wait_until(wire, counter, wanted, false);
}

void wire_wait(wire *wire) {
    wait_until(wire, &wire->release_count, 1, true);
}

wire *wire_opened(world *world, const char *path) {
    wire *wire = wire_new(world, path);
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    return wire;
}

void wire_free(wire *wire) {
    if (wire->socket != NULL) {
        wire_wait(wire);
        assert_int_equal(atomic_load(&wire->closed_count), 1);
        assert_int_equal(atomic_load(&wire->release_count), 1);
        afc_websocket_release(wire->socket);
    }
    pthread_cond_destroy(&wire->changed);
    pthread_mutex_destroy(&wire->lock);
    free(wire->body);
    free(wire);
}

void wire_send_text(wire *wire, const char *text) {
    check_status(afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of(text), 0, NULL),
                 AFC_OK);
}

void wire_close(wire *wire) {
    check_status(afc_websocket_close(wire->socket, AFC_WEBSOCKET_NORMAL, afc_slice_of("")), AFC_OK);
}

void check_log_at(wire *wire, const char *expected, const char *file, int line) {
    wire_wait(wire);
    if (strcmp(wire->log, expected) == 0) return;
    print_error("log: %s\nexpected: %s\nfailure: %s\n", wire->log, expected, wire->failure.text);
    _fail(file, line);
}

/* ---- Servers ------------------------------------------------------------------------------- */

void serve_wire(world *world, const char *path, afc_slice bytes) {
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send(script, bytes.bytes, bytes.size);
    afts_wait_peer_close(script);
    serve(world, path, script);
}

void serve_echo(world *world, const char *path, const char *headers) {
    afts_script *script = afts_script_new();
    afts_upgrade(script, headers);
    afts_echo_frames(script);
    serve(world, path, script);
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
