#include "websocket/reader.h"

#include "base/failure.h"

enum {
    DEFAULT_FRAGMENTS = 16384,
    DEFAULT_RATIO = 250,
    RATIO_STARTS_AT = 1024 * 1024,
    PIECE = 16 * 1024,
    KEPT_MEMORY = 64 * 1024 /* Memory of a message that is kept for the next one. */
};

static const uint64_t default_message = 16 * 1024 * 1024;

/** The bytes at the end of every flushed block, which the sender has left out (RFC 7692 7.2.2). */
static const char tail[4] = {0x00, 0x00, (char)0xff, (char)0xff};

void afc__websocket_reader_init(afc__websocket_reader *reader, const afc_websocket_limits *limits,
                                bool deliver_in_pieces) {
    *reader = (afc__websocket_reader){.limits = *limits, .deliver_in_pieces = deliver_in_pieces};
    afc_websocket_limits *own = &reader->limits;
    if (own->message_bytes == 0) own->message_bytes = default_message;
    if (own->frame_bytes == 0) own->frame_bytes = own->message_bytes;
    if (own->fragments == 0) own->fragments = DEFAULT_FRAGMENTS;
    if (own->decoding_ratio == 0) own->decoding_ratio = DEFAULT_RATIO;
    afc__buffer_init(&reader->body, deliver_in_pieces ? PIECE : own->message_bytes);
}

void afc__websocket_reader_clear(afc__websocket_reader *reader) {
    afc__buffer_clear(&reader->body);
    if (reader->decoder.stream != NULL) reader->decoder.codec->close(reader->decoder.stream);
    reader->decoder = (afc__decoder){0};
    reader->state = AFC__READING_ENDED;
}

void afc__websocket_reader_release_message(afc__websocket_reader *reader) {
    if (!reader->was_given) return;
    reader->body.size = 0;
    if (reader->body.capacity > KEPT_MEMORY) afc__buffer_clear(&reader->body);
}

/* ---- Failures ------------------------------------------------------------------------------ */

/** Sets the failure and the close code for a broken rule. Returns the status. */
static afc_status refuse(uint16_t *code, afc_failure *failure, const char *text) {
    *code = AFC_WEBSOCKET_PROTOCOL_ERROR;
    return afc__fail(failure, AFC_EPROTOCOL, "%s", text);
}

static afc_status refuse_size(uint16_t *code, afc_failure *failure, const char *what,
                              uint64_t limit) {
    *code = AFC_WEBSOCKET_MESSAGE_TOO_BIG;
    return afc__give_reason(failure, AFC_REASON_MESSAGE_LIMIT,
                            afc__fail(failure, AFC_ETOOBIG,
                                      "a WebSocket %s exceeds the limit of %llu", what,
                                      (unsigned long long)limit));
}

static afc_status fail_memory(uint16_t *code, afc_failure *failure) {
    *code = AFC_WEBSOCKET_INTERNAL_ERROR;
    return afc__fail_memory(failure);
}

/* ---- Heads --------------------------------------------------------------------------------- */

static afc_status check_control(const afc__frame *frame, uint16_t *code, afc_failure *failure) {
    bool is_known = frame->opcode == AFC__OP_CLOSE || frame->opcode == AFC__OP_PING ||
                    frame->opcode == AFC__OP_PONG;
    if (!is_known) return refuse(code, failure, "a WebSocket frame has a reserved opcode");
    if (!frame->is_final) return refuse(code, failure, "a WebSocket control frame is fragmented");
    if (frame->is_compressed) {
        return refuse(code, failure, "a WebSocket control frame is marked as compressed");
    }
    if (frame->length > AFC__FRAME_CONTROL_MAX) {
        return refuse(code, failure, "a WebSocket control frame is longer than 125 bytes");
    }
    return AFC_OK;
}

