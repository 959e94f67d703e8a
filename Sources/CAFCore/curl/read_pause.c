/*
 * What a paused exchange must not read.
 *
 * libcurl 8.5.0 waits for input on the socket of a transfer whose reading is paused (cf_socket_adjust_pollset() adds
 * it; 8.6.0 doesn't), and reads it when it is told of some. What comes is appended to what libcurl holds, without a
 * limit, and an end clears KEEP_RECV_PAUSE and so ends the transfer: it succeeds, and what was held is lost.
 * So this libcurl isn't told. A connection on which nobody reads isn't watched for input. On one that others read,
 * libcurl is told of no readiness at all: then it asks the socket by itself, for those that aren't paused.
 */
#include "curl/read_pause.h"

bool af__reads_while_paused(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num >> 8 == 0x0805;
}

/* ---- Which exchanges ----------------------------------------------------------------------- */

/** The HTTP/2 connection that carries it; NULL: none. */
static af__socket *carrier_of(const af__exchange *exchange) {
    if (exchange->carrier == 0) return NULL;
    af__socket *socket = exchange->driver->sockets[exchange->carrier_socket];
    return socket->number == exchange->carrier ? socket : NULL;
}

/** Then what libcurl says that it waits for is said of any one of its exchanges. */
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

/** false: it can't be watched. */
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
    /* curl_easy_pause() has told all of the connection that they may read. */
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
