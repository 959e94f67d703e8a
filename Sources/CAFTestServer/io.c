#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

int afts__ended(afts_conn *conn) {
    return afts__stopping(conn->server) ? -ECANCELED : -ECONNRESET;
}

static int broken(afts_conn *conn) {
    conn->tls_usable = false;
    int result = afts__ended(conn);
    if (conn->ending == AFTS_STILL_OPEN && result == -ECONNRESET) {
        conn->ending = AFTS_BROKEN;
    }
    return result;
}

static ssize_t write_some(afts_conn *conn, const void *bytes, size_t len) {
    if (conn->ssl) {
        ERR_clear_error();
        int n = SSL_write(conn->ssl, bytes, len > INT_MAX ? INT_MAX : (int)len);
        return n > 0 ? n : -1;
    }
    ssize_t n;
    do {
        n = send(conn->fd, bytes, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n;
}

int afts__write(afts_conn *conn, const void *bytes, size_t len) {
    const uint8_t *at = bytes;
    while (len > 0) {
        if (conn->fd < 0) {
            return afts__ended(conn);
        }
        ssize_t n = write_some(conn, at, len < AFTS__OUTPUT_SIZE ? len : AFTS__OUTPUT_SIZE);
        if (n < 0) {
            return broken(conn);
        }
        pthread_mutex_lock(&conn->server->lock);
        conn->record->seen.sent_total += (uint64_t)n;
        conn->server->stats.sent += (uint64_t)n;
        pthread_mutex_unlock(&conn->server->lock);
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

// The TLS error for an end of input without close_notify: many clients just close the socket.
static bool is_bare_end(void) {
    unsigned long error = ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL &&
           ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

static ssize_t read_tls(afts_conn *conn, void *out, size_t max) {
    ERR_clear_error();
    int n = SSL_read(conn->ssl, out, max > INT_MAX ? INT_MAX : (int)max);
    if (n > 0) {
        return n;
    }
    if (SSL_get_error(conn->ssl, n) == SSL_ERROR_ZERO_RETURN) {
        return 0;
    }
    bool ended = is_bare_end();
    conn->tls_usable = false;
    return ended ? 0 : -1;
}

static ssize_t read_plain(afts_conn *conn, void *out, size_t max) {
    ssize_t n;
    do {
        n = recv(conn->fd, out, max, 0);
    } while (n < 0 && errno == EINTR);
    return n;
}

// Reads from the wire, past the buffer.
static ssize_t receive(afts_conn *conn, void *out, size_t max) {
    if (conn->fd < 0) {
        return afts__ended(conn);
    }
    if (conn->input_ended) {
        return 0;
    }
    ssize_t n = conn->ssl ? read_tls(conn, out, max) : read_plain(conn, out, max);
    if (n < 0) {
        return broken(conn);
    }
    if (n > 0) {
        afts__record_received(conn, out, (size_t)n);
        return n;
    }
    conn->input_ended = true;
    if (afts__stopping(conn->server)) {
        return -ECANCELED;
    }
    if (conn->ending == AFTS_STILL_OPEN) {
        conn->ending = AFTS_CLOSED_BY_CLIENT;
    }
    return 0;
}

ssize_t afts__fill(afts_conn *conn) {
    if (conn->input_at < conn->input_end) {
        return (ssize_t)(conn->input_end - conn->input_at);
    }
    ssize_t n = receive(conn, conn->input, AFTS__INPUT_SIZE);
    conn->input_at = 0;
    conn->input_end = n > 0 ? (size_t)n : 0;
    return n;
}

ssize_t afts__read(afts_conn *conn, void *out, size_t max) {
    size_t buffered = conn->input_end - conn->input_at;
    if (buffered == 0 || max == 0) {
        return max == 0 ? 0 : receive(conn, out, max);
    }
    size_t n = buffered < max ? buffered : max;
    memcpy(out, conn->input + conn->input_at, n);
    conn->input_at += n;
    return (ssize_t)n;
}

int afts__read_discarding(afts_conn *conn, uint64_t count) {
    uint8_t scratch[4096];
    while (count > 0) {
        ssize_t n = afts__read(conn, scratch, count < sizeof scratch ? count : sizeof scratch);
        if (n <= 0) {
            return n < 0 ? (int)n : afts__ended(conn);
        }
        count -= (uint64_t)n;
    }
    return 0;
}

int afts__pause(afts_conn *conn, unsigned milliseconds) {
    afts_server *server = conn->server;
    struct timespec deadline = afts__deadline(milliseconds);
    int waited = 0;
    pthread_mutex_lock(&server->lock);
    while (waited == 0 && server->state < AFTS__STOPPING) {
        waited = pthread_cond_timedwait(&conn->wake, &server->lock, &deadline);
    }
    bool stopping = server->state >= AFTS__STOPPING;
    pthread_mutex_unlock(&server->lock);
    return stopping ? -ECANCELED : 0;
}

ptrdiff_t afts_conn_read(afts_conn *conn, void *out, size_t size) {
    return afts__read(conn, out, size);
}

int afts_conn_send(afts_conn *conn, const void *bytes, size_t len) {
    return afts__write(conn, bytes, len);
}

int afts_conn_pause(afts_conn *conn, unsigned milliseconds) {
    return afts__pause(conn, milliseconds);
}

int afts_conn_stall(afts_conn *conn, const char *gate) {
    return afts__stall(conn, gate ? gate : "");
}