static afc_status check_data(const afc__websocket_reader *reader, uint16_t *code,
                             afc_failure *failure) {
    const afc__frame *frame = &reader->frame;
    bool continues = frame->opcode == AFC__OP_CONTINUATION;
    if (frame->opcode > AFC__OP_BINARY) {
        return refuse(code, failure, "a WebSocket frame has a reserved opcode");
    }
    if (continues && reader->kind == 0) {
        return refuse(code, failure, "a WebSocket continuation frame continues no message");
    }
    if (!continues && reader->kind != 0) {
        return refuse(code, failure, "a WebSocket message begins inside another one");
    }
    if (frame->is_compressed && (continues || reader->decoder.codec == NULL)) {
        return refuse(code, failure, "a WebSocket frame has the reserved bit RSV1");
    }
    if (frame->length > reader->limits.frame_bytes) {
        return refuse_size(code, failure, "frame", reader->limits.frame_bytes);
    }
    if (reader->fragments >= reader->limits.fragments) {
        return refuse_size(code, failure, "message's number of frames", reader->limits.fragments);
    }
    /* Checked before any of it is stored. Compressed bytes are counted when they are decoded. */
    bool is_compressed = continues ? reader->is_compressed : frame->is_compressed;
    uint64_t before = continues ? reader->received : 0;
    if (!is_compressed && frame->length > reader->limits.message_bytes - before) {
        return refuse_size(code, failure, "message", reader->limits.message_bytes);
    }
    return AFC_OK;
}

static afc_status check_frame(const afc__websocket_reader *reader, uint16_t *code,
                              afc_failure *failure) {
    const afc__frame *frame = &reader->frame;
    if (frame->reserved != 0) return refuse(code, failure, "a WebSocket frame has a reserved bit");
    if (frame->is_masked) return refuse(code, failure, "the server sent a masked WebSocket frame");
    if (frame->length > INT64_MAX) {
        return refuse(code, failure, "the length of a WebSocket frame has its highest bit set");
    }
    if (frame->is_padded) {
        return refuse(code, failure,
                      "the length of a WebSocket frame is longer than it needs to be");
    }
    return afc__frame_is_control(frame) ? check_control(frame, code, failure)
                                        : check_data(reader, code, failure);
}

static void begin_frame(afc__websocket_reader *reader) {
    const afc__frame *frame = &reader->frame;
    reader->frame_left = frame->length;
    reader->head_size = 0;
    if (afc__frame_is_control(frame)) {
        reader->state = AFC__READING_CONTROL;
        reader->control_size = 0;
        return;
    }
    reader->state = AFC__READING_PAYLOAD;
    reader->fragments++;
    if (frame->opcode == AFC__OP_CONTINUATION) return;
    reader->kind = frame->opcode == AFC__OP_TEXT ? AFC_WEBSOCKET_TEXT : AFC_WEBSOCKET_BINARY;
    reader->is_compressed = frame->is_compressed;
    reader->is_first_piece = true;
    reader->received = reader->decoded = 0;
    reader->text = (afc__utf8){0};
    reader->tail_offset = 0;
    reader->body.size = 0;
}

static afc_slice take(afc_slice *input, uint64_t most) {
    afc_slice part = {input->bytes, input->size < most ? input->size : (size_t)most};
    if (part.size > 0) input->bytes += part.size;
    input->size -= part.size;
    return part;
}

static afc_status read_head(afc__websocket_reader *reader, afc_slice *input, uint16_t *code,
                            afc_failure *failure) {
    size_t needed = reader->head_size < 2 ? 2 : afc__frame_head_size(reader->head);
    afc_slice part = take(input, needed - reader->head_size);
    if (part.size > 0) memcpy(reader->head + reader->head_size, part.bytes, part.size);
    reader->head_size += part.size;
    if (reader->head_size < 2 || reader->head_size < afc__frame_head_size(reader->head)) {
        return AFC_OK;
    }
    afc__frame_read_head(reader->head, &reader->frame);
    afc_status status = check_frame(reader, code, failure);
    if (status == AFC_OK) begin_frame(reader);
    return status;
}

/* ---- Control frames ------------------------------------------------------------------------ */

