/**
 * Makes the frames of messages that are sent: checks that texts are UTF-8, compresses, and masks. This takes long for a
 * large message, so the sending thread does it without the lock of the outbox, and nothing here uses the outbox. Only
 * the codec has side effects.
 */
#ifndef AFC_WEBSOCKET_OUTGOING_H
#define AFC_WEBSOCKET_OUTGOING_H

#include "base/list.h"
#include "websocket/frame.h"
#include "websocket/utf8.h"

#include <afcore/websocket.h>

/** How messages are encoded. If it is zeroed, they aren't compressed. */
typedef struct afc__encoder {
    const afc_websocket_codec *codec; /**< NULL if messages aren't compressed. */
    void *stream;
    bool forgets; /**< Each message is encoded by itself (no context takeover). */
    size_t threshold;
} afc__encoder;

/** Closes the stream, if there is one, and zeroes the encoder. */
void afc__encoder_close(afc__encoder *encoder);

/** A frame of a message, complete and masked. */
typedef struct afc__outgoing {
    afc__node node;
    void *context;
    size_t size, offset;
    size_t capacity; /**< Size of `bytes`. */
    char bytes[];
} afc__outgoing;

/** The order in which messages of several threads are sent. */
typedef enum afc__send_order {
    AFC__IN_ORDER, /**< Sent in the order of the calls: only one such frame is made at a time. */
    /** A whole, uncompressed message that may be sent before the one whose frame is being made. */
    AFC__OVERTAKING
} afc__send_order;

/** What is known about a message, or a piece of it, before its frame is made. */
typedef struct afc__draft {
    afc_websocket_kind kind;
    afc__send_order order;
    bool is_first;
    afc__frame frame; /**< The head, without the length. */
    unsigned char mask[AFC__FRAME_MASK];
    afc__encoder encoder; /**< Zeroed if the message isn't compressed. */
    afc__utf8 text;       /**< State of the UTF-8 check: before these bytes, later after them. */
    afc__outgoing *spare; /**< Memory for the frame, owned; NULL if there is none. */
} afc__draft;

/**
 * Makes the frame. Uses the spare memory if the frame fits into it, and frees it otherwise. Returns NULL on failure;
 * `*status` is then AFC_EINVAL (not UTF-8; the encoder wasn't used), AFC_ENOMEM, or AFC_EINTERNAL (the codec broke its
 * contract). Two threads must not call it with the same encoder at the same time.
 */
afc__outgoing *afc__outgoing_make(afc__draft *draft, afc_slice bytes, afc_status *status);

#endif
