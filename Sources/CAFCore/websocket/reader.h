/**
 * Reads what a server sends: turns frames into messages and control frames, and enforces every rule of RFC 6455 5 and
 * RFC 7692 6 that a client must enforce. No I/O.
 */
#ifndef AFC_WEBSOCKET_READER_H
#define AFC_WEBSOCKET_READER_H

#include "base/buffer.h"
#include "websocket/frame.h"
#include "websocket/utf8.h"

#include <afcore/websocket.h>

/** How messages are decoded. If it is zeroed, they aren't compressed. */
typedef struct afc__decoder {
    /** NULL if compression wasn't agreed on: then RSV1 is an error. */
    const afc_websocket_codec *codec;
    void *stream;
    bool forgets;  /**< Each message is decoded by itself (no context takeover). */
    bool has_more; /**< There was no room for all bytes that it has decoded. */
} afc__decoder;

typedef enum afc__reading {
    AFC__READING_HEAD,    /**< A frame's head isn't complete. */
    AFC__READING_CONTROL, /**< The payload of a control frame. */
    AFC__READING_PAYLOAD, /**< The payload of a message's frame. */
    AFC__READING_TAIL,    /**< The bytes that the sender of a compressed message leaves out. */
    AFC__READING_ENDED    /**< A close frame, or an error: nothing follows. */
} afc__reading;

typedef struct afc__websocket_reader {
    afc_websocket_limits limits; /**< With the defaults filled in. */
    bool deliver_in_pieces;
    afc__decoder decoder;
    afc__reading state;
    unsigned char head[AFC__FRAME_HEAD_MAX];
    size_t head_size;
    afc__frame frame;
    uint64_t frame_left; /**< Bytes of the payload that weren't received yet. */
    unsigned char control[AFC__FRAME_CONTROL_MAX];
    size_t control_size;
    /* The message. */
    afc_websocket_kind kind; /**< 0 between two messages. */
    bool is_compressed, is_first_piece;
    uint32_t fragments;
    uint64_t received, decoded; /**< Bytes so far. */
    afc__utf8 text;
    size_t tail_offset;
    afc__buffer body;
    bool was_given; /**< `body` was passed on: the next bytes replace it. */
} afc__websocket_reader;

typedef enum afc__websocket_event {
    AFC__WEBSOCKET_NOTHING, /**< All input is consumed. */
    AFC__WEBSOCKET_MESSAGE,
    AFC__WEBSOCKET_PING,
    AFC__WEBSOCKET_PONG,
    AFC__WEBSOCKET_CLOSE
} afc__websocket_event;

/** What was read. Its pointers are valid until the next call, and as long as the input. */
typedef struct afc__websocket_item {
    afc__websocket_event event;
    afc_websocket_message message; /**< MESSAGE. */
    afc_slice payload;             /**< PING, PONG: the payload; CLOSE: the reason. */
    uint16_t code;                 /**< CLOSE: the code, AFC_WEBSOCKET_NO_CODE if it has none. */
} afc__websocket_item;

/** Fills in the default limits. */
void afc__websocket_reader_init(afc__websocket_reader *reader, const afc_websocket_limits *limits,
                                bool deliver_in_pieces);

/** Frees the memory, and the decoder's stream. */
void afc__websocket_reader_clear(afc__websocket_reader *reader);

/**
 * Reads up to the end of the next message, piece or control frame, and sets `*input` to the rest. On failure `*code` is
 * the code for our close frame: 1002 with AFC_EPROTOCOL, or 1007 for invalid UTF-8 and invalid compressed data; 1009
 * with AFC_ETOOBIG; 1011 with AFC_ENOMEM. After a failure or a close frame nothing more is read: the input is ignored.
 */
afc_status afc__websocket_reader_next(afc__websocket_reader *reader, afc_slice *input,
                                      afc__websocket_item *item, uint16_t *code,
                                      afc_failure *failure);

/** Returns whether a frame has begun and isn't complete, so that no control frame can come before its end. */
static inline bool afc__websocket_reader_is_in_frame(const afc__websocket_reader *reader) {
    return reader->state == AFC__READING_CONTROL || reader->state == AFC__READING_PAYLOAD ||
           reader->head_size > 0;
}

/**
 * Frees the bytes that were passed on, if they were a message or a piece. Control frames may be passed on in the middle
 * of a message, whose bytes must stay.
 */
void afc__websocket_reader_release_message(afc__websocket_reader *reader);

#endif