static afc_status read_close(afc__websocket_reader *reader, afc__websocket_item *item,
                             uint16_t *code, afc_failure *failure) {
    const unsigned char *bytes = reader->control;
    item->event = AFC__WEBSOCKET_CLOSE;
    item->code = AFC_WEBSOCKET_NO_CODE;
    reader->state = AFC__READING_ENDED;
    if (reader->control_size == 0) return AFC_OK;
    if (reader->control_size == 1) {
        return refuse(code, failure, "a WebSocket close frame has half a code");
    }
    item->code = (uint16_t)(bytes[0] << 8 | bytes[1]);
    if (!afc__close_code_is_valid(item->code)) {
        return refuse(code, failure, "a WebSocket close frame has an invalid code");
    }
    item->payload = (afc_slice){(const char *)bytes + 2, reader->control_size - 2};
    if (afc__is_utf8(item->payload)) return AFC_OK;
    *code = AFC_WEBSOCKET_INVALID_PAYLOAD;
    return afc__fail(failure, AFC_EPROTOCOL, "the reason of a WebSocket close frame isn't UTF-8");
}

static afc_status read_control(afc__websocket_reader *reader, afc_slice *input,
                               afc__websocket_item *item, uint16_t *code, afc_failure *failure) {
    afc_slice part = take(input, reader->frame_left);
    if (part.size > 0) memcpy(reader->control + reader->control_size, part.bytes, part.size);
    reader->control_size += part.size;
    reader->frame_left -= part.size;
    if (reader->frame_left > 0) return AFC_OK;
    reader->state = AFC__READING_HEAD;
    if (reader->frame.opcode == AFC__OP_CLOSE) return read_close(reader, item, code, failure);
    item->event = reader->frame.opcode == AFC__OP_PING ? AFC__WEBSOCKET_PING : AFC__WEBSOCKET_PONG;
    item->payload = (afc_slice){(const char *)reader->control, reader->control_size};
    return AFC_OK;
}

/* ---- Messages ------------------------------------------------------------------------------ */

/**
 * Counts and checks bytes of the message after decoding. If there are two faults, the one of the earlier byte is
 * reported, so that the result doesn't depend on how the bytes were divided on their way.
 */
static afc_status accept(afc__websocket_reader *reader, afc_slice bytes, uint16_t *code,
                         afc_failure *failure) {
    uint64_t available = reader->limits.message_bytes - reader->decoded;
    bool is_too_big = bytes.size > available;
    if (is_too_big) bytes.size = (size_t)available;
    reader->decoded += bytes.size;
    bool is_bomb = reader->is_compressed && reader->decoded > RATIO_STARTS_AT &&
                   reader->decoded / reader->limits.decoding_ratio > reader->received;
    if (is_bomb) {
        return refuse_size(code, failure, "message's ratio of decoded to received bytes",
                           reader->limits.decoding_ratio);
    }
    if (reader->kind == AFC_WEBSOCKET_TEXT && !afc__utf8_take(&reader->text, bytes)) {
        *code = AFC_WEBSOCKET_INVALID_PAYLOAD;
        return afc__fail(failure, AFC_EPROTOCOL, "a WebSocket text isn't UTF-8");
    }
    if (is_too_big) return refuse_size(code, failure, "message", reader->limits.message_bytes);
    return AFC_OK;
}

static void give(afc__websocket_reader *reader, afc_slice bytes, bool is_last,
                 afc__websocket_item *item) {
    item->event = AFC__WEBSOCKET_MESSAGE;
    item->message = (afc_websocket_message){reader->kind, bytes, reader->is_first_piece, is_last};
    reader->is_first_piece = false;
    reader->was_given = true;
}

