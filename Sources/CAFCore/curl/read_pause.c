/*
 * Keeps libcurl from reading for a paused exchange.
 *
 * libcurl 8.5.0 waits for input on the socket of a paused transfer (cf_socket_adjust_pollset() adds
 * it; 8.6.0 doesn't), and reads when readiness is reported. The bytes are appended to what libcurl
 * holds, without a limit. An end of the connection clears KEEP_RECV_PAUSE and so ends the transfer:
 * it succeeds, and the held bytes are lost. So readiness isn't reported to this libcurl. A
 * connection without readers isn't watched for input. On one that other exchanges read, no
 * readiness is reported at all: libcurl then checks the socket itself, for the exchanges that
 * aren't paused.
 */
#include "curl/read_pause.h"

bool af__reads_while_paused(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num >> 8 == 0x0805;
}

/* ---- Which exchanges ----------------------------------------------------------------------- */

/** Returns the HTTP/2 connection that carries the exchange; NULL: none. */
static af__socket *carrier_of(const af__exchange *exchange) {
    if (exchange->carrier == 0) return NULL;
    af__socket *socket = exchange->driver->sockets[exchange->carrier_socket];
    return socket->number == exchange->carrier ? socket : NULL;
}

/** Returns whether libcurl's wanted readiness may be that of any exchange on the connection. */
static bool is_shared(const af__socket *socket) {
    return socket->kind == AF__CONNECTION_HTTP_2;
}

static bool has_stopped(const af__socket *socket) {
    if (is_shared(socket)) return socket->streams > 0 && socket->stopped == socket->streams;
    const af__exchange *exchange = socket->exchange;
    return exchange != NULL && exchange->is_stopped && !exchange->is_multiplexed;
}

static void set_stopped(af__exchange *exchange, bool is_stopped) {
    if (exchange->is_stopped == is_stopped) return;
    exchange->is_stopped = is_stopped;
    af__socket *socket = carrier_of(exchange);
    if (socket != NULL) socket->stopped += is_stopped ? 1 : -1u;
}

/* ---- Watching ------------------------------------------------------------------------------ */

static void hold(af__socket *socket) {
    af__loop *loop = socket->driver->loop;
    unsigned others = socket->wanted & ~(unsigned)AF__READABLE;
    if (!is_shared(socket)) socket->exchange->held = socket;
    if (others != 0 && af__loop_watch(loop, &socket->watch, others, false) == AF_OK) {
        socket->watched = others;
        return;
    }
    af__loop_unwatch(loop, &socket->watch);
    socket->is_registered = false;
    socket->watched = 0;
}

/** Returns false if the socket can't be watched. */
static bool let_go(af__socket *socket) {
    if (socket == NULL || socket->wanted == 0) return true;
    if (socket->is_registered && socket->watched == socket->wanted) return true;
    af__loop *loop = socket->driver->loop;
    if (af__loop_watch(loop, &socket->watch, socket->wanted, !socket->is_registered) != AF_OK) {
        return false;
    }
    socket->is_registered = true;
    socket->watched = socket->wanted;
    return true;
}

unsigned af__reading_filter(af__socket *socket, unsigned readiness) {
    if (!socket->driver->reads_while_paused || !has_stopped(socket)) return readiness;
    hold(socket);
    return socket->watched == 0 ? 0 : readiness & ~(unsigned)AF__READABLE;
}

bool af__reading_is_mixed(const af__socket *socket) {
    return is_shared(socket) && socket->stopped > 0;
}

/* ---- Of an exchange ------------------------------------------------------------------------ */

void af__reading_stops(af__exchange *exchange) {
    if (exchange->driver->reads_while_paused) set_stopped(exchange, true);
}

void af__reading_may_begin(af__exchange *exchange) {
    set_stopped(exchange, false);
}

bool af__reading_begins(af__exchange *exchange) {
    if (!exchange->driver->reads_while_paused || exchange->is_stopped) return true;
    af__socket *socket = carrier_of(exchange);
    if (socket == NULL) socket = exchange->held;
    exchange->held = NULL;
    if (socket == NULL || (!is_shared(socket) && socket->exchange != exchange)) return true;
    /* curl_easy_pause() has allowed all exchanges of the connection to read. */
    if (af__reading_is_mixed(socket)) socket->driver->rechecks = socket->must_recheck = true;
    return let_go(socket);
}

void af__driver_recheck(af__driver *driver) {
    int running;
    if (!driver->rechecks) return;
    driver->rechecks = false;
    for (size_t i = 0; i < driver->socket_capacity; i++) {
        af__socket *socket = driver->sockets[i];
        if (socket == NULL || !socket->must_recheck) continue;
        socket->must_recheck = false;
        curl_multi_socket_action(driver->multi, socket->watch.descriptor, 0, &running);
    }
}

bool af__exchange_set_carrier(af__exchange *exchange, af__socket *socket) {
    set_stopped(exchange, false);
    exchange->held = NULL;
    af__socket *last = carrier_of(exchange);
    if (last != NULL) last->streams--;
    exchange->carrier = 0;
    if (socket == NULL || !is_shared(socket)) return true;
    exchange->carrier = socket->number;
    exchange->carrier_socket = socket->watch.descriptor;
    socket->streams++;
    return !exchange->driver->reads_while_paused || let_go(socket);
}
