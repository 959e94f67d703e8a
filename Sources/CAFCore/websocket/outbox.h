/**
 * What a WebSocket has to send: a bounded queue of messages, the control frames that overtake them, and at last the
 * close frame. No I/O. Calls for one outbox must not overlap: the caller has a lock.
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
    size_t size, offset; /**< If `size` is 0, there is no frame. */
} afc__control;

enum {
    AFC__PINGS = 8,
    AFC__PONGS = 16 /**< Maximum number of answers to pings that wait. */
};

/** The answer to a ping. */
typedef struct afc__pong {
    afc__node node;
    size_t size;
    unsigned char payload[AFC__FRAME_CONTROL_MAX];
} afc__pong;

/** A ping without a pong, that was sent or is waiting. */
typedef struct afc__ping {
    unsigned char payload[AFC__FRAME_CONTROL_MAX];
    size_t size;
    bool is_automatic;
    int64_t sent_us;
} afc__ping;

/** When the close frame is sent. */
typedef enum afc__close_frame {
    AFC__CLOSE_FRAME_NONE,
    AFC__CLOSE_FRAME_LAST, /**< After all messages. */
    AFC__CLOSE_FRAME_NEXT, /**< After the frame that is being sent. */
    AFC__CLOSE_FRAME_SENT
} afc__close_frame;

typedef struct afc__outbox {
    uint64_t limit; /**< Maximum of `queued`. */
    /** Bytes of messages' frames that weren't read yet; may exceed `limit`, see afc__outbox_begin(). */
    uint64_t queued;
    afc__list messages;
    /** Frames that were read completely or dropped; see afc__outbox_take_sent(). */
    afc__list sent;
    afc__outgoing *spare; /**< Memory for the next frame; NULL if there is none. */
    afc__encoder encoder; /**< The caller closes it. */
    afc__mask_source masks;
    /* The message whose pieces are being added. */
    afc_websocket_kind kind; /**< 0 if there is none. */
    bool is_compressed;
    afc__utf8 text;
    /* Control frames. */
    afc__control pong, ping, close;
    afc__list pongs; /**< Answers of which nothing was sent, oldest first. */
    size_t pong_count;
    afc__close_frame close_frame;
    afc__ping pings[AFC__PINGS]; /**< Pings without a pong, oldest first. */
    size_t ping_count, pings_written;
} afc__outbox;

void afc__outbox_init(afc__outbox *outbox, uint64_t limit);

/** Frees the answers to pings and the spare memory. There must be no message left. */
void afc__outbox_clear(afc__outbox *outbox);

/** Returns whether a message may overtake others: it must be a whole one, while no other is sent in pieces. */
static inline bool afc__outbox_may_overtake(const afc__outbox *outbox, unsigned flags) {
    return outbox->kind == 0 && (flags & AFC_WEBSOCKET_MORE) == 0;
}

/**
 * Returns whether the message whose pieces are being added can't be finished: once a piece couldn't be compressed, the
 * rest has no meaning either.
 */
static inline bool afc__outbox_cannot_finish(const afc__outbox *outbox) {
    return outbox->kind != 0 && outbox->is_compressed && outbox->encoder.stream == NULL;
}

/**
 * Begins a message or a piece of `size` bytes; see afc_websocket_send(). Then afc__outgoing_make() makes its frame,
 * during which other functions of the outbox may be called, and afc__outbox_add() or afc__outbox_abandon() follows.
 * Only one message with AFC__IN_ORDER may be between these calls at a time. The limit is checked here, so it may be
 * exceeded by what compression adds, and by overtaking messages, whose bytes are at most as many.
 */
afc_status afc__outbox_begin(afc__outbox *outbox, afc_websocket_kind kind, size_t size,
                             unsigned flags, afc__send_order order, afc__draft *out);

/**
 * Adds a frame, and takes ownership of it. Fails with AFC_EINVAL if it can't overtake any more, and then takes nothing.
 */
afc_status afc__outbox_add(afc__outbox *outbox, const afc__draft *draft, afc__outgoing *frame,
                           void *context);

/**
 * Ends a draft that isn't added, because of `status`. If its encoder was used, no message is compressed any more, and
 * the caller must close `draft->encoder`; otherwise that is zeroed.
 */
void afc__outbox_abandon(afc__outbox *outbox, afc__draft *draft, afc_status status);

/**
 * Adds a ping of the caller. Fails with AFC_EAGAIN if AFC__PINGS have no pong yet, or AFC_EINVAL if the payload is too
 * long.
 */
afc_status afc__outbox_add_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us);

/** Adds an automatic ping. Fails as afc__outbox_add_ping() does. */
afc_status afc__outbox_add_automatic_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us);

/** Returns when the oldest ping without a pong was added, or 0 if each ping has its pong. */
static inline int64_t afc__outbox_oldest_ping(const afc__outbox *outbox) {
    return outbox->ping_count > 0 ? outbox->pings[0].sent_us : 0;
}

/** Returns whether a ping is waiting, or isn't read completely. */
static inline bool afc__outbox_has_ping_to_send(const afc__outbox *outbox) {
    return outbox->pings_written < outbox->ping_count || outbox->ping.offset < outbox->ping.size;
}

/**
 * Answers a ping. If AFC__PONGS answers are already waiting, the oldest is dropped. Without memory this answer is
 * dropped. Both is allowed: a later pong also answers earlier pings (RFC 6455 5.5.3).
 */
void afc__outbox_add_pong(afc__outbox *outbox, afc_slice payload);

/**
 * Finds the ping of a pong, and removes it and all pings before it. `*out` is the last removed ping that isn't
 * automatic or, if all are, the one of the pong. Returns false if no ping has this payload.
 */
bool afc__outbox_take_pong(afc__outbox *outbox, afc_slice payload, afc__ping *out);

/**
 * Adds the close frame; if `code` is 0, it is empty. `when` is AFC__CLOSE_FRAME_LAST or _NEXT; with the latter,
 * messages of which nothing was sent are dropped. A second close frame is ignored, but may change LAST to NEXT.
 */
void afc__outbox_add_close(afc__outbox *outbox, uint16_t code, afc_slice reason,
                           afc__close_frame when);

/** Writes the next bytes to `out`. Returns their number; 0 if there are none at the moment. */
size_t afc__outbox_read(afc__outbox *outbox, char *out, size_t size);

/**
 * Returns the rest of the next message if it is long and its bytes must be sent next. They stay valid until
 * afc__outbox_took(), or until another function removes messages. If it returns none, use afc__outbox_read().
 */
afc_slice afc__outbox_lend(const afc__outbox *outbox);

/** Records that `count` of the lent bytes were sent. */
void afc__outbox_took(afc__outbox *outbox, size_t count);

/** Drops every message. */
void afc__outbox_drop(afc__outbox *outbox);

/**
 * Takes the next message that was read completely or dropped; NULL if there is none. Then call afc__outbox_recycle().
 */
afc__outgoing *afc__outbox_take_sent(afc__outbox *outbox);

/**
 * Keeps the memory of a frame for the next one; returns memory that the caller must free, or NULL. malloc() returns
 * memory of this size to the kernel, which clears every page of it again: that took more than half of the processor
 * time of an echo of 64 KiB.
 */
afc__outgoing *afc__outbox_recycle(afc__outbox *outbox, afc__outgoing *frame);

#endif
