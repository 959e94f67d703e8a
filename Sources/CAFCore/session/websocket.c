/*
 * WebSockets on top of tasks.
 *
 * The handshake is a task whose request asks for an upgrade. After the 101 the task's request body is what the socket
 * sends, and its response body what it receives. So a task's features apply: connections, limits of the head,
 * cancelling, back-pressure, exactly one end.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/sized.h"
#include "message/fields.h"
#include "message/url.h"
#include "session/task.h"
#include "session/task_calls.h"
#include "session/task_limits.h"
#include "session/websocket_internal.h"

enum { SWITCHING_PROTOCOLS = 101, INTERNAL_ERROR = 1011 };

static const uint64_t default_queue = 16 * 1024 * 1024;

/* ---- Batches ------------------------------------------------------------------------------- */

/** Makes on_batch_end due. Call it when on_message, on_sent or on_pong is called. */
static void join_batch(afc_websocket *socket) {
    bool joins = socket->events.on_batch_end != NULL && socket->batch.node.next == NULL;
    if (joins) afc__list_append(&socket->task->session->batches, &socket->batch.node);
}

static void on_batch_end(afc__batch *batch) {
    afc_websocket *socket = AFC__OWNER(batch, afc_websocket, batch);
    socket->events.on_batch_end(socket->events.context);
}

/* ---- Failures and sent messages ------------------------------------------------------------ */

static void record(afc_websocket *socket, const afc_failure *failure) {
    if (socket->failure.status == AFC_OK) socket->failure = *failure;
}

/** Calls on_sent for messages that were sent or dropped. Call it without the lock, under which `next` was taken. */
static void report_sent(afc_websocket *socket, afc__outgoing *next) {
    while (next != NULL) {
        afc__outgoing *message = next;
        afc_status status = AFC_OK;
        if (message->offset < message->size) {
            status = socket->failure.status != AFC_OK ? socket->failure.status : AFC_ECLOSED;
        }
        if (socket->events.on_sent != NULL) {
            join_batch(socket);
            socket->events.on_sent(socket->events.context, message->context, status);
        }
        pthread_mutex_lock(&socket->lock);
        message = afc__outbox_recycle(&socket->outbox, message);
        next = afc__outbox_take_sent(&socket->outbox);
        pthread_mutex_unlock(&socket->lock);
        afc_free(message);
    }
}

/* ---- Time ---------------------------------------------------------------------------------- */

/** Arms the alarm for the deadline of the close, if there is one, or else for the next ping or pong. */
static void arm(afc_websocket *socket) {
    afc__loop *loop = &socket->task->session->loop;
    int64_t due = socket->closing.due_us != 0 ? socket->closing.due_us
                                              : afc__keepalive_due(&socket->keepalive);
    if (due == 0) {
        afc__loop_disarm(loop, &socket->alarm);
    } else {
        afc__loop_arm(loop, &socket->alarm, due);
    }
}

/**
 * Begins to wait for the end of the closing handshake, before which `queued` bytes of messages are sent; 0 means not to
 * wait for messages.
 */
static void await_close(afc_websocket *socket, uint64_t queued) {
    afc__closing_begin(&socket->closing, socket->options.close_timeout_ms, queued, afc__now_us());
    afc__keepalive_end(&socket->keepalive);
    arm(socket);
}

static void end_late(afc_websocket *socket, const char *what, afc_reason reason,
                     uint32_t limit_ms) {
    afc_failure failure = {0};
    afc__fail(&failure, AFC_ETIMEOUT, "no %s within %u ms", what, (unsigned)limit_ms);
    failure.timeout = AFC_TIMEOUT_IDLE;
    failure.reason = reason;
    record(socket, &failure);
    afc_task_cancel(socket->task);
}