/** Ends the message, which is complete, and passes its last bytes on. */
static afc_status complete(afc__websocket_reader *reader, afc_slice rest, afc__websocket_item *item,
                           uint16_t *code, afc_failure *failure) {
    if (reader->kind == AFC_WEBSOCKET_TEXT && !afc__utf8_is_complete(&reader->text)) {
        *code = AFC_WEBSOCKET_INVALID_PAYLOAD;
        return afc__fail(failure, AFC_EPROTOCOL, "a WebSocket text ends inside a character");
    }
    give(reader, rest, true, item);
    reader->kind = (afc_websocket_kind)0;
    reader->fragments = 0;
    reader->state = AFC__READING_HEAD;
    return AFC_OK;
}

/** Ends a frame whose payload is complete. */
static afc_status end_frame(afc__websocket_reader *reader, afc_slice rest,
                            afc__websocket_item *item, uint16_t *code, afc_failure *failure) {
    if (!reader->frame.is_final) {
        reader->state = AFC__READING_HEAD;
        return AFC_OK;
    }
    if (!reader->is_compressed) return complete(reader, rest, item, code, failure);
    reader->state = AFC__READING_TAIL;
    return AFC_OK;
}

static afc_status read_plain(afc__websocket_reader *reader, afc_slice *input,
                             afc__websocket_item *item, uint16_t *code, afc_failure *failure) {
    afc_slice part = take(input, reader->frame_left);
    reader->frame_left -= part.size;
    reader->received += part.size;
    afc_status status = accept(reader, part, code, failure);
    if (status != AFC_OK) return status;
    bool is_last = reader->frame_left == 0 && reader->frame.is_final;
    /* A message that is complete in the input, and pieces, are passed on without a copy. */
    bool is_direct = reader->deliver_in_pieces || (is_last && reader->body.size == 0);
    if (!is_direct) {
        if (afc__buffer_append(&reader->body, part.bytes, part.size) != AFC_OK) {
            return fail_memory(code, failure);
        }
        part = afc__buffer_slice(&reader->body);
    }
    if (reader->frame_left == 0) status = end_frame(reader, part, item, code, failure);
    bool is_piece = reader->deliver_in_pieces && part.size > 0 && status == AFC_OK &&
                    item->event == AFC__WEBSOCKET_NOTHING;
    if (is_piece) give(reader, part, false, item);
    return status;
}

/** Decodes as much of `*input` as there is room for. `*is_done` becomes true if that was all of it. */
static afc_status decode(afc__websocket_reader *reader, afc_slice *input, bool *is_done,
                         uint16_t *code, afc_failure *failure) {
    char storage[PIECE];
    size_t size = sizeof storage;
    if (reader->deliver_in_pieces) size -= reader->body.size;
    size_t offered = size;
    afc_status status = reader->decoder.codec->convert(reader->decoder.stream, input, storage,
                                                       &size);
    if (status == AFC_ENOMEM) return fail_memory(code, failure);
    if (!afc__is_status(status)) {
        *code = AFC_WEBSOCKET_INTERNAL_ERROR;
        return afc__fail_returned(failure, "the codec's convert", status, "AFC_OK or an error");
    }
    /* A codec that has room but leaves input would be called for ever. */
    bool has_stopped = size < offered && input->size > 0;
    if (status != AFC_OK || size > offered || has_stopped) {
        *code = AFC_WEBSOCKET_INVALID_PAYLOAD;
        return afc__fail(failure, AFC_EPROTOCOL, "a compressed WebSocket message is invalid");
    }
    *is_done = size < offered;
    reader->decoder.has_more = !*is_done;
    status = accept(reader, (afc_slice){storage, size}, code, failure);
    if (status != AFC_OK) return status;
    if (afc__buffer_append(&reader->body, storage, size) != AFC_OK)
        return fail_memory(code, failure);
    return AFC_OK;
}

