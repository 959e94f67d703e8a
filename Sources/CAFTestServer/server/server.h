/**
 * A server's state.
 *
 * One mutex, afts_server.lock, guards everything that is marked so. It is never held while a script
 * blocks, writes, reads or calls a handler. "Own thread" means the thread of one connection.
 */
#ifndef AFTS_SERVER_SERVER_H
#define AFTS_SERVER_SERVER_H

#include "caftestserver.h"

#include <openssl/ssl.h>
#include <pthread.h>

/** In the order in which a server goes through them. */
typedef enum afts__server_state {
    AFTS__SERVER_NEW,
    AFTS__SERVER_STARTING,
    AFTS__SERVER_RUNNING,
    AFTS__SERVER_STOPPING,
    AFTS__SERVER_STOPPED
} afts__server_state;

struct afts_server {
    /* Fixed before the first thread starts. */
    afts_options options;
    SSL_CTX *tls;
    uint8_t *alpn; /**< In wire format. */
    size_t alpn_size;
    uint8_t *ocsp;
    size_t ocsp_size;
    char error[256];
    int listener;
    int holder; /**< Keeps the port from others, even after the listener is closed. */
    int fillers[3];
    int poller; /**< Epoll set of the listener's socket, and of those in connection/hangup.h. */
    uint16_t port;
    pthread_t acceptor;

    pthread_mutex_t lock;
    /* Guarded by the lock. */
    pthread_cond_t changed;
    size_t watchers; /**< Threads that wait for `changed`. */
    afts_watch *watches;
    afts__server_state state;
    afts_conn *live;
    afts_conn *finished; /**< Their threads are to be joined. */
    afts_stats stats;
    struct afts__request_record **requests;
    size_t requests_kept;
    struct afts__connection_record **connections;
    size_t connections_kept;
    struct afts__route *routes;
    struct afts__hook *hooks;
    afts_script *fallback;
    struct afts__gate *gates;
};

/** Wakes the threads that wait for a change of the record, and makes the callbacks of watches. Lock held. */
void afts__server_changed(afts_server *server);
bool afts__server_is_stopping(afts_server *server);

/** Listens and accepts. On failure afts_server.error says why. */
afts_status afts__listener_start(afts_server *server);
void afts__listener_close(afts_server *server);

#endif
