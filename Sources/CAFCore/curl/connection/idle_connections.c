#include "curl/connection/idle_connections.h"

#include "curl/connection/socket.h"
#include "curl/driver_internal.h"

enum {
    SECOND = 1000000,
    /* libcurl measures the age in whole seconds, and from a slightly later moment. */
    SLACK = 20000
};

/** Returns how long a connection rests before libcurl considers it too old, in microseconds. */
static int64_t lifetime(const afc__driver *driver) {
    return (driver->max_idle_s + (int64_t)1) * SECOND + SLACK;
}

static afc__socket *first_of(const afc__list *list) {
    afc__node *node = afc__list_first(list);
    return node != NULL ? AFC__OWNER(node, afc__socket, idle.node) : NULL;
}

/* ---- Lists --------------------------------------------------------------------------------- */

static void leave(afc__socket *socket) {
    afc__list_remove(&socket->idle.node);
    socket->idle.state = AFC__IDLE_NOT;
}

static void rest(afc__socket *socket, int64_t now) {
    leave(socket);
    socket->idle.state = AFC__IDLE_RESTING;
    socket->idle.since_us = now;
    afc__list_append(&socket->driver->idle.resting, &socket->idle.node);
}

static void become_due(afc__socket *socket) {
    leave(socket);
    socket->idle.state = AFC__IDLE_DUE;
    socket->idle.prunes = 0;
    afc__list_append(&socket->driver->idle.due, &socket->idle.node);
}

/* ---- The alarm ----------------------------------------------------------------------------- */

void afc__idle_init(afc__idle_connections *idle) {
    afc__list_init(&idle->resting);
    afc__list_init(&idle->due);
}

void afc__idle_expire(afc__driver *driver, int64_t now) {
    afc__socket *socket;
    while ((socket = first_of(&driver->idle.resting)) != NULL) {
        if (socket->idle.since_us + lifetime(driver) > now) return;
        if (afc__socket_is_in_use(socket))
            rest(socket, now);
        else
            become_due(socket);
    }
}

void afc__idle_arm(afc__driver *driver) {
    afc__idle_connections *idle = &driver->idle;
    const afc__socket *oldest = first_of(&idle->resting);
    if (!afc__list_is_empty(&idle->due)) {
        afc__loop_arm(driver->loop, &idle->alarm, idle->prune_due_us);
    } else if (oldest != NULL) {
        afc__loop_arm(driver->loop, &idle->alarm, oldest->idle.since_us + lifetime(driver));
    }
}

/* ---- Events -------------------------------------------------------------------------------- */

void afc__idle_begins(afc__socket *socket) {
    afc__driver *driver = socket->driver;
    if (socket->kind == AFC__CONNECTION_UNKNOWN || socket->idle.state != AFC__IDLE_NOT) return;
    rest(socket, afc__loop_now(driver->loop));
    if (!afc__timer_is_armed(&driver->idle.alarm.timer)) afc__idle_arm(driver);
}

void afc__idle_restarts(afc__socket *socket) {
    if (socket->idle.state != AFC__IDLE_NOT) rest(socket, afc__loop_now(socket->driver->loop));
}

void afc__idle_ends(afc__socket *socket) {
    if (socket->idle.state != AFC__IDLE_NOT) leave(socket);
}

void afc__idle_on_input(afc__socket *socket, unsigned readiness) {
    if (socket->idle.state != AFC__IDLE_RESTING || afc__socket_is_in_use(socket)) return;
    bool has_ended = (readiness & (AFC__ENDED | AFC__BROKEN)) != 0;
    if (socket->kind == AFC__CONNECTION_HTTP_2 && !has_ended) {
        /*
         * HTTP/2 frames, which libcurl reads with the next request. From now on only the end of the connection is
         * watched; if it is there already, it is reported at once.
         */
        (void)afc__loop_watch(socket->driver->loop, &socket->watch, AFC__ENDED);
        return;
    }
    become_due(socket);
    afc__idle_arm(socket->driver);
}
