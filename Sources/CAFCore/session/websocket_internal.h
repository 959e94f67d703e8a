/** What a WebSocket holds, for the files that make it one: websocket.c on the loop thread, websocket_calls.c on any. */
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
    atomic_uint references; /**< The caller's, and one of the task until its release. */
    afc_task *task;         /**< A reference. */
    /**
     * Held while a message is checked, compressed and masked, so that messages are sent in the order in which they were
     * compressed. Taken before the lock. A loop waits for it only to send a piece of a message.
     */
    pthread_mutex_t order_lock;
    /* Any thread, under the lock, which is never held for long. */
    pthread_mutex_t lock;
    _Atomic(afc__websocket_state) state; /**< May be read without it. */
    _Atomic(afc_status)
        message_failure; /**< Why a message can't be finished; AFC_OK: none. As `state`. */
    afc__outbox outbox;  /**< Its encoder's stream is used with `order_lock`. */
    /* Constant once it is opened. */
    afc_websocket_options options; /**< Its pointers aren't used. */
    afc_websocket_codec codec;
    afc_websocket_events events;
    /* Loop thread only, but before the start. */
    afc__handshake handshake;
    afc__websocket_reader reader;
    afc__alarm alarm;
    afc__batch batch; /**< Gathers calls of `events`. */
    afc__keepalive keepalive;
    afc__closing closing;
    uint64_t pings; /**< Automatic ones so far. */
    /* on_message returned AFC_EAGAIN. */
    bool is_held;
    afc__websocket_item held; /**< Passed on again before anything is read. */
    afc__buffer held_bytes;
    size_t skip; /**< Bytes that the reader has consumed, and that will be passed again. */
    /* REFUSED. */
    afc_failure refusal;
    afc__buffer refusal_body; /**< As much as was received, and is kept. */
    /* How it ends. */
    afc_failure failure; /**< The first; AFC_OK: none. */
    bool got_close;
    uint16_t code;
    size_t reason_size;
    char reason[AFC_WEBSOCKET_REASON_MAX];
};

/** With the lock. */
static inline void afc__websocket_enter(afc_websocket *socket, afc__websocket_state state) {
    assert(afc__websocket_may_enter(socket->state, state));
    socket->state = state;
}

/** For the loop thread, which alone makes most changes; others may only close. */
static inline afc__websocket_state afc__websocket_state_of(const afc_websocket *socket) {
    return atomic_load(&socket->state);
}

/** Closes the encoder of a socket that has ended; if a thread is compressing, that does it afterwards. */
void afc__websocket_retire_encoder(afc_websocket *socket);

#endif
