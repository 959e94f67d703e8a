#include "websocket/outbox.h"

#include "base/alloc.h"

#include <stddef.h>

enum {
    KEPT_FRAME = 64 * 1024 + AFC__FRAME_HEAD_MAX, /* Memory that is kept for the next frame. */
    LENT_FROM = 4 * 1024 /* Shorter messages are copied, so that several are sent at once. */
};

void afc__outbox_init(afc__outbox *outbox, uint64_t limit) {
    *outbox = (afc__outbox){.limit = limit};
    afc__list_init(&outbox->messages);
    afc__list_init(&outbox->sent);
    afc__list_init(&outbox->pongs);
}

/** Removes and returns the oldest answer of which nothing was sent; NULL if no answer waits. */
static afc__pong *take_pong(afc__outbox *outbox) {
    afc__node *node = afc__list_first(&outbox->pongs);
    if (node == NULL) return NULL;
    afc__list_remove(node);
    outbox->pong_count--;
    return AFC__OWNER(node, afc__pong, node);
}

void afc__outbox_clear(afc__outbox *outbox) {
    for (afc__pong *pong; (pong = take_pong(outbox)) != NULL;) afc_free(pong);
    afc_free(outbox->spare);
    outbox->spare = NULL;
}

/* ---- Messages ------------------------------------------------------------------------------ */

static afc_status check(const afc__outbox *outbox, afc_websocket_kind kind, size_t size,
                        unsigned flags, afc__send_order order) {
    bool is_known = kind == AFC_WEBSOCKET_TEXT || kind == AFC_WEBSOCKET_BINARY;
    if (!is_known || (flags & ~(unsigned)AFC_WEBSOCKET_MORE) != 0) return AFC_EINVAL;
    if (outbox->kind != 0 && outbox->kind != kind) return AFC_EINVAL;
    if (order == AFC__OVERTAKING && !afc__outbox_may_overtake(outbox, flags)) return AFC_EINVAL;
    if (size > outbox->limit || size + AFC__FRAME_HEAD_MAX > outbox->limit) return AFC_ETOOBIG;
    uint64_t available = outbox->queued < outbox->limit ? outbox->limit - outbox->queued : 0;
    return size + AFC__FRAME_HEAD_MAX > available ? AFC_EAGAIN : AFC_OK;
}

afc_status afc__outbox_begin(afc__outbox *outbox, afc_websocket_kind kind, size_t size,
                             unsigned flags, afc__send_order order, afc__draft *out) {
    afc_status status = check(outbox, kind, size, flags, order);
    if (status != AFC_OK) return status;
    if (afc__outbox_cannot_finish(outbox)) return AFC_ECLOSED;
    bool is_first = outbox->kind == 0;
    const afc__encoder *encoder = &outbox->encoder;
    bool is_compressed = outbox->is_compressed;
    if (is_first) {
        is_compressed = order == AFC__IN_ORDER && encoder->stream != NULL &&
                        size >= encoder->threshold;
    }
    *out = (afc__draft){.kind = kind, .order = order, .is_first = is_first};
    out->frame = (afc__frame){.is_final = (flags & AFC_WEBSOCKET_MORE) == 0,
                              .is_compressed = is_first && is_compressed,
                              .opcode = is_first ? (uint8_t)kind : (uint8_t)AFC__OP_CONTINUATION};
    if (!afc__frame_make_mask(&outbox->masks, out->mask)) return AFC_EINTERNAL;
    if (is_compressed) out->encoder = *encoder;
    if (!is_first) out->text = outbox->text;
    if (!out->frame.is_final) outbox->kind = kind;
    out->spare = outbox->spare;
    outbox->spare = NULL;
    return AFC_OK;
}

afc_status afc__outbox_add(afc__outbox *outbox, const afc__draft *draft, afc__outgoing *frame,
                           void *context) {
    /* Another message in pieces has begun meanwhile: only its pieces may follow. */
    if (draft->order == AFC__OVERTAKING && outbox->kind != 0) return AFC_EINVAL;
    if (draft->order == AFC__IN_ORDER) {
        outbox->kind = draft->frame.is_final ? (afc_websocket_kind)0 : draft->kind;
        outbox->is_compressed = draft->encoder.stream != NULL;
        outbox->text = draft->text;
    }
    frame->context = context;
    afc__list_append(&outbox->messages, &frame->node);
    outbox->queued += frame->size;
    return AFC_OK;
}

void afc__outbox_abandon(afc__outbox *outbox, afc__draft *draft, afc_status status) {
    bool was_encoded = draft->encoder.stream != NULL && status != AFC_EINVAL;
    if (draft->order == AFC__IN_ORDER && draft->is_first) outbox->kind = (afc_websocket_kind)0;
    if (was_encoded) {
        /* The stream has compressed bytes that the peer never gets: nothing after them could be decoded. */
        outbox->encoder = (afc__encoder){0};
    } else {
        draft->encoder = (afc__encoder){0};
    }
}

