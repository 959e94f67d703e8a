#include "connection/io.h"

#include "base/clock.h"
#include "connection/hangup.h"
#include "script/gate.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

afts_status afts__ended(afts_conn *conn) {
    return afts__server_is_stopping(conn->server) ? AFTS_ECANCELED : AFTS_ELOST;
}

static afts_status broken(afts_conn *conn) {
    conn->can_send_notify = false;
    afts_status status = afts__ended(conn);
    if (conn->ending == AFTS_STILL_OPEN && status == AFTS_ELOST) conn->ending = AFTS_BROKEN;
    return status;
}

static ssize_t write_some(afts_conn *conn, const void *bytes, size_t size) {
    if (conn->ssl != NULL) {
        ERR_clear_error();
        int count = SSL_write(conn->ssl, bytes, size > INT_MAX ? INT_MAX : (int)size);
        return count > 0 ? count : -1;
    }
    ssize_t count;
    do {
        count = send(conn->fd, bytes, size, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count;
}

afts_status afts__write(afts_conn *conn, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    while (size > 0) {
        if (conn->fd < 0) return afts__ended(conn);
        ssize_t count = write_some(conn, at, size < AFTS__OUTPUT_SIZE ? size : AFTS__OUTPUT_SIZE);
        if (count < 0) return broken(conn);
        conn->has_answered = true;
        pthread_mutex_lock(&conn->server->lock);
        conn->record->seen.sent_total += (uint64_t)count;
        conn->server->stats.sent += (uint64_t)count;
        pthread_mutex_unlock(&conn->server->lock);
        at += count;
        size -= (size_t)count;
    }
    return AFTS_OK;
}

/** Is it OpenSSL's error for an end without close_notify? Many clients just close the socket. */
static bool is_bare_end(void) {
    unsigned long error = ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL &&
           ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

static ssize_t read_tls(afts_conn *conn, void *out, size_t size) {
    ERR_clear_error();
    int count = SSL_read(conn->ssl, out, size > INT_MAX ? INT_MAX : (int)size);
    if (count > 0) return count;
    if (SSL_get_error(conn->ssl, count) == SSL_ERROR_ZERO_RETURN) return 0;
    bool ended = is_bare_end();
    conn->can_send_notify = false;
    return ended ? 0 : -1;
}

static ssize_t read_plain(afts_conn *conn, void *out, size_t size) {
    ssize_t count;
    do {
        count = recv(conn->fd, out, size, 0);
    } while (count < 0 && errno == EINTR);
    return count;
}

/** Reads from the wire, bypassing the buffer. */
static afts_status receive(afts_conn *conn, void *out, size_t size, size_t *count_out) {
    *count_out = 0;
    if (conn->fd < 0) return afts__ended(conn);
    if (conn->input_ended) return AFTS_OK;
    ssize_t count = conn->ssl != NULL ? read_tls(conn, out, size) : read_plain(conn, out, size);
    if (count < 0) return broken(conn);
    if (count > 0) {
        afts__record_received(conn, out, (size_t)count);
        *count_out = (size_t)count;
        return AFTS_OK;
    }
    conn->input_ended = true;
    if (afts__server_is_stopping(conn->server)) return AFTS_ECANCELED;
    if (conn->ending == AFTS_STILL_OPEN) conn->ending = AFTS_CLOSED_BY_CLIENT;
    return AFTS_OK;
}

afts_status afts__fill(afts_conn *conn) {
    if (conn->input_at < conn->input_end) return AFTS_OK;
    conn->input_at = 0;
    afts_status status = receive(conn, conn->input, AFTS__INPUT_SIZE, &conn->input_end);
    return status == AFTS_OK && conn->input_end == 0 ? afts__ended(conn) : status;
}

afts_status afts__read(afts_conn *conn, void *out, size_t size, size_t *count) {
    size_t buffered = conn->input_end - conn->input_at;
    *count = buffered < size ? buffered : size;
    if (size == 0) return AFTS_OK;
    if (buffered == 0) return receive(conn, out, size, count);
    memcpy(out, conn->input + conn->input_at, *count);
    conn->input_at += *count;
    return AFTS_OK;
}

afts_status afts__read_discarding(afts_conn *conn, uint64_t left) {
    uint8_t scratch[4096];
    while (left > 0) {
        size_t count;
        size_t size = left < sizeof scratch ? (size_t)left : sizeof scratch;
        afts_status status = afts__read(conn, scratch, size, &count);
        if (status != AFTS_OK) return status;
        if (count == 0) return afts__ended(conn);
        left -= count;
    }
    return AFTS_OK;
}

afts_status afts__pause(afts_conn *conn, unsigned milliseconds) {
    afts_server *server = conn->server;
    struct timespec deadline = afts__deadline(milliseconds);
    int error = 0;
    pthread_mutex_lock(&server->lock);
    if (milliseconds > 0) afts__hangup_watch(conn);
    while (error == 0 && server->state < AFTS__SERVER_STOPPING) {
        error = pthread_cond_timedwait(&conn->wake, &server->lock, &deadline);
    }
    afts__hangup_unwatch(conn);
    bool is_stopping = server->state >= AFTS__SERVER_STOPPING;
    pthread_mutex_unlock(&server->lock);
    return is_stopping ? AFTS_ECANCELED : AFTS_OK;
}

void afts_conn_on_stop(afts_conn *conn, void (*stopping)(void *context), void *context) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    conn->stopping = stopping;
    conn->stopping_context = context;
    if (server->state >= AFTS__SERVER_STOPPING && stopping != NULL) stopping(context);
    pthread_mutex_unlock(&server->lock);
}

void afts_conn_begin_wait(afts_conn *conn) {
    pthread_mutex_lock(&conn->server->lock);
    afts__hangup_watch(conn);
    pthread_mutex_unlock(&conn->server->lock);
}

void afts_conn_end_wait(afts_conn *conn) {
    pthread_mutex_lock(&conn->server->lock);
    afts__hangup_unwatch(conn);
    pthread_mutex_unlock(&conn->server->lock);
}

afts_status afts_conn_read(afts_conn *conn, void *out, size_t size, size_t *count) {
    return afts__read(conn, out, size, count);
}

afts_status afts_conn_send(afts_conn *conn, const void *bytes, size_t size) {
    return afts__write(conn, bytes, size);
}

afts_status afts_conn_pause(afts_conn *conn, unsigned milliseconds) {
    return afts__pause(conn, milliseconds);
}

afts_status afts_conn_stall(afts_conn *conn, const char *gate) {
    return afts__stall(conn, gate != NULL ? gate : "");
}
