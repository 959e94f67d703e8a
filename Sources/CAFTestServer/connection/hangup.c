#include "connection/hangup.h"

#include "connection/connection.h"

#include <sys/epoll.h>

/* Without a watch, for lack of memory or before the listener has one, the end is recorded by the next read or write. */
void afts__hangup_watch(afts_conn *conn) {
    if (conn->fd < 0 || conn->has_hung_up) return;
    /* EPOLLERR and EPOLLHUP are always reported. Once is enough: the end of input lasts. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = conn};
    conn->is_watched = epoll_ctl(conn->server->poller, EPOLL_CTL_ADD, conn->fd, &event) == 0;
}

void afts__hangup_unwatch(afts_conn *conn) {
    if (conn->is_watched) epoll_ctl(conn->server->poller, EPOLL_CTL_DEL, conn->fd, NULL);
    conn->is_watched = false;
    if (conn->has_hung_up && conn->ending == AFTS_STILL_OPEN) {
        conn->ending = conn->record->seen.ending;
    }
}

void afts__hangup_record(afts_conn *conn, uint32_t events) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    /* A server that stops shuts the sockets down, which looks the same. */
    if (conn->is_watched && !conn->has_hung_up && server->state < AFTS__SERVER_STOPPING) {
        conn->has_hung_up = true;
        conn->record->seen.ending = events & EPOLLERR ? AFTS_BROKEN : AFTS_CLOSED_BY_CLIENT;
        server->stats.open--;
        server->stats.closed++;
        afts__server_changed(server);
    }
    pthread_mutex_unlock(&server->lock);
}