/* ---- Control frames ------------------------------------------------------------------------ */

/** Writes a control frame. Without random numbers for its mask, it stays empty and isn't sent. */
static void write_control(afc__outbox *outbox, afc__control *control, uint8_t opcode,
                          afc_slice payload) {
    unsigned char mask[AFC__FRAME_MASK];
    *control = (afc__control){0};
    if (!afc__frame_make_mask(&outbox->masks, mask)) return;
    afc__frame frame = {.is_final = true, .opcode = opcode, .length = payload.size};
    size_t head = afc__frame_write_head(control->bytes, &frame, mask);
    afc__frame_mask((char *)control->bytes + head, payload.bytes, payload.size, mask, 0);
    control->size = head + payload.size;
}

static afc_status add_ping(afc__outbox *outbox, afc_slice payload, bool is_automatic,
                           int64_t now_us) {
    if (payload.size > AFC__FRAME_CONTROL_MAX) return AFC_EINVAL;
    if (outbox->ping_count == AFC__PINGS) return AFC_EAGAIN;
    afc__ping *ping = &outbox->pings[outbox->ping_count++];
    *ping = (afc__ping){.size = payload.size, .is_automatic = is_automatic, .sent_us = now_us};
    if (payload.size > 0) memcpy(ping->payload, payload.bytes, payload.size);
    return AFC_OK;
}

afc_status afc__outbox_add_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us) {
    return add_ping(outbox, payload, false, now_us);
}

afc_status afc__outbox_add_automatic_ping(afc__outbox *outbox, afc_slice payload, int64_t now_us) {
    return add_ping(outbox, payload, true, now_us);
}

void afc__outbox_add_pong(afc__outbox *outbox, afc_slice payload) {
    afc__pong *pong = outbox->pong_count == AFC__PONGS ? take_pong(outbox)
                                                       : afc__alloc(sizeof *pong);
    if (pong == NULL) return;
    if (payload.size > 0) memcpy(pong->payload, payload.bytes, payload.size);
    pong->size = payload.size;
    afc__list_append(&outbox->pongs, &pong->node);
    outbox->pong_count++;
}

bool afc__outbox_take_pong(afc__outbox *outbox, afc_slice payload, afc__ping *out) {
    for (size_t i = outbox->pings_written; i > 0; i--) {
        const afc__ping *ping = &outbox->pings[i - 1];
        bool is_same = ping->size == payload.size &&
                       (payload.size == 0 ||
                        memcmp(ping->payload, payload.bytes, payload.size) == 0);
        if (!is_same) continue;
        *out = *ping;
        for (size_t j = i; j > 0 && out->is_automatic; j--) {
            if (!outbox->pings[j - 1].is_automatic) *out = outbox->pings[j - 1];
        }
        outbox->ping_count -= i;
        outbox->pings_written -= i;
        memmove(outbox->pings, outbox->pings + i, outbox->ping_count * sizeof *outbox->pings);
        return true;
    }
    return false;
}

void afc__outbox_add_close(afc__outbox *outbox, uint16_t code, afc_slice reason,
                           afc__close_frame when) {
    unsigned char payload[AFC__FRAME_CONTROL_MAX] = {(unsigned char)(code >> 8),
                                                     (unsigned char)code};
    size_t size = code != 0 ? 2 : 0;
    if (outbox->close_frame == AFC__CLOSE_FRAME_SENT) return;
    if (outbox->close_frame == AFC__CLOSE_FRAME_NONE) {
        if (code != 0 && reason.size > 0) memcpy(payload + 2, reason.bytes, reason.size);
        if (code != 0) size += reason.size;
        write_control(outbox, &outbox->close, AFC__OP_CLOSE, (afc_slice){(char *)payload, size});
    }
    if (when == AFC__CLOSE_FRAME_NEXT) {
        outbox->close_frame = AFC__CLOSE_FRAME_NEXT;
    } else if (outbox->close_frame == AFC__CLOSE_FRAME_NONE) {
        outbox->close_frame = AFC__CLOSE_FRAME_LAST;
    }
}

/* ---- Reading ------------------------------------------------------------------------------- */

static afc__outgoing *first_message(const afc__outbox *outbox) {
    afc__node *node = afc__list_first(&outbox->messages);
    return node != NULL ? AFC__OWNER(node, afc__outgoing, node) : NULL;
}