static int64_t oldest_ping_of(afc_websocket *socket) {
    pthread_mutex_lock(&socket->lock);
    int64_t oldest = afc__outbox_oldest_ping(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    return oldest;
}

static void ping(afc_websocket *socket, int64_t now) {
    /* One byte longer than a number, so that it differs from a caller's ping with a number. */
    unsigned char payload[sizeof socket->pings + 1] = {0};
    uint64_t number = ++socket->pings;
    for (size_t i = 0; i < sizeof number; i++) payload[i] = (unsigned char)(number >> 8 * i);
    afc_slice bytes = {(const char *)payload, sizeof payload};
    pthread_mutex_lock(&socket->lock);
    /* AFC_EAGAIN is ignored: so many pings are unanswered that a pong is awaited anyway. */
    (void)afc__outbox_add_automatic_ping(&socket->outbox, bytes, now);
    int64_t oldest = afc__outbox_oldest_ping(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    afc__keepalive_update(&socket->keepalive, oldest);
    afc__task_wake_sending(socket->task);
}

static void end_closing(afc_websocket *socket) {
    socket->closing = (afc__closing){0};
    /* After both close frames only the end of the connection is missing (RFC 6455 section 7.1.1). */
    if (socket->got_close) {
        afc_task_cancel(socket->task);
    } else {
        end_late(socket, "close frame", AFC_REASON_NO_CLOSE_FRAME,
                 socket->options.close_timeout_ms);
    }
}

static void on_alarm(afc__alarm *alarm) {
    afc_websocket *socket = AFC__OWNER(alarm, afc_websocket, alarm);
    int64_t now = afc__now_us();
    if (socket->closing.due_us != 0 && now >= socket->closing.due_us) {
        end_closing(socket);
        return;
    }
    /* The pong may be behind a message that the caller holds. */
    if (socket->is_held) afc__keepalive_postpone(&socket->keepalive, now);
    switch (afc__keepalive_check(&socket->keepalive, now, oldest_ping_of(socket))) {
    case AFC__KEEPALIVE_GIVE_UP:
        end_late(socket, "pong", AFC_REASON_NO_PONG, socket->options.pong_timeout_ms);
        return;
    case AFC__KEEPALIVE_PING:
        ping(socket, now);
        break;
    case AFC__KEEPALIVE_WAIT:
        break;
    }
    arm(socket);
}

/* ---- Receiving ----------------------------------------------------------------------------- */

/**
 * The peer violated the protocol, or we can't continue: sends what was being sent and a close frame, and reads nothing
 * more.
 */
static void fail(afc_websocket *socket, uint16_t code, const afc_failure *failure) {
    record(socket, failure);
    pthread_mutex_lock(&socket->lock);
    afc__websocket_enter(socket, AFC__WEBSOCKET_FAILING);
    afc__outbox_add_close(&socket->outbox, code, (afc_slice){NULL, 0}, AFC__CLOSE_FRAME_LAST);
    pthread_mutex_unlock(&socket->lock);
    await_close(socket, 0);
    afc__task_wake_sending(socket->task);
}

static void take_close(afc_websocket *socket, const afc__websocket_item *item) {
    socket->got_close = true;
    socket->code = item->code;
    socket->reason_size = item->payload.size;
    if (item->payload.size > 0) memcpy(socket->reason, item->payload.bytes, item->payload.size);
    pthread_mutex_lock(&socket->lock);
    afc__websocket_enter(socket, AFC__WEBSOCKET_ANSWERING);
    uint16_t code = item->code == AFC_WEBSOCKET_NO_CODE ? 0 : item->code;
    afc__outbox_add_close(&socket->outbox, code, (afc_slice){NULL, 0}, AFC__CLOSE_FRAME_NEXT);
    pthread_mutex_unlock(&socket->lock);
    await_close(socket, 0);
    afc__task_wake_sending(socket->task);
}

static void take_pong(afc_websocket *socket, afc_slice payload) {
    afc__ping ping = {0};
    pthread_mutex_lock(&socket->lock);
    bool is_known = afc__outbox_take_pong(&socket->outbox, payload, &ping);
    int64_t oldest = afc__outbox_oldest_ping(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    if (socket->closing.due_us == 0) {
        afc__keepalive_update(&socket->keepalive, oldest);
        arm(socket);
    }
    if (is_known && ping.is_automatic) return;
    if (socket->events.on_pong != NULL) {
        join_batch(socket);
        int64_t round_trip = is_known ? afc__now_us() - ping.sent_us : -1;
        /* The pong of an automatic ping also answers a caller's earlier ping (RFC 6455 section 5.5.3). */
        if (is_known) payload = (afc_slice){(const char *)ping.payload, ping.size};
        socket->events.on_pong(socket->events.context, payload, round_trip);
    }
}

static afc_status deliver(afc_websocket *socket, const afc__websocket_item *item) {
    switch (item->event) {
    case AFC__WEBSOCKET_MESSAGE:
        if (socket->events.on_message == NULL) return AFC_OK;
        join_batch(socket);
        return socket->events.on_message(socket->events.context, &item->message);
    case AFC__WEBSOCKET_PING:
        pthread_mutex_lock(&socket->lock);
        afc__outbox_add_pong(&socket->outbox, item->payload);
        pthread_mutex_unlock(&socket->lock);
        afc__task_wake_sending(socket->task);
        return AFC_OK;
    case AFC__WEBSOCKET_PONG:
        take_pong(socket, item->payload);
        return AFC_OK;
    case AFC__WEBSOCKET_CLOSE:
        take_close(socket, item);
        return AFC_OK;
    case AFC__WEBSOCKET_NOTHING:
        break;
    }
    return AFC_OK;
}

/** Holds a message, as a copy: it may be in libcurl's memory, which changes. */
static afc_status hold(afc_websocket *socket, const afc__websocket_item *item) {
    afc_slice bytes = item->message.bytes;
    afc__buffer_clear(&socket->held_bytes);
    afc__buffer_init(&socket->held_bytes, bytes.size);
    if (afc__buffer_append(&socket->held_bytes, bytes.bytes, bytes.size) != AFC_OK) {
        afc_failure failure = {0};
        afc_status status = afc__fail_memory(&failure);
        record(socket, &failure);
        return status;
    }
    socket->held = *item;
    socket->held.message.bytes = (afc_slice){socket->held_bytes.bytes, bytes.size};
    socket->is_held = true;
    return AFC_EAGAIN;
}

static afc_status deliver_held(afc_websocket *socket) {
    if (!socket->is_held) return AFC_OK;
    afc_status status = deliver(socket, &socket->held);
    if (status == AFC_EAGAIN) return status;
    socket->is_held = false;
    afc__buffer_clear(&socket->held_bytes);
    afc__keepalive_postpone(&socket->keepalive, afc__now_us());
    return status;
}

static afc_status refuse_message(afc_websocket *socket, afc_status status) {
    afc_failure failure = {0};
    if (!afc__is_status(status)) {
        status = afc__fail_returned(&failure, "on_message", status,
                                    "AFC_OK, AFC_EAGAIN or an error");
    } else {
        afc__fail(&failure, status, "on_message refused a message: %s", afc_status_text(status));
    }
    record(socket, &failure);
    return status;
}

/** Returns whether received messages are reported: not after a cancellation, which may be a callback's. */
static bool receives(afc_websocket *socket) {
    return afc__websocket_receives(afc__websocket_state_of(socket)) &&
           !afc__task_is_cancelled(socket->task);
}

/** Reads all of `input`. Returns AFC_EAGAIN if a message is held; `input` is then what follows it. */
static afc_status read_input(afc_websocket *socket, afc_slice *input) {
    while (receives(socket)) {
        afc__websocket_item item;
        afc_failure failure = {0};
        uint16_t code;
        if (afc__websocket_reader_next(&socket->reader, input, &item, &code, &failure) != AFC_OK) {
            fail(socket, code, &failure);
            break;
        }
        if (item.event == AFC__WEBSOCKET_NOTHING) break;
        afc_status status = deliver(socket, &item);
        if (status == AFC_EAGAIN) status = hold(socket, &item);
        afc__websocket_reader_release_message(&socket->reader);
        if (status != AFC_OK) return status;
    }
    return AFC_OK;
}

/** Keeps more of a refusal's body. Returns AFC_ETOOBIG if the body is too long to be kept completely. */
static afc_status keep_refusal_body(afc_websocket *socket, afc_slice chunk) {
    size_t room = AFC_WEBSOCKET_REFUSAL_MAX - socket->refusal_body.size;
    size_t kept = chunk.size < room ? chunk.size : room;
    afc_status status = afc__buffer_append(&socket->refusal_body, chunk.bytes, kept);
    return status == AFC_OK && kept < chunk.size ? AFC_ETOOBIG : status;
}

static afc_status on_body(void *context, afc_slice chunk) {
    afc_websocket *socket = context;
    if (afc__websocket_state_of(socket) == AFC__WEBSOCKET_REFUSED)
        return keep_refusal_body(socket, chunk);
    afc_status status = deliver_held(socket);
    if (status == AFC_EAGAIN) return status;
    size_t skip = socket->skip < chunk.size ? socket->skip : chunk.size;
    afc_slice input = {chunk.bytes + skip, chunk.size - skip};
    socket->skip -= skip;
    if (status == AFC_OK) status = read_input(socket, &input);
    if (status == AFC_EAGAIN) socket->skip += chunk.size - input.size;
    if (afc__websocket_reader_is_in_frame(&socket->reader)) {
        afc__keepalive_postpone(&socket->keepalive, afc__loop_now(&socket->task->session->loop));
    }
    if (status == AFC_OK || status == AFC_EAGAIN) return status;
    return refuse_message(socket, status);
}

/* ---- Sending ------------------------------------------------------------------------------- */

/** Call it after bytes were taken out of the outbox, with the lock, which it releases. */
static void took_outgoing(afc_websocket *socket, afc__websocket_state state, size_t count) {
    bool delays_ping = count > 0 && afc__outbox_has_ping_to_send(&socket->outbox);
    bool is_close_sent = socket->outbox.close_frame == AFC__CLOSE_FRAME_SENT;
    afc__outgoing *sent = afc__outbox_take_sent(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    if (delays_ping) afc__keepalive_postpone(&socket->keepalive, afc__now_us());
    report_sent(socket, sent);
    /*
     * The time limit counts from the close frame, not from the messages before it, unless the peer has violated the
     * protocol.
     */
    bool delays_close = count > 0 && state == AFC__WEBSOCKET_CLOSING;
    if (delays_close && socket->closing.due_us != 0) {
        afc__closing_moved(&socket->closing, is_close_sent, afc__now_us());
        arm(socket);
    }
}

static afc_slice lend_outgoing(void *context) {
    afc_websocket *socket = context;
    afc_slice lent = {NULL, 0};
    pthread_mutex_lock(&socket->lock);
    if (afc__websocket_sends(socket->state)) lent = afc__outbox_lend(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    return lent;
}

static void take_outgoing_back(void *context, size_t count) {
    afc_websocket *socket = context;
    pthread_mutex_lock(&socket->lock);
    afc__outbox_took(&socket->outbox, count);
    took_outgoing(socket, socket->state, count);
}

static ptrdiff_t read_outgoing(void *context, void *buffer, size_t size) {
    afc_websocket *socket = context;
    pthread_mutex_lock(&socket->lock);
    afc__websocket_state state = socket->state;
    size_t count = afc__websocket_sends(state) ? afc__outbox_read(&socket->outbox, buffer, size)
                                               : 0;
    took_outgoing(socket, state, count);
    if (count > 0) return (ptrdiff_t)count;
    bool has_ended = state == AFC__WEBSOCKET_ANSWERING || state == AFC__WEBSOCKET_REFUSED;
    if (has_ended) return AFC_READ_END;
    return state == AFC__WEBSOCKET_FAILING ? AFC_READ_FAILED : AFC_READ_AGAIN;
}

/** Nothing needs to be rewound, as nothing was sent before the 101. */
static bool rewind_outgoing(void *context) {
    (void)context;
    return true;
}

static uint64_t queued_by(afc_websocket *socket) {
    pthread_mutex_lock(&socket->lock);
    uint64_t queued = socket->outbox.queued;
    pthread_mutex_unlock(&socket->lock);
    return queued;
}

static void on_wake(void *context) {
    afc_websocket *socket = context;
    afc__websocket_state state = afc__websocket_state_of(socket);
    afc_status status = atomic_load(&socket->message_failure);
    if (status != AFC_OK && state == AFC__WEBSOCKET_OPEN) {
        afc_failure failure = {0};
        afc__fail(&failure, status, "cannot compress the rest of a message: %s",
                  afc_status_text(status));
        fail(socket, INTERNAL_ERROR, &failure);
    } else if (state == AFC__WEBSOCKET_CLOSING && socket->closing.due_us == 0) {
        await_close(socket, queued_by(socket));
    }
}

/* ---- The handshake ------------------------------------------------------------------------- */

static afc_status use_codec(afc_websocket *socket, const afc__deflate *agreed,
                            afc_failure *failure) {
    const afc_websocket_codec *codec = &socket->codec;
    if (!agreed->is_used) return AFC_OK;
    void *decoder = codec->open(codec->context, false, agreed->server_window_bits);
    if (decoder == NULL) {
        return afc__fail(failure, AFC_ENOMEM, "the codec can't decode with a window of %d bits",
                         (int)agreed->server_window_bits);
    }
    socket->reader.decoder = (afc__decoder){codec, decoder, agreed->server_no_context_takeover,
                                            false};
    void *encoder = codec->open(codec->context, true, agreed->client_window_bits);
    if (encoder == NULL) return AFC_OK;
    pthread_mutex_lock(&socket->lock);
    socket->outbox.encoder = (afc__encoder){codec, encoder, agreed->client_no_context_takeover,
                                            socket->options.compression_threshold};
    pthread_mutex_unlock(&socket->lock);
    return AFC_OK;
}

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    afc_websocket *socket = context;
    return socket->events.on_redirect(socket->events.context, redirect);
}

static void on_informational(void *context, const afc_head *head) {
    afc_websocket *socket = context;
    socket->events.on_informational(socket->events.context, head);
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    afc_websocket *socket = context;
    return socket->events.on_challenge(socket->events.context, challenge, credentials);
}

static void on_challenge_accepted(void *context, const afc_challenge *challenge) {
    afc_websocket *socket = context;
    socket->events.on_challenge_accepted(socket->events.context, challenge);
}

static void on_trace(void *context, const afc_trace *trace) {
    afc_websocket *socket = context;
    socket->events.on_trace(socket->events.context, trace);
}

/** Passes on callbacks about the handshake. One that the caller hasn't set stays NULL: a trace has a cost. */
static void pass_on(afc_task_events *out, const afc_websocket_events *events) {
    if (events->on_redirect != NULL) out->on_redirect = on_redirect;
    if (events->on_informational != NULL) out->on_informational = on_informational;
    if (events->on_challenge != NULL) out->on_challenge = on_challenge;
    if (events->on_challenge_accepted != NULL) out->on_challenge_accepted = on_challenge_accepted;
    if (events->on_trace != NULL) out->on_trace = on_trace;
}

/** Begins to receive the body of a refusal, which often has the reason. */
static void take_refusal(afc_websocket *socket, const afc_failure *failure) {
    socket->refusal = *failure;
    afc__buffer_init(&socket->refusal_body, AFC_WEBSOCKET_REFUSAL_MAX);
    pthread_mutex_lock(&socket->lock);
    afc__websocket_enter(socket, AFC__WEBSOCKET_REFUSED);
    pthread_mutex_unlock(&socket->lock);
    /* A limit, as the server may never end its response. */
    afc__task_limit_rest(socket->task, socket->options.close_timeout_ms);
    /* Ends our direction: libcurl waits for that, too. */
    afc__task_wake_sending(socket->task);
}

static afc_status on_head(void *context, afc_response *response) {
    afc_websocket *socket = context;
    afc_failure failure = {0};
    afc__agreement agreement;
    afc_status status = afc__handshake_check(&socket->handshake, response->head, &agreement,
                                             &failure);
    if (status == AFC_OK) status = use_codec(socket, &agreement.deflate, &failure);
    if (response->head->status != SWITCHING_PROTOCOLS) {
        take_refusal(socket, &failure);
        return AFC_OK;
    }
    if (status != AFC_OK) {
        record(socket, &failure);
        return status;
    }
    /* The total limit was for the handshake. */
    afc__transfer_end_total_limit(&socket->task->transfer);
    afc__task_arm(socket->task);
    afc__keepalive_begin(&socket->keepalive, socket->options.ping_interval_ms,
                         socket->options.pong_timeout_ms, afc__now_us());
    arm(socket);
    pthread_mutex_lock(&socket->lock);
    afc__websocket_enter(socket, AFC__WEBSOCKET_OPEN);
    pthread_mutex_unlock(&socket->lock);
    if (socket->events.on_open != NULL) {
        afc_websocket_opening opening = {response->head, response->url, agreement.protocol,
                                         agreement.deflate.is_used};
        socket->events.on_open(socket->events.context, &opening);
    }
    afc__task_wake_sending(socket->task);
    return AFC_OK;
}

/* ---- The end ------------------------------------------------------------------------------- */

/** Sets the result of a refused handshake: the refusal, even if its body was cut, unless the caller has cancelled. */
static void explain_refusal(afc_websocket *socket, afc_result *result) {
    result->body = socket->refusal_body;
    result->body_size = result->body.size;
    socket->refusal_body = (afc__buffer){0};
    if (result->failure.status == AFC_ECANCELED) return;
    if (result->failure.status != AFC_OK) {
        afc_failure *refusal = &socket->refusal;
        afc__fail(refusal, refusal->status, "%s; its body is cut after %zu bytes", refusal->text,
                  result->body.size);
    }
    record(socket, &socket->refusal);
}

static void explain_end(afc_websocket *socket, afc_result *result) {
    if (afc__websocket_state_of(socket) == AFC__WEBSOCKET_REFUSED) explain_refusal(socket, result);
    const afc_failure *failure = afc_result_get_failure(result);
    afc_failure lost = {0};
    if (socket->got_close) return;
    /* Only TLS can tell whether the stream was cut. Without a close frame it is an error in both cases. */
    if (failure->status == AFC_OK || failure->status == AFC_ETRUNCATED) {
        afc__fail(&lost, AFC_ELOST, "the connection ended without a close frame");
        failure = &lost;
    }
    record(socket, failure);
}

static void on_done(void *context, afc_result *result) {
    afc_websocket *socket = context;
    explain_end(socket, result);
    /* Never armed in a forked child, which has no loop. */
    if (afc__timer_is_armed(&socket->alarm.timer)) {
        afc__loop_disarm(&socket->task->session->loop, &socket->alarm);
    }
    pthread_mutex_lock(&socket->lock);
    afc__websocket_enter(socket, AFC__WEBSOCKET_ENDED);
    afc__outbox_drop(&socket->outbox);
    afc__outgoing *dropped = afc__outbox_take_sent(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    report_sent(socket, dropped);
    afc__list_remove(&socket->batch.node);
    if (socket->events.on_closed != NULL) {
        afc_websocket_end end = {socket->got_close ? (afc_failure){0} : socket->failure,
                                 socket->got_close ? socket->code : AFC_WEBSOCKET_ABNORMAL,
                                 {socket->reason, socket->reason_size},
                                 result};
        socket->events.on_closed(socket->events.context, &end);
    }
    afc_result_free(result);
}

/** Frees what only the loop uses, and releases the task's reference. */
static void on_release(void *context) {
    afc_websocket *socket = context;
    void (*release)(void *) = socket->events.release;
    afc__websocket_reader_clear(&socket->reader);
    afc__handshake_clear(&socket->handshake);
    afc__buffer_clear(&socket->held_bytes);
    afc__buffer_clear(&socket->refusal_body);
    pthread_mutex_lock(&socket->lock);
    afc__outbox_clear(&socket->outbox);
    pthread_mutex_unlock(&socket->lock);
    afc__websocket_retire_encoder(socket);
    if (release != NULL) release(socket->events.context);
    afc_websocket_release(socket);
}

/* ---- Opening ------------------------------------------------------------------------------- */

/** Checks the scheme here, as errors about URLs name only http and https. */
static afc_status check_scheme(const char *url, afc_failure *failure) {
    size_t ignored;
    return afc_url_from_websocket(NULL, 0, &ignored, afc_slice_of(url), failure);
}

/** Returns the name of a member of the request that a handshake can't have, or NULL. */
static const char *foreign_setting(const afc_request *request) {
    if (request->method != NULL && strcmp(request->method, "GET") != 0) return "method";
    if (request->body.kind != AFC_BODY_NONE) return "body";
    if (request->sink.kind != AFC_SINK_MEMORY) return "sink";
    if (request->version != AFC_HTTP_PREFER_AUTOMATIC) return "version";
    if (request->keep_encoding) return "keep_encoding";
    if (request->expect != AFC_EXPECT_AUTOMATIC) return "expect";
    if ((request->flags & ~(uint32_t)AFC_REQUEST_MERGE_COOKIES) != 0) return "flags";
    if (request->max_send_bytes_per_s != 0) return "max_send_bytes_per_s";
    return request->max_receive_bytes_per_s != 0 ? "max_receive_bytes_per_s" : NULL;
}

static afc_status check_request(const afc_request *request, afc_failure *failure) {
    const char *setting = foreign_setting(request);
    if (setting != NULL) {
        return afc__fail(failure, AFC_EINVAL, "the request of a WebSocket must have the default %s",
                         setting);
    }
    if (request->timeouts.total_ms != 0) {
        return afc__fail(failure, AFC_EINVAL,
                         "the request of a WebSocket can't have timeouts.total_ms: set "
                         "open_timeout_ms of the options");
    }
    if (request->url == NULL) return afc__fail(failure, AFC_EINVAL, "the request has no URL");
    if (strchr(request->url, '#') != NULL) {
        return afc__fail(failure, AFC_EINVAL, "the URL of a WebSocket can't have a fragment");
    }
    afc_status status = check_scheme(request->url, failure);
    if (status == AFC_OK)
        status = afc__check_header_pointers(request->headers, request->header_count, failure);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < request->header_count; i++) {
        afc_slice name = request->headers[i].name;
        if (!afc__handshake_owns_field(name)) continue;
        int shown = name.size < 64 ? (int)name.size : 64;
        return afc__fail(failure, AFC_EINVAL, "the handshake sets the header %.*s itself", shown,
                         name.bytes);
    }
    return AFC_OK;
}

static bool is_window(uint8_t bits) {
    return bits == 0 || (bits >= AFC__DEFLATE_BITS_MIN && bits <= AFC__DEFLATE_BITS_MAX);
}

static afc_status check_options(const afc_websocket_options *options, afc_failure *failure) {
    const afc_websocket_codec *codec = options->codec;
    const afc_websocket_limits *limits = &options->limits;
    afc_status status = AFC__CHECK_RESERVED(limits, "afc_websocket_limits", failure);
    if (status != AFC_OK) return status;
    if (options->protocols == NULL && options->protocol_count > 0) {
        return afc__fail(failure, AFC_EINVAL, "protocol_count is set but protocols is NULL");
    }
    if (options->close_timeout_ms == 0 || options->pong_timeout_ms == 0) {
        return afc__fail(failure, AFC_EINVAL,
                         "close_timeout_ms and pong_timeout_ms of a WebSocket can't be 0");
    }
    if (!is_window(options->server_window_bits) || !is_window(options->client_window_bits)) {
        return afc__fail(failure, AFC_EINVAL, "a compression window is not 8 to 15 bits");
    }
    bool is_whole = codec == NULL || (codec->open != NULL && codec->convert != NULL &&
                                      codec->reset != NULL && codec->close != NULL);
    return is_whole ? AFC_OK : afc__fail(failure, AFC_EINVAL, "a function of the codec is missing");
}

static afc__deflate offer_of(const afc_websocket_options *options) {
    uint8_t server = options->server_window_bits, client = options->client_window_bits;
    return (afc__deflate){options->codec != NULL, server != 0 ? server : AFC__DEFLATE_BITS_MAX,
                          client != 0 ? client : AFC__DEFLATE_BITS_MAX,
                          options->server_no_context_takeover, options->client_no_context_takeover};
}

static afc_status init(afc_websocket *socket, const afc_websocket_options *options,
                       afc_failure *failure) {
    afc__deflate offer = offer_of(options);
    socket->options = *options;
    if (options->codec != NULL) socket->codec = *options->codec;
    socket->options.protocols = NULL;
    socket->options.codec = NULL;
    socket->alarm.callback = on_alarm;
    socket->batch.end = on_batch_end;
    afc__websocket_reader_init(&socket->reader, &options->limits, options->deliver_in_pieces);
    afc__outbox_init(&socket->outbox, options->limits.queue_bytes != 0 ? options->limits.queue_bytes
                                                                       : default_queue);
    return afc__handshake_init(&socket->handshake, options->protocols, options->protocol_count,
                               &offer, failure);
}

static afc_status renew_key(void *context, afc_header *headers, size_t count,
                            afc_failure *failure) {
    afc_websocket *socket = context;
    return afc__handshake_renew(&socket->handshake, headers, count, failure);
}

static const afc__upgrade upgrade = {
    {lend_outgoing, take_outgoing_back}, renew_key, AFC_WEBSOCKET_REFUSAL_MAX};

/** Makes the task. On failure the socket's reference for it is released. */
static afc_status make_task(afc_websocket *socket, afc_session *session, const char *url,
                            const afc_request *request, afc_failure *failure) {
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = socket;
    events.on_head = on_head;
    events.on_body = on_body;
    events.on_wake = on_wake;
    events.on_done = on_done;
    events.release = on_release;
    pass_on(&events, &socket->events);
    size_t count = AFC__HANDSHAKE_FIELDS + 1 + request->header_count;
    afc_header *headers = afc__alloc(count * sizeof *headers);
    if (headers == NULL) {
        on_release(socket);
        return afc__fail_memory(failure);
    }
    count = afc__handshake_write_fields(&socket->handshake, headers);
    /* Only a refusal has a body. If that is encoded all the same, it is decoded. */
    headers[count++] = (afc_header){afc_slice_of("Accept-Encoding"), {NULL, 0}, AFC_HEADER_REMOVE};
    for (size_t i = 0; i < request->header_count; i++) headers[count++] = request->headers[i];
    afc_request own = *request;
    own.url = url;
    own.headers = headers;
    own.header_count = count;
    own.body.kind = AFC_BODY_READER;
    own.body.reader = (afc_reader){socket, read_outgoing, rewind_outgoing, NULL};
    own.body.length = AFC_LENGTH_UNKNOWN;
    own.sink.kind = AFC_SINK_CALLBACK;
    own.limits.body_bytes = 0;
    own.timeouts.idle_ms = 0;
    own.timeouts.total_ms = socket->options.open_timeout_ms;
    afc_status status = afc__task_make(&socket->task, session, &own, &events, failure);
    afc_free(headers);
    return status;
}

static afc_websocket *make_socket(const afc_websocket_events *events) {
    afc_websocket *socket = afc__zalloc(sizeof *socket);
    if (socket == NULL) return NULL;
    if (pthread_mutex_init(&socket->lock, NULL) != 0) {
        afc_free(socket);
        return NULL;
    }
    if (pthread_mutex_init(&socket->sending_lock, NULL) != 0) {
        pthread_mutex_destroy(&socket->lock);
        afc_free(socket);
        return NULL;
    }
    atomic_init(&socket->references, 2);
    socket->events = *events;
    socket->code = AFC_WEBSOCKET_ABNORMAL;
    return socket;
}

static afc_status open_socket(afc_websocket **out, afc_session *session, const afc_request *request,
                              const afc_websocket_options *options,
                              const afc_websocket_events *events, afc_failure *failure) {
    afc_websocket *socket = make_socket(events);
    if (socket == NULL) {
        if (events->release != NULL) events->release(events->context);
        return afc__fail_memory(failure);
    }
    char *mapped = NULL;
    afc_status status = init(socket, options, failure);
    if (status == AFC_OK) status = afc__url_from_websocket(&mapped, afc_slice_of(request->url));
    if (status == AFC_ENOMEM) afc__fail_memory(failure);
    if (status == AFC_OK) {
        const char *url = mapped != NULL ? mapped : request->url;
        status = make_task(socket, session, url, request, failure);
    } else {
        on_release(socket);
    }
    afc_free(mapped);
    if (status != AFC_OK) {
        afc_websocket_release(socket);
        return status;
    }
    afc__transfer_await_upgrade(&socket->task->transfer, &upgrade);
    /* Set before the start: a callback on the loop thread may read `*out` before this function returns. */
    *out = socket;
    afc_task_start(socket->task);
    return AFC_OK;
}

/** The structs of a caller whose headers may have another version, as read; NULL if not initialised by its macro. */
typedef struct read_structs {
    const afc_request *request;
    const afc_websocket_options *options;
    const afc_websocket_events *events;
    afc_request request_storage;
    afc_websocket_options options_storage;
    afc_websocket_events events_storage;
} read_structs;

static afc_status read_given(read_structs *out, const afc_request *request,
                             const afc_websocket_options *options,
                             const afc_websocket_events *events, afc_failure *failure) {
    static const afc_websocket_options default_options = AFC_WEBSOCKET_OPTIONS_INIT;
    static const afc_websocket_events no_events = AFC_WEBSOCKET_EVENTS_INIT;
    afc_failure second, third;
    out->request = afc__task_read_request(&out->request_storage, request, failure);
    out->options = afc__sized_read(&out->options_storage, &default_options, options,
                                   AFC__SIZED(afc_websocket_options, compression_threshold),
                                   "AFC_WEBSOCKET_OPTIONS_INIT", &second);
    out->events = afc__sized_read(&out->events_storage, &no_events, events,
                                  AFC__SIZED(afc_websocket_events, release),
                                  "AFC_WEBSOCKET_EVENTS_INIT", &third);
    if (failure->status == AFC_OK) *failure = second;
    if (failure->status == AFC_OK) *failure = third;
    return failure->status;
}

afc_status afc_websocket_open(afc_websocket **out, afc_session *session, const afc_request *request,
                              const afc_websocket_options *options,
                              const afc_websocket_events *events, afc_failure *failure) {
    afc_failure ignored;
    read_structs given;
    if (failure == NULL) failure = &ignored;
    *out = NULL;
    afc_status status = read_given(&given, request, options, events, failure);
    if (status == AFC_OK) status = check_request(given.request, failure);
    if (status == AFC_OK) status = check_options(given.options, failure);
    if (status == AFC_OK) {
        return open_socket(out, session, given.request, given.options, given.events, failure);
    }
    bool takes_context = given.events != NULL && given.events->release != NULL;
    if (takes_context) given.events->release(given.events->context);
    return status;
}
