/**
 * What a WebSocket has to send: a bounded queue of messages, the control frames that overtake them, and at last the
 * close frame. No I/O. Calls for one outbox must not overlap.
 */
#ifndef AFC_WEBSOCKET_OUTBOX_H
#define AFC_WEBSOCKET_OUTBOX_H

#include "base/list.h"
#include "websocket/frame.h"
#include "websocket/outgoing.h"
#include "websocket/utf8.h"

#include <afcore/websocket.h>

/** A control frame. */
typedef struct afc__control {
    unsigned char bytes[AFC__FRAME_HEAD_MAX + AFC__FRAME_CONTROL_MAX];
    size_t size, offset; /**< A `size` of 0: no frame. */
} afc__control;

enum {
    AFC__PINGS = 8,
    AFC__PONGS = 16 /**< Answers that wait at most. */
};

/** The answer to a ping. */
typedef struct afc__pong {
    afc__node node;
    size_t size;
    unsigned char payload[AFC__FRAME_CONTROL_MAX];
} afc__pong;

/** A ping that was sent, or is about to be. */
typedef struct afc__ping {
    unsigned char payload[AFC__FRAME_CONTROL_MAX];
    size_t size;
    bool is_automatic;
    int64_t sent_us;
} afc__ping;

/** What has become of the close frame. */
typedef enum afc__close_frame {
    AFC__CLOSE_FRAME_NONE,
    AFC__CLOSE_FRAME_LAST, /**< A close frame follows the messages. */
    AFC__CLOSE_FRAME_NEXT, /**< A close frame follows the frame that has begun. */
    AFC__CLOSE_FRAME_SENT
} afc__close_frame;

typedef struct afc__outbox {
    uint64_t limit;  /**< Maximum of `queued`. */
    uint64_t queued; /**< Bytes of frames of messages that weren't read. See afc__outbox_begin(). */
    afc__list messages;
    afc__list sent;       /**< Read completely, or dropped; see afc__outbox_take_sent(). */
    afc__outgoing *spare; /**< Memory for the next frame; NULL: none. */
    afc__encoder encoder; /**< Not closed by the outbox. */
    afc__mask_source masks;
    /* The message whose pieces are being added. */
    afc_websocket_kind kind; /**< 0: none. */
    bool is_compressed;
    afc__utf8 text;
    /* Control frames. */
    afc__control pong, ping, close;
    afc__list pongs; /**< Answers that haven't begun, oldest first. */
    size_t pong_count;
    afc__close_frame close_frame;
    afc__ping pings[AFC__PINGS]; /**< Unanswered, oldest first. */
    size_t ping_count, pings_written;
} afc__outbox;

void afc__outbox_init(afc__outbox *outbox, uint64_t limit);

/** Frees the answers to pings and the spare memory. No message may be left. */
void afc__outbox_clear(afc__outbox *outbox);

/** Returns whether a message may overtake: a whole one, while none is sent in pieces. */
static inline bool afc__outbox_may_overtake(const afc__outbox *outbox, unsigned flags) {
    return outbox->kind == 0 && (flags & AFC_WEBSOCKET_MORE) == 0;
}

/** Returns whether a message can't be finished: after a failure to compress a piece, its rest has no meaning either. */
static inline bool afc__outbox_cannot_finish(const afc__outbox *outbox) {
    return outbox->kind != 0 && outbox->is_compressed && outbox->encoder.stream == NULL;
}

/**
 * Begins a message or a piece of `size` bytes; see afc_websocket_send(). afc__outgoing_make() makes its frame, beside
 * other calls for the outbox; then afc__outbox_add() or afc__outbox_abandon() follows. Those in order must not overlap.
 * The limit is checked here, so it may be exceeded by what compression adds, and by messages that overtake, which are
 * as many bytes at most.
 */
afc_status afc__outbox_begin(afc__outbox *outbox, afc_websocket_kind kind, size_t size,
                             unsigned flags, afc__order order, afc__draft *out);

/** Adds a frame, which it takes. AFC_EINVAL: it can't overtake any more; then it takes nothing. */
afc_status afc__outbox_add(afc__outbox *outbox, const afc__draft *draft, afc__outgoing *frame,
                           void *context);

/**
 * Forgets a draft that isn't added, for this reason. If its encoder was used, no message is compressed any more;
 * `draft->encoder` is then the caller's to close, and otherwise zeroed.
 */
void afc__outbox_abandon(afc__outbox *outbox, afc__draft *draft, afc_status status);

/** Adds a ping of the caller. AFC_EAGAIN: AFC__PINGS are unanswered. */
afc_status afc__outbox_add_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us);

/** Adds a ping that no caller has asked for. AFC_EAGAIN as above. */
afc_status afc__outbox_add_automatic_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us);

/** Returns when the oldest ping without a pong was added, or 0 if each ping has its pong. */
static inline int64_t afc__outbox_oldest_ping(const afc__outbox *outbox) {
    return outbox->ping_count > 0 ? outbox->pings[0].sent_us : 0;
}

/** Returns whether a ping waits, or isn't read completely. */
static inline bool afc__outbox_has_ping_to_send(const afc__outbox *outbox) {
    return outbox->pings_written < outbox->ping_count || outbox->ping.offset < outbox->ping.size;
}

/**
 * Answers a ping. Of more than AFC__PONGS answers that wait, the oldest is dropped, and without memory this one, as the
 * later ones answer for it (RFC 6455 5.5.3).
 */
void afc__outbox_add_pong(afc__outbox *outbox, afc_slice payload);

/**
 * Finds the ping of a pong, and forgets it and those before it. `out` is the last of them that isn't automatic, or else
 * the one of the pong. Returns false if no ping has this payload.
 */
bool afc__outbox_take_pong(afc__outbox *outbox, afc_slice payload, afc__ping *out);

/**
 * Adds the close frame; without a code it is empty. `when` is AFC__CLOSE_FRAME_LAST or _NEXT; with the latter, messages
 * that haven't begun are dropped. A second close frame is ignored, but may become the next.
 */
void afc__outbox_add_close(afc__outbox *outbox, uint16_t code, afc_slice reason,
                           afc__close_frame when);

/** Writes the next bytes. 0: there are none at the moment. */
size_t afc__outbox_read(afc__outbox *outbox, char *out, size_t size);

/**
 * Returns the rest of the next message if it is long, and its bytes are the next to be sent. It stays where it is until
 * afc__outbox_took(), or anything else that removes messages. None: afc__outbox_read() has what there is.
 */
afc_slice afc__outbox_lend(const afc__outbox *outbox);

/** This many bytes of what was lent were sent. */
void afc__outbox_took(afc__outbox *outbox, size_t count);

/** Drops every message. */
void afc__outbox_drop(afc__outbox *outbox);

/** Takes the next message that was read completely or dropped; NULL: none. afc__outbox_recycle() takes it back. */
afc__outgoing *afc__outbox_take_sent(afc__outbox *outbox);

/**
 * Keeps the memory of a frame for the next one, or returns what is to be freed. malloc gives memory of this size back
 * to the kernel, which clears every page of it again: more than half of the processor time of an echo of 64 KiB.
 */
afc__outgoing *afc__outbox_recycle(afc__outbox *outbox, afc__outgoing *frame);

#endif
