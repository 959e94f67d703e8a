/**
 * The members of a WebSocket, for the files that implement it: websocket.c on the loop thread, websocket_calls.c on
 * any.
 */
#ifndef AFC_SESSION_WEBSOCKET_INTERNAL_H
#define AFC_SESSION_WEBSOCKET_INTERNAL_H

#include "session/task_internal.h"
#include "websocket/deadlines.h"
#include "websocket/handshake.h"
#include "websocket/outbox.h"
#include "websocket/reader.h"
#include "websocket/state.h"

#include <afcore/websocket.h>
#include <assert.h>
#include <pthread.h>

struct afc_websocket {
    atomic_uint references; /**< The caller's, and one of the task until its `release`. */
    afc_task *task;         /**< A reference. */
    /**
     * Held while a message is checked, compressed and masked, so that messages are sent in the order in which they were
     * compressed. Lock it before `lock`. A loop waits for it only to send a piece of a message.
     */
    pthread_mutex_t sending_lock;
    /* Any thread, under `lock`, which is never held for long. */
    pthread_mutex_t lock;
    _Atomic(afc__websocket_state) state; /**< May be read without `lock`. */
    /** Why a message can't be finished, or AFC_OK. May be read without `lock`. */
    _Atomic(afc_status) message_failure;
    afc__outbox outbox; /**< The stream of its encoder is used under `sending_lock`. */
    /* Constant once the socket is opened. */
    afc_websocket_options options; /**< Pointers in it aren't used after the opening. */
    afc_websocket_codec codec;
    afc_websocket_events events;
    /* Loop thread only, once the task is started. */
    afc__handshake handshake;
    afc__websocket_reader reader;
    afc__alarm alarm;
    afc__batch batch; /**< For on_batch_end. */
    afc__keepalive keepalive;
    afc__closing closing;
    uint64_t pings; /**< Number of automatic pings so far. */
    /* For AFC_EAGAIN from on_message. */
    bool is_held;
    afc__websocket_item held; /**< The message, which is passed on again before anything is read. */
    afc__buffer held_bytes;
    /** Bytes that the reader has consumed, but that will be passed to on_body again. */
    size_t skip;
    /* For the state REFUSED. */
    afc_failure refusal;
    /** The beginning of the refusal's body, up to AFC_WEBSOCKET_REFUSAL_MAX bytes. */
    afc__buffer refusal_body;
    /* How the socket ends. */
    afc_failure failure; /**< The first failure; status AFC_OK if there is none. */
    bool got_close;
    uint16_t code;
    size_t reason_size;
    char reason[AFC_WEBSOCKET_REASON_MAX];
};

/** Changes the state. Call it with `lock`. */
static inline void afc__websocket_enter(afc_websocket *socket, afc__websocket_state state) {
    assert(afc__websocket_may_enter(socket->state, state));
    socket->state = state;
}

/** Returns the state, for the loop thread, which makes most changes: other threads may only close the socket. */
static inline afc__websocket_state afc__websocket_state_of(const afc_websocket *socket) {
    return atomic_load(&socket->state);
}

/** Closes the encoder of a socket that has ended. If a thread is compressing, that thread closes it afterwards. */
void afc__websocket_retire_encoder(afc_websocket *socket);

#endif
