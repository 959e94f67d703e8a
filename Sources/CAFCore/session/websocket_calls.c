/* Functions of WebSockets that any thread may call. */
#include "base/clock.h"
#include "base/text.h"
#include "run/loop.h"
#include "run/threads.h"
#include "session/task.h"
#include "session/task_calls.h"
#include "session/websocket_internal.h"

/*
 * Messages from this size on are sent at once. A smaller message that a callback sends is sent after the callbacks of
 * all sockets that are ready, so that a peer wakes up once for several messages. For larger ones that costs more than
 * it saves, as their bytes leave the processor's cache meanwhile.
 */
enum { SENT_SOON = 4 * 1024 };

/**
 * Returns whether the socket belongs to the parent process: its lock may be held by a thread that a forked child
 * doesn't have.
 */
static bool is_parents(const afc_websocket *socket) {
    return socket->task->session->generation != afc__process_generation();
}

/**
 * Locks `sending_lock`, or returns AFC__OVERTAKING. A loop must not wait while another thread compresses a large
 * message, so a message that a callback sends is sent before that one. It isn't compressed: the peer's decoder then
 * doesn't see it, and needs no order.
 */
static afc__send_order begin_sending(afc_websocket *socket, unsigned flags) {
    if (afc__loop_is_any_current()) {
        if (pthread_mutex_trylock(&socket->sending_lock) == 0) return AFC__IN_ORDER;
        pthread_mutex_lock(&socket->lock);
        bool may_overtake = afc__outbox_may_overtake(&socket->outbox, flags);
        pthread_mutex_unlock(&socket->lock);
        if (may_overtake) return AFC__OVERTAKING;
    }
    pthread_mutex_lock(&socket->sending_lock);
    return AFC__IN_ORDER;
}

void afc__websocket_retire_encoder(afc_websocket *socket) {
    if (pthread_mutex_trylock(&socket->sending_lock) != 0) return;
    pthread_mutex_lock(&socket->lock);
    afc__encoder encoder = socket->outbox.encoder;
    socket->outbox.encoder = (afc__encoder){0};
    pthread_mutex_unlock(&socket->lock);
    pthread_mutex_unlock(&socket->sending_lock);
    afc__encoder_close(&encoder);
}

static void end_sending(afc_websocket *socket, afc__send_order order) {
    if (order == AFC__OVERTAKING) return;
    pthread_mutex_unlock(&socket->sending_lock);
    if (afc__websocket_state_of(socket) == AFC__WEBSOCKET_ENDED)
        afc__websocket_retire_encoder(socket);
}

/**
 * Returns whether the peer gets messages that are added now. Call it with the lock. The loop may not have noticed yet
 * that the socket was cancelled, and would send them until then.
 */
static bool takes_messages(const afc_websocket *socket) {
    return afc__websocket_takes_messages(socket->state) && !afc__task_is_cancelled(socket->task);
}

static afc_status begin(afc_websocket *socket, afc_websocket_kind kind, size_t size, unsigned flags,
                        afc__send_order order, afc__draft *out) {
    afc_status status = AFC_ECLOSED;
    pthread_mutex_lock(&socket->lock);
    if (takes_messages(socket)) {
        status = afc__outbox_begin(&socket->outbox, kind, size, flags, order, out);
    }
    pthread_mutex_unlock(&socket->lock);
    return status;
}

/**
 * Adds the frame of a draft, or drops both on failure, also if the socket was closed or cancelled since the draft
 * began.
 */
static afc_status add(afc_websocket *socket, afc__draft *draft, afc__outgoing *frame,
                      afc_status status, void *context) {
    pthread_mutex_lock(&socket->lock);
    bool is_late = !takes_messages(socket);
    if (status == AFC_OK && is_late) status = AFC_ECLOSED;
    if (status == AFC_OK) status = afc__outbox_add(&socket->outbox, draft, frame, context);
    if (status != AFC_OK) afc__outbox_abandon(&socket->outbox, draft, status);
    bool cannot_finish = !is_late && afc__outbox_cannot_finish(&socket->outbox);
    if (cannot_finish) socket->message_failure = status;
    pthread_mutex_unlock(&socket->lock);
    if (status == AFC_OK) return status;
    if (cannot_finish) afc__task_wake_sending(socket->task);
    afc_free(frame);
    afc__encoder_close(&draft->encoder);
    return status;
}