static afc_status read_compressed(afc__websocket_reader *reader, afc_slice *input,
                                  afc__websocket_item *item, uint16_t *code, afc_failure *failure) {
    afc_slice part = {input->bytes,
                      input->size < reader->frame_left ? input->size : (size_t)reader->frame_left};
    afc_slice rest = part;
    bool is_done = false;
    /* Received bytes are counted before decoding: accept() compares the decoded bytes with their number. */
    reader->received += part.size;
    afc_status status = decode(reader, &rest, &is_done, code, failure);
    reader->received -= rest.size;
    size_t used = part.size - rest.size;
    if (used > 0) input->bytes += used;
    input->size -= used;
    reader->frame_left -= used;
    if (status != AFC_OK) return status;
    bool is_complete = is_done && reader->frame_left == 0;
    /*
     * A piece is passed on even if it isn't full: bytes of a slow sender aren't kept back until more bytes or another
     * frame follow.
     */
    bool is_due = reader->body.size == PIECE ||
                  (reader->body.size > 0 &&
                   (reader->frame_left > 0 || (is_complete && !reader->frame.is_final)));
    if (reader->deliver_in_pieces && is_due) {
        give(reader, afc__buffer_slice(&reader->body), false, item);
    }
    return is_complete ? end_frame(reader, (afc_slice){NULL, 0}, item, code, failure) : AFC_OK;
}

static afc_status read_tail(afc__websocket_reader *reader, afc__websocket_item *item,
                            uint16_t *code, afc_failure *failure) {
    afc_slice rest = {tail + reader->tail_offset, sizeof tail - reader->tail_offset};
    bool is_done = false;
    afc_status status = decode(reader, &rest, &is_done, code, failure);
    reader->tail_offset = sizeof tail - rest.size;
    if (status != AFC_OK) return status;
    afc_slice decoded = {reader->body.bytes, reader->body.size};
    if (!is_done || reader->tail_offset < sizeof tail) {
        if (reader->deliver_in_pieces && decoded.size == PIECE) give(reader, decoded, false, item);
        return AFC_OK;
    }
    if (reader->decoder.forgets) reader->decoder.codec->reset(reader->decoder.stream);
    return complete(reader, decoded, item, code, failure);
}

/* ---- Steps --------------------------------------------------------------------------------- */

/** Returns whether a step may follow without more input. */
static bool has_work(const afc__websocket_reader *reader, const afc_slice *input) {
    switch (reader->state) {
    case AFC__READING_HEAD:
        return input->size > 0;
    case AFC__READING_CONTROL:
    case AFC__READING_PAYLOAD:
        return input->size > 0 || reader->frame_left == 0 || reader->decoder.has_more;
    case AFC__READING_TAIL:
        return true;
    case AFC__READING_ENDED:
        break;
    }
    return false;
}

static afc_status step(afc__websocket_reader *reader, afc_slice *input, afc__websocket_item *item,
                       uint16_t *code, afc_failure *failure) {
    switch (reader->state) {
    case AFC__READING_HEAD:
        return read_head(reader, input, code, failure);
    case AFC__READING_CONTROL:
        return read_control(reader, input, item, code, failure);
    case AFC__READING_PAYLOAD:
        return reader->is_compressed ? read_compressed(reader, input, item, code, failure)
                                     : read_plain(reader, input, item, code, failure);
    case AFC__READING_TAIL:
        return read_tail(reader, item, code, failure);
    case AFC__READING_ENDED:
        break;
    }
    return AFC_OK;
}

afc_status afc__websocket_reader_next(afc__websocket_reader *reader, afc_slice *input,
                                      afc__websocket_item *item, uint16_t *code,
                                      afc_failure *failure) {
    *item = (afc__websocket_item){0};
    *code = 0;
    if (reader->was_given) reader->body.size = 0;
    reader->was_given = false;
    while (item->event == AFC__WEBSOCKET_NOTHING && has_work(reader, input)) {
        afc_status status = step(reader, input, item, code, failure);
        if (status == AFC_OK) continue;
        item->event = AFC__WEBSOCKET_NOTHING;
        reader->state = AFC__READING_ENDED;
        return status;
    }
    if (reader->state == AFC__READING_ENDED && item->event == AFC__WEBSOCKET_NOTHING) {
        *input = (afc_slice){NULL, 0};
    }
    return AFC_OK;
}
