#include "server/server.h"

#include "base/clock.h"
#include "connection/connection.h"
#include "script/gate.h"
#include "script/script.h"
#include "server/routes.h"
#include "tls/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

bool afts__server_is_stopping(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    bool is_stopping = server->state >= AFTS__SERVER_STOPPING;
    pthread_mutex_unlock(&server->lock);
    return is_stopping;
}

/** Lock held. */
static void set_state(afts_server *server, afts__server_state state) {
    server->state = state;
    /* Those in begin_stop() wait for it, too. */
    pthread_cond_broadcast(&server->changed);
    afts__server_changed(server);
}

static void apply_defaults(afts_options *options) {
    if (options->received_limit == 0) options->received_limit = 1 << 20;
    if (options->body_limit == 0) options->body_limit = 1 << 20;
    if (options->head_limit == 0) options->head_limit = 256 << 10;
    if (options->record_limit == 0) options->record_limit = 4096;
    options->tls = NULL;
}

static afts_script *echo_script(void) {
    afts_script *script = afts_script_new();
    afts_echo(script);
    if (script != NULL && script->is_invalid) {
        afts_script_release(script);
        return NULL;
    }
    return script;
}

afts_server *afts_server_new(const afts_options *options) {
    afts_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    pthread_mutex_init(&server->lock, NULL);
    afts__condition_init(&server->changed);
    server->listener = server->holder = server->poller = -1;
    server->fillers[0] = server->fillers[1] = server->fillers[2] = -1;
    server->options = options != NULL ? *options : (afts_options){0};
    apply_defaults(&server->options);
    server->fallback = echo_script();
    if (server->fallback == NULL) {
        afts_server_free(server);
        return NULL;
    }
    if (options != NULL && options->tls != NULL) afts__tls_init(server, options->tls);
    return server;
}

afts_status afts_server_start(afts_server *server) {
    if (server->error[0] != 0) return AFTS_EINVAL;
    pthread_mutex_lock(&server->lock);
    bool is_new = server->state == AFTS__SERVER_NEW;
    if (is_new) server->state = AFTS__SERVER_STARTING;
    pthread_mutex_unlock(&server->lock);
    if (!is_new) return AFTS_ESTARTED;
    afts_status status = afts__listener_start(server);
    pthread_mutex_lock(&server->lock);
    set_state(server, status == AFTS_OK ? AFTS__SERVER_RUNNING : AFTS__SERVER_STOPPED);
    pthread_mutex_unlock(&server->lock);
    return status;
}

/** true: it is up to the caller to stop the server. Lock held. */
static bool begin_stop(afts_server *server) {
    server->watchers++;
    while (server->state == AFTS__SERVER_STARTING || server->state == AFTS__SERVER_STOPPING) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    server->watchers--;
    bool is_running = server->state == AFTS__SERVER_RUNNING;
    set_state(server, is_running ? AFTS__SERVER_STOPPING : AFTS__SERVER_STOPPED);
    return is_running;
}

/** Wakes the threads of all connections, wherever they block. Lock held. */
static void interrupt_everything(afts_server *server) {
    shutdown(server->listener, SHUT_RDWR);
    for (afts_conn *conn = server->live; conn != NULL; conn = conn->next) {
        if (conn->fd >= 0) shutdown(conn->fd, SHUT_RDWR);
        pthread_cond_signal(&conn->wake);
        if (conn->stopping != NULL) conn->stopping(conn->stopping_context);
    }
    afts__gates_wake(server);
}

void afts_server_stop(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    if (!begin_stop(server)) {
        pthread_mutex_unlock(&server->lock);
        return;
    }
    interrupt_everything(server);
    pthread_mutex_unlock(&server->lock);
    if (!server->options.unreachable) pthread_join(server->acceptor, NULL);
    pthread_mutex_lock(&server->lock);
    server->watchers++;
    while (server->live != NULL) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    server->watchers--;
    pthread_mutex_unlock(&server->lock);
    afts__join_finished(server);
    afts__listener_close(server);
    pthread_mutex_lock(&server->lock);
    set_state(server, AFTS__SERVER_STOPPED);
    pthread_mutex_unlock(&server->lock);
}

void afts_server_free(afts_server *server) {
    if (server == NULL) return;
    afts_server_stop(server);
    if (server->holder >= 0) close(server->holder);
    afts__routes_clear(server);
    afts__gates_clear(server);
    afts__records_clear(server);
    afts__tls_clear(server);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *afts_server_error(const afts_server *server) {
    return server->error;
}

uint16_t afts_server_port(const afts_server *server) {
    return server->port;
}

size_t afts_server_url(const afts_server *server, const char *path, char *out, size_t size) {
    int length = snprintf(out, size, "%s://%s:%u%s", server->tls != NULL ? "https" : "http",
                          server->options.ipv6 ? "[::1]" : "127.0.0.1", (unsigned)server->port,
                          path);
    return length < 0 ? 0 : (size_t)length;
}