afc_status afc_websocket_send(afc_websocket *socket, afc_websocket_kind kind, afc_slice bytes,
                              unsigned flags, void *message_context) {
    if (afc__lacks_bytes(bytes)) return AFC_EINVAL;
    if (is_parents(socket)) return AFC_ECLOSED;
    afc__draft draft;
    afc__send_order order = begin_sending(socket, flags);
    afc_status status = begin(socket, kind, bytes.size, flags, order, &draft);
    if (status == AFC_OK) {
        afc__outgoing *frame = afc__outgoing_make(&draft, bytes, &status);
        status = add(socket, &draft, frame, status, message_context);
    }
    end_sending(socket, order);
    if (status != AFC_OK) return status;
    afc__task_wake_sending(socket->task);
    if (bytes.size >= SENT_SOON) afc__loop_hurry(&socket->task->session->loop);
    return AFC_OK;
}

afc_status afc_websocket_answer_challenge(afc_websocket *socket, uint32_t number,
                                          afc_challenge_decision answer,
                                          const afc_credentials *credentials) {
    return afc_task_answer_challenge(socket->task, number, answer, credentials);
}

afc_status afc_websocket_ping(afc_websocket *socket, afc_slice payload) {
    afc_status status = AFC_ECLOSED;
    if (afc__lacks_bytes(payload)) return AFC_EINVAL;
    if (is_parents(socket)) return status;
    pthread_mutex_lock(&socket->lock);
    if (socket->state == AFC__WEBSOCKET_OPEN && takes_messages(socket)) {
        status = afc__outbox_add_ping(&socket->outbox, payload, afc__now_us());
    }
    pthread_mutex_unlock(&socket->lock);
    if (status == AFC_OK) afc__task_wake_sending(socket->task);
    return status;
}

afc_status afc_websocket_close(afc_websocket *socket, uint16_t code, afc_slice reason) {
    if (afc__lacks_bytes(reason)) return AFC_EINVAL;
    bool is_valid = code == 0 ? reason.size == 0
                              : afc__close_code_is_valid(code) &&
                                    reason.size <= AFC_WEBSOCKET_REASON_MAX && afc__is_utf8(reason);
    if (!is_valid) return AFC_EINVAL;
    if (is_parents(socket)) return AFC_OK;
    pthread_mutex_lock(&socket->lock);
    afc__websocket_state state = socket->state;
    bool sends_frame = state == AFC__WEBSOCKET_OPEN && takes_messages(socket);
    if (sends_frame) {
        afc__websocket_enter(socket, AFC__WEBSOCKET_CLOSING);
        afc__outbox_add_close(&socket->outbox, code, reason, AFC__CLOSE_FRAME_LAST);
    }
    pthread_mutex_unlock(&socket->lock);
    if (sends_frame) afc__task_wake_sending(socket->task);
    if (!afc__websocket_sends(state)) afc_task_cancel(socket->task);
    return AFC_OK;
}

void afc_websocket_cancel(afc_websocket *socket) {
    afc_task_cancel(socket->task);
}

void afc_websocket_resume(afc_websocket *socket) {
    afc_task_wake(socket->task);
}

uint64_t afc_websocket_get_queued(const afc_websocket *socket) {
    afc_websocket *own = (afc_websocket *)(uintptr_t)socket;
    if (is_parents(socket)) return 0;
    pthread_mutex_lock(&own->lock);
    uint64_t queued = socket->outbox.queued;
    pthread_mutex_unlock(&own->lock);
    return queued;
}

afc_websocket *afc_websocket_retain(afc_websocket *socket) {
    atomic_fetch_add_explicit(&socket->references, 1, memory_order_relaxed);
    return socket;
}

void afc_websocket_release(afc_websocket *socket) {
    if (socket == NULL || atomic_fetch_sub(&socket->references, 1) != 1) return;
    afc_task_release(socket->task);
    pthread_mutex_destroy(&socket->sending_lock);
    pthread_mutex_destroy(&socket->lock);
    afc_free(socket);
}
