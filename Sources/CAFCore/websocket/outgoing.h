/**
 * Makes the frames of messages that are sent: checks texts, compresses, masks. For a large message this takes long, so it needs
 * nothing of the outbox, and a thread that sends does it without the outbox's lock. Pure, but for the codec.
 */
#ifndef AFC_WEBSOCKET_OUTGOING_H
#define AFC_WEBSOCKET_OUTGOING_H

#include "base/list.h"
#include "websocket/frame.h"
#include "websocket/utf8.h"

#include <afcore/websocket.h>

/** How messages are encoded. Zeroed: they aren't compressed. */
typedef struct afc__encoder {
    const afc_websocket_codec *codec; /**< NULL: none. */
    void *stream;
    bool forgets; /**< Each message is encoded by itself. */
    size_t threshold;
} afc__encoder;

/** Closes the stream, if there is one, and zeroes the encoder. */
void afc__encoder_close(afc__encoder *encoder);

/** A frame of a message, complete and masked. */
typedef struct afc__outgoing {
    afc__node node;
    void *context;
    size_t size, offset;
    size_t capacity; /**< Of `bytes`. */
    char bytes[];
} afc__outgoing;

/** When a message is added while another thread makes the frame of one. */
typedef enum afc__order {
    AFC__IN_TURN,   /**< One at a time. */
    AFC__OVERTAKING /**< Beside one in turn, before which it is sent: a whole message, as it is. */
} afc__order;

/** What is known of a message, or a piece of one, before its frame is made. */
typedef struct afc__draft {
    afc_websocket_kind kind;
    afc__order order;
    bool is_first;
    afc__frame frame; /**< Without its length. */
    unsigned char mask[AFC__FRAME_MASK];
    afc__encoder encoder; /**< Zeroed: isn't compressed. */
    afc__utf8 text;       /**< Before it; afterwards behind it. */
    afc__outgoing *spare; /**< Memory for the frame, owned; NULL: none. */
} afc__draft;

/**
 * Makes the frame, in the spare memory if that fits, which is freed otherwise. NULL: `*status` is AFC_EINVAL (not UTF-8; the encoder wasn't used), AFC_ENOMEM, or AFC_EINTERNAL (the codec
 * broke its contract). Calls with the same encoder must not overlap.
 */
afc__outgoing *afc__outgoing_make(afc__draft *draft, afc_slice bytes, afc_status *status);

#endif
