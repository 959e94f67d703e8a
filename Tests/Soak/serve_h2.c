/*
 * HTTP/2, with as many streams at a time as the client opens. The plan is the first line of a stream's request body,
 * which, unlike header fields, comes uncompressed.
 */
#include "servers.h"
#include "support/h2.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = 128 };

typedef struct stream {
    uint32_t id; /**< 0: free. */
    char line[PLAN_TEXT_SIZE];
    size_t line_size;
    size_t received; /**< Bytes behind the line. */
    soak_plan plan;
    bool has_plan, is_wrong, is_complete;
} stream;

typedef struct connection {
    h2_peer peer;
    stream streams[STREAMS];
    bool is_going; /**< GOAWAY was sent. */
    uint32_t last; /**< The highest stream that was accepted. */
} connection;

static stream *find_stream(connection *connection, uint32_t id) {
    for (size_t i = 0; i < STREAMS; i++) {
        if (connection->streams[i].id == id) return &connection->streams[i];
    }
    return NULL;
}

static void take_data(stream *stream, const char *bytes, size_t size) {
    while (size > 0 && !stream->has_plan) {
        char c = *bytes++;
        size--;
        if (c == '\n') {
            if (!plan_read(&stream->plan, stream->line)) give_up("a stream without a plan");
            stream->has_plan = true;
        } else if (stream->line_size + 1 < sizeof stream->line) {
            stream->line[stream->line_size++] = c;
        }
    }
    if (!stream->has_plan) return;
    if (!is_body(bytes, request_body_id(&stream->plan), stream->received, size)) {
        stream->is_wrong = true;
    }
    stream->received += size;
}

/* ---- Responding ---------------------------------------------------------------------------- */

static bool send_data(connection *connection, const stream *stream, size_t size, bool is_end) {
    h2_peer *peer = &connection->peer;
    size_t step = stream->plan.behaviour == H2_SPLITS_BODY ? size / 7 + 1 : H2_FRAME_MAX;
    char block[H2_FRAME_MAX];
    for (size_t at = 0; at < size || at == 0;) {
        size_t count = size - at < step ? size - at : step;
        fill_body(block, stream->plan.id, at, count);
        bool is_last = at + count == size;
        if (!h2_send(peer, H2_DATA, is_last && is_end ? H2_END_STREAM : 0, stream->id, block,
                     count)) {
            return false;
        }
        peer->window -= (int64_t)count;
        at += count;
        if (is_last) break;
    }
    return true;
}

static bool respond(connection *connection, stream *stream) {
    h2_peer *peer = &connection->peer;
    size_t size = stream->plan.response_size;
    if (stream->is_wrong || stream->received != stream->plan.request_size) {
        return h2_send_head(peer, stream->id, 500, H2_END_STREAM);
    }
    switch (stream->plan.behaviour) {
    case H2_RESPONDS_WITHOUT_BODY:
        return h2_send_head(peer, stream->id, 204, H2_END_STREAM);
    case H2_RESETS_STREAM:
        return h2_send_reset(peer, stream->id, H2_INTERNAL_ERROR);
    case H2_REFUSES_STREAM:
        return h2_send_reset(peer, stream->id, H2_REFUSED_STREAM);
    case H2_RESETS_IN_BODY:
        return h2_send_head(peer, stream->id, 200, 0) &&
               send_data(connection, stream, size / 2, false) &&
               h2_send_reset(peer, stream->id, H2_CANCEL);
    case H2_CLOSES:
        return false;
    case H2_SENDS_GOAWAY:
        connection->is_going = true;
        return h2_send_head(peer, stream->id, 200, 0) &&
               send_data(connection, stream, size, true) &&
               h2_send_goaway(peer, connection->last, H2_NO_ERROR);
    default:
        return h2_send_head(peer, stream->id, 200, 0) && send_data(connection, stream, size, true);
    }
}

/** Responds to what is complete and fits into the connection's window. False: the connection ends. */
static bool respond_to_all(connection *connection) {
    bool has_streams = false;
    for (size_t i = 0; i < STREAMS; i++) {
        stream *stream = &connection->streams[i];
        if (stream->id == 0) continue;
        if (stream->is_complete && connection->peer.window >= (int64_t)stream->plan.response_size) {
            if (!respond(connection, stream)) return false;
            stream->id = 0;
        } else {
            has_streams = true;
        }
    }
    return has_streams || !connection->is_going;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static bool take_head(connection *connection) {
    const h2_frame *frame = &connection->peer.frame;
    if (connection->is_going) return true;
    stream *stream = find_stream(connection, 0);
    if (stream == NULL) return h2_send_reset(&connection->peer, frame->stream, H2_REFUSED_STREAM);
    *stream = (struct stream){.id = frame->stream};
    stream->is_complete = (frame->flags & H2_END_STREAM) != 0;
    connection->last = frame->stream;
    return true;
}

static bool take_frame(connection *connection) {
    const h2_frame *frame = &connection->peer.frame;
    stream *stream = frame->stream != 0 ? find_stream(connection, frame->stream) : NULL;
    switch (frame->type) {
    case H2_HEADERS:
        return take_head(connection);
    case H2_DATA:
        if (frame->size > 0 && !h2_send_window(&connection->peer, 0, (uint32_t)frame->size)) {
            return false;
        }
        if (stream != NULL) {
            take_data(stream, (const char *)frame->payload, frame->size);
            stream->is_complete = (frame->flags & H2_END_STREAM) != 0;
        }
        return true;
    case H2_RST_STREAM:
        if (stream != NULL) stream->id = 0;
        return true;
    default:
        return true;
    }
}

void serve_h2(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request, (void)payload;
    connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) give_up("out of memory");
    if (h2_begin(&connection->peer, conn)) {
        while (h2_read(&connection->peer) && take_frame(connection) && respond_to_all(connection)) {
        }
    }
    free(connection);
}
