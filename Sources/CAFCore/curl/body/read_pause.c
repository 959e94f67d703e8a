/*
 * Pauses the receiving of an exchange, and keeps libcurl from reading meanwhile.
 *
 * libcurl 8.5.0 waits for input on the socket of a paused transfer (cf_socket_adjust_pollset() adds it; 8.6.0 doesn't),
 * and reads when readiness is reported. The bytes are appended to what libcurl holds, without a limit. The end of the
 * connection clears KEEP_RECV_PAUSE and so ends the transfer: it succeeds, and the held bytes are lost. So readiness
 * isn't reported to this libcurl. If all exchanges of a connection are stopped, the connection isn't watched for input.
 * If only some are, no readiness is reported for it: libcurl is called without readiness, and then checks the socket
 * itself, for the exchanges that aren't paused.
 *
 * While a request body is paused, this libcurl also waits for input behind the end of the connection, which makes the
 * loop call it again and again. So when the end is met for the second time, the socket isn't watched any more.
 */
#include "curl/body/read_pause.h"

#include "curl/body/peer_end.h"
#include "curl/connection/socket.h"
#include "curl/exchange_state.h"

#include <assert.h>
#include <sys/socket.h>

/* ---- Which exchanges ----------------------------------------------------------------------- */

/** Returns the HTTP/2 connection that carries the exchange, or NULL. */
static afc__socket *carrier_of(const afc__exchange *exchange) {
    if (exchange->carrier == 0) return NULL;
    afc__socket *socket = exchange->driver->sockets[exchange->carrier_socket];
    return socket->number == exchange->carrier ? socket : NULL;
}

/** Returns whether the readiness that libcurl waits for may be that of any exchange on the connection. */
static bool is_shared(const afc__socket *socket) {
    return socket->kind == AFC__CONNECTION_HTTP_2;
}

/** Returns whether all exchanges of the connection are stopped. */
static bool has_stopped(const afc__socket *socket) {
    if (is_shared(socket)) return socket->streams > 0 && socket->stopped == socket->streams;
    const afc__exchange *exchange = socket->exchange;
    return exchange != NULL && afc__exchange_receiving_is_paused(exchange) &&
           !exchange->run.is_multiplexed;
}

/* ---- Transitions --------------------------------------------------------------------------- */

/** Counts the exchange as stopped, or as not stopped any more, on its connection. */
static void count_stopped(const afc__exchange *exchange, bool is_stopped) {
    if (!exchange->driver->quirks.reads_while_paused) return;
    afc__socket *socket = carrier_of(exchange);
    if (socket != NULL) socket->stopped += is_stopped ? 1 : -1u;
}

static void set_receiving(afc__exchange *exchange, afc__receiving receiving) {
    afc__receiving before = exchange->run.receiving;
    bool is_paused = afc__receiving_is_paused(receiving);
    exchange->run.receiving = receiving;
    if (is_paused != afc__receiving_is_paused(before)) count_stopped(exchange, is_paused);
}

static void enter(afc__exchange *exchange, afc__receiving receiving) {
    assert(afc__receiving_may_become(exchange->run.receiving, receiving));
    assert(afc__receiving_is_paused(receiving) || !exchange->run.has_yielded);
    set_receiving(exchange, receiving);
}

void afc__receiving_begins(afc__exchange *exchange) {
    set_receiving(exchange, AFC__RECEIVING_OPEN);
    exchange->run.has_yielded = false;
}

void afc__receiving_pauses(afc__exchange *exchange) {
    if (!afc__exchange_receiving_is_paused(exchange)) enter(exchange, AFC__RECEIVING_HELD);
}

void afc__receiving_resumes(afc__exchange *exchange) {
    enter(exchange, AFC__RECEIVING_OPEN);
}

void afc__receiving_falls_behind(afc__exchange *exchange) {
    enter(exchange, AFC__RECEIVING_BEHIND);
}

/* ---- Watching ------------------------------------------------------------------------------ */

static void stop_watching_input(afc__socket *socket) {
    afc__loop *loop = socket->driver->loop;
    unsigned others = socket->wanted & ~(unsigned)AFC__READABLE;
    if (!is_shared(socket)) socket->exchange->held = socket;
    if (others != 0 && afc__loop_watch(loop, &socket->watch, others) == AFC_OK) return;
    afc__loop_unwatch(loop, &socket->watch);
}

/**
 * Returns whether the end of the connection is met for the second time: libcurl has read it then, and would be called
 * for it again and again, as it waits for input while the request body is paused.
 */
static bool meets_end_again(const afc__socket *socket) {
    char byte;
    afc__exchange *exchange = socket->exchange;
    if (exchange == NULL || !afc__exchange_waits_for_body(exchange)) return false;
    if (recv(socket->watch.descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return false;
    bool was_met = exchange->run.has_met_end;
    exchange->run.has_met_end = true;
    return was_met;
}

unsigned afc__reading_filter(afc__socket *socket, unsigned readiness) {
    if (!socket->driver->quirks.reads_while_paused) return readiness;
    if (!has_stopped(socket)) {
        if (readiness != AFC__READABLE || !meets_end_again(socket)) return readiness;
        afc__exchange_socket_is_unwatched(socket->exchange, socket->watch.descriptor);
    }
    stop_watching_input(socket);
    return socket->watch.watched == 0 ? 0 : readiness & ~(unsigned)AFC__READABLE;
}

bool afc__reading_is_mixed(const afc__socket *socket) {
    return is_shared(socket) && socket->stopped > 0;
}

/* ---- Of an exchange ------------------------------------------------------------------------ */

bool afc__reading_begins(afc__exchange *exchange) {
    if (!exchange->driver->quirks.reads_while_paused) return true;
    if (afc__exchange_receiving_is_paused(exchange)) return true;
    afc__socket *socket = carrier_of(exchange);
    if (socket == NULL) socket = exchange->held;
    exchange->held = NULL;
    if (socket == NULL || (!is_shared(socket) && socket->exchange != exchange)) return true;
    /* curl_easy_pause() makes libcurl read for all exchanges of the connection. */
    if (afc__reading_is_mixed(socket)) socket->driver->rechecks = socket->must_recheck = true;
    return afc__socket_watch(socket);
}

CURLMcode afc__driver_recheck(afc__driver *driver) {
    int running;
    CURLMcode code = CURLM_OK;
    if (!driver->rechecks) return CURLM_OK;
    driver->rechecks = false;
    for (size_t i = 0; i < driver->socket_capacity && code == CURLM_OK; i++) {
        afc__socket *socket = driver->sockets[i];
        if (socket == NULL || !socket->must_recheck) continue;
        socket->must_recheck = false;
        code = curl_multi_socket_action(driver->multi.handle, socket->watch.descriptor, 0,
                                        &running);
    }
    if (code != CURLM_OK) driver->rechecks = true;
    return code;
}

bool afc__exchange_set_carrier(afc__exchange *exchange, afc__socket *socket) {
    assert(!afc__exchange_receiving_is_paused(exchange));
    exchange->held = NULL;
    afc__socket *last = carrier_of(exchange);
    if (last != NULL) last->streams--;
    exchange->carrier = 0;
    if (socket == NULL || !is_shared(socket)) return true;
    exchange->carrier = socket->number;
    exchange->carrier_socket = socket->watch.descriptor;
    socket->streams++;
    return !exchange->driver->quirks.reads_while_paused || afc__socket_watch(socket);
}