static size_t copy_control(afc__control *control, char *out, size_t size) {
    size_t left = control->size - control->offset;
    size_t count = left < size ? left : size;
    memcpy(out, control->bytes + control->offset, count);
    control->offset += count;
    return count;
}

static bool is_pending(const afc__control *control) {
    return control->offset < control->size;
}

static bool has_begun(const afc__control *control) {
    return control->offset > 0 && is_pending(control);
}

void afc__outbox_took(afc__outbox *outbox, size_t count) {
    afc__outgoing *message = first_message(outbox);
    message->offset += count;
    outbox->queued -= count;
    if (message->offset < message->size) return;
    afc__list_remove(&message->node);
    afc__list_append(&outbox->sent, &message->node);
}

static size_t copy_message(afc__outbox *outbox, char *out, size_t size) {
    afc__outgoing *message = first_message(outbox);
    size_t left = message->size - message->offset;
    size_t count = left < size ? left : size;
    memcpy(out, message->bytes + message->offset, count);
    afc__outbox_took(outbox, count);
    return count;
}

void afc__outbox_drop(afc__outbox *outbox) {
    for (afc__outgoing *next; (next = first_message(outbox)) != NULL;) {
        outbox->queued -= next->size - next->offset;
        afc__list_remove(&next->node);
        afc__list_append(&outbox->sent, &next->node);
    }
}

/** Returns the control frame to be sent next; NULL if that is a frame of a message, or nothing. */
static afc__control *next_control(afc__outbox *outbox) {
    afc__control *const all[] = {&outbox->pong, &outbox->ping, &outbox->close};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (has_begun(all[i])) return all[i];
    }
    const afc__outgoing *message = first_message(outbox);
    if (message != NULL && message->offset > 0) return NULL;
    if (outbox->close_frame == AFC__CLOSE_FRAME_NEXT) {
        afc__outbox_drop(outbox);
        return &outbox->close;
    }
    afc__pong *pong = take_pong(outbox);
    if (pong != NULL) {
        write_control(outbox, &outbox->pong, AFC__OP_PONG,
                      (afc_slice){(const char *)pong->payload, pong->size});
        afc_free(pong);
        if (is_pending(&outbox->pong)) return &outbox->pong;
    }
    if (!is_pending(&outbox->ping) && outbox->pings_written < outbox->ping_count) {
        const afc__ping *ping = &outbox->pings[outbox->pings_written++];
        write_control(outbox, &outbox->ping, AFC__OP_PING,
                      (afc_slice){(const char *)ping->payload, ping->size});
    }
    if (is_pending(&outbox->ping)) return &outbox->ping;
    return message == NULL && outbox->close_frame == AFC__CLOSE_FRAME_LAST ? &outbox->close : NULL;
}

/** Returns whether a control frame must be sent before the next message. */
static bool has_control(const afc__outbox *outbox) {
    return is_pending(&outbox->pong) || is_pending(&outbox->ping) || has_begun(&outbox->close) ||
           !afc__list_is_empty(&outbox->pongs) || outbox->pings_written < outbox->ping_count ||
           outbox->close_frame == AFC__CLOSE_FRAME_NEXT;
}

afc_slice afc__outbox_lend(const afc__outbox *outbox) {
    const afc_slice none = {NULL, 0};
    const afc__outgoing *message = first_message(outbox);
    if (message == NULL || message->size - message->offset < LENT_FROM) return none;
    /* Nothing else may be sent inside of a frame. */
    if (message->offset == 0 && has_control(outbox)) return none;
    return (afc_slice){message->bytes + message->offset, message->size - message->offset};
}

size_t afc__outbox_read(afc__outbox *outbox, char *out, size_t size) {
    size_t count = 0;
    while (count < size && outbox->close_frame != AFC__CLOSE_FRAME_SENT) {
        afc__control *control = next_control(outbox);
        if (control != NULL) {
            count += copy_control(control, out + count, size - count);
            bool is_over = control == &outbox->close && !is_pending(control);
            if (is_over) outbox->close_frame = AFC__CLOSE_FRAME_SENT;
        } else if (!afc__list_is_empty(&outbox->messages)) {
            count += copy_message(outbox, out + count, size - count);
        } else {
            break;
        }
    }
    return count;
}

afc__outgoing *afc__outbox_take_sent(afc__outbox *outbox) {
    afc__node *node = afc__list_first(&outbox->sent);
    if (node == NULL) return NULL;
    afc__list_remove(node);
    return AFC__OWNER(node, afc__outgoing, node);
}

afc__outgoing *afc__outbox_recycle(afc__outbox *outbox, afc__outgoing *frame) {
    if (outbox->spare != NULL || frame->capacity > KEPT_FRAME) return frame;
    outbox->spare = frame;
    return NULL;
}
