/** An accepted connection and its thread. */
#ifndef AFTS_CONNECTION_CONNECTION_H
#define AFTS_CONNECTION_CONNECTION_H

#include "http/head.h"
#include "server/records.h"
#include "server/server.h"

#define AFTS__INPUT_SIZE ((size_t)16 * 1024)

struct afts_conn {
    afts_server *server;
    /* Guarded by the lock. */
    afts_conn *previous;
    afts_conn *next;
    afts__connection_record *record;
    int fd; /**< The own thread alone writes it, and reads it without the lock. */
    pthread_cond_t wake;
    bool is_watched;  /**< The own thread waits, and the listener watches the socket. */
    bool has_hung_up; /**< The client's end was recorded and counted during such a wait. */
    /** While a handler runs: see afts_conn_on_stop(). */
    void (*stopping)(void *context);
    void *stopping_context;
    /* Own thread. */
    pthread_t thread;
    SSL *ssl;
    uint8_t *input;
    size_t input_at;
    size_t input_end;
    bool input_ended;     /**< The peer sent FIN or close_notify. */
    bool can_send_notify; /**< The TLS connection is usable: close_notify may be sent. */
    afts_ending ending;
    afts__request_record *request;
    afts__framing framing;
    uint64_t body_left; /**< Unread bytes of the body, or of the current chunk. */
    bool in_chunks;     /**< The CRLF after a chunk is still to come. */
    bool close_after;   /**< Either side sent "Connection: close". */
    bool omits_body;    /**< The response has no body, whatever the script sends. */
    bool is_connect;    /**< A success makes the connection a tunnel. */
    bool has_answered;  /**< More than interim responses has been sent for the request. */
};

/** Serves an accepted socket on a new thread; closes it if that fails. */
void afts__serve(afts_server *server, int fd, uint16_t client_port);
/** Joins the threads of finished connections. */
void afts__join_finished(afts_server *server);

#endif
