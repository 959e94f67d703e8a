#include "connection/ending.h"

#include "base/clock.h"
#include "connection/connection.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DRAIN_MS 1000

/**
 * Closes the socket and records its end. The lock keeps a concurrent stop from shutting down a
 * descriptor that has been reused.
 */
static void close_socket(afts_conn *conn) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    if (conn->fd >= 0) {
        close(conn->fd);
        conn->fd = -1;
        bool decided = conn->ending != AFTS_STILL_OPEN;
        conn->record->seen.ending = decided ? conn->ending : AFTS_CLOSED_BY_SERVER;
        if (!conn->has_hung_up) {
            server->stats.open--;
            server->stats.closed++;
        }
        afts__server_changed(server);
    }
    pthread_mutex_unlock(&server->lock);
    conn->close_after = true;
}

static bool input_is_pending(const afts_conn *conn) {
    int waiting = 0;
    bool body_unread = conn->request != NULL && !conn->request->seen.body_complete;
    return !conn->input_ended &&
           (body_unread || (ioctl(conn->fd, FIONREAD, &waiting) == 0 && waiting > 0));
}

static int milliseconds_until(const struct timespec *deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((deadline->tv_sec - now.tv_sec) * 1000 +
                 (deadline->tv_nsec - now.tv_nsec) / 1000000);
}

/** A socket closed with unread input is reset, and the reset can overtake the response. */
static void drain(afts_conn *conn) {
    uint8_t scratch[4096];
    struct timespec deadline = afts__deadline(DRAIN_MS);
    struct pollfd watched = {.fd = conn->fd, .events = POLLIN};
    int left = DRAIN_MS;
    while (left > 0 && poll(&watched, 1, left) > 0 &&
           recv(conn->fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0) {
        left = milliseconds_until(&deadline);
    }
}

static void send_end(afts_conn *conn) {
    if (conn->ssl != NULL && conn->can_send_notify) {
        ERR_clear_error();
        SSL_shutdown(conn->ssl);
        conn->can_send_notify = false;
    }
    shutdown(conn->fd, SHUT_WR);
}

void afts__close(afts_conn *conn) {
    if (conn->fd < 0) return;
    send_end(conn);
    if (input_is_pending(conn)) drain(conn);
    close_socket(conn);
}

void afts__close_abruptly(afts_conn *conn) {
    close_socket(conn);
}

void afts__half_close(afts_conn *conn) {
    if (conn->fd >= 0) send_end(conn);
}

void afts__reset(afts_conn *conn) {
    if (conn->fd < 0) return;
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close_socket(conn);
}
