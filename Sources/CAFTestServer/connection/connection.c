#include "connection/connection.h"

#include "base/clock.h"
#include "connection/ending.h"
#include "http/request.h"
#include "script/script.h"
#include "server/routes.h"
#include "tls/tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/** Handlers run on it. The system only reserves it, and provides what is used. */
#define STACK_SIZE ((size_t)1024 * 1024)

/** Handlers run on these threads, and scripts are released there with what their handlers hold. */
static _Thread_local bool serves_connection;

bool afts_in_handler(void) {
    return serves_connection;
}

/** Lock held. */
static void link_live(afts_conn *conn) {
    afts_server *server = conn->server;
    conn->next = server->live;
    if (server->live != NULL) server->live->previous = conn;
    server->live = conn;
}

/** Lock held. */
static void unlink_live(afts_conn *conn) {
    if (conn->previous != NULL) {
        conn->previous->next = conn->next;
    } else {
        conn->server->live = conn->next;
    }
    if (conn->next != NULL) conn->next->previous = conn->previous;
}

static void free_conn(afts_conn *conn) {
    afts__connection_record_drop(conn->record);
    pthread_cond_destroy(&conn->wake);
    free(conn->input);
    free(conn);
}

static void drop_request(afts_conn *conn) {
    afts__request_record_drop(conn->request);
    conn->request = NULL;
}

static afts_status run_hook(afts_conn *conn, bool before_tls) {
    size_t index = conn->record->seen.index;
    afts_script *script = afts__script_for_connection(conn->server, index, before_tls);
    afts_status status = script != NULL ? afts__script_run(conn, script) : AFTS_OK;
    afts_script_release(script);
    drop_request(conn);
    return conn->fd < 0 ? AFTS_ELOST : status;
}

/** Serves one request by its script; AFTS_OK: the connection stays open. */
static afts_status serve_request(afts_conn *conn) {
    afts_status status = afts__read_head(conn);
    if (status != AFTS_OK) return status;
    afts_script *script = afts__script_for_request(conn->server, conn->request);
    if (!script->head_only) {
        status = afts__continue(conn);
        if (status == AFTS_OK) status = afts__read_body(conn);
    }
    afts__record_request(conn);
    if (status == AFTS_OK) status = afts__script_run(conn, script);
    afts_script_release(script);
    if (status == AFTS_OK && conn->fd >= 0 && !conn->close_after) status = afts__read_body(conn);
    return conn->fd < 0 ? AFTS_ELOST : status;
}

static void serve_requests(afts_conn *conn) {
    afts_status status = AFTS_OK;
    while (status == AFTS_OK && !conn->close_after && !afts__server_is_stopping(conn->server)) {
        status = serve_request(conn);
        if (status == AFTS_OK) drop_request(conn);
    }
}

static void finish(afts_conn *conn) {
    if (conn->fd >= 0) afts__close(conn);
    SSL_free(conn->ssl);
    drop_request(conn);
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    unlink_live(conn);
    conn->next = server->finished;
    server->finished = conn;
    afts__server_changed(server);
    pthread_mutex_unlock(&server->lock);
}

static void *serve_connection(void *context) {
    afts_conn *conn = context;
    serves_connection = true;
    pthread_setname_np(pthread_self(), "aft-connection");
    if (run_hook(conn, true) == AFTS_OK && afts__tls_handshake(conn) == AFTS_OK &&
        run_hook(conn, false) == AFTS_OK) {
        serve_requests(conn);
    }
    finish(conn);
    return NULL;
}

/** 0, or an errno. */
static int start_thread(afts_conn *conn) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    int error = pthread_create(&conn->thread, &attributes, serve_connection, conn);
    pthread_attr_destroy(&attributes);
    return error;
}

static afts_conn *make_conn(afts_server *server, int fd) {
    afts_conn *conn = calloc(1, sizeof *conn);
    uint8_t *input = malloc(AFTS__INPUT_SIZE);
    if (conn == NULL || input == NULL) {
        free(conn);
        free(input);
        return NULL;
    }
    conn->server = server;
    conn->input = input;
    conn->fd = fd;
    afts__condition_init(&conn->wake);
    return conn;
}

/** Undoes what afts__serve has done. Lock held. */
static void abandon(afts_conn *conn) {
    unlink_live(conn);
    conn->record->seen.ending = AFTS_BROKEN;
    conn->server->stats.open--;
    conn->server->stats.closed++;
    afts__server_changed(conn->server);
}

void afts__serve(afts_server *server, int fd, uint16_t client_port) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    afts_conn *conn = make_conn(server, fd);
    if (conn == NULL) {
        close(fd);
        return;
    }
    pthread_mutex_lock(&server->lock);
    bool is_stopping = server->state >= AFTS__SERVER_STOPPING;
    conn->record = is_stopping ? NULL : afts__record_connection(server, client_port);
    bool started = false;
    if (conn->record != NULL) {
        link_live(conn);
        /* With the lock held, so that the thread can't finish before its handle is stored. */
        started = start_thread(conn) == 0;
        if (!started) abandon(conn);
    }
    pthread_mutex_unlock(&server->lock);
    if (!started) {
        close(fd);
        free_conn(conn);
    }
}

void afts__join_finished(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    afts_conn *conn = server->finished;
    server->finished = NULL;
    pthread_mutex_unlock(&server->lock);
    while (conn != NULL) {
        afts_conn *next = conn->next;
        pthread_join(conn->thread, NULL);
        free_conn(conn);
        conn = next;
    }
}

bool afts_conn_has_answered(const afts_conn *conn) {
    return conn->has_answered;
}

size_t afts_conn_index(const afts_conn *conn) {
    return conn->record->seen.index;
}
