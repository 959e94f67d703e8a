/** A WebSocket of a test, which records what its callbacks receive; and a codec that compresses nothing. */
#ifndef AFC_TESTS_RECORDED_SOCKET_H
#define AFC_TESTS_RECORDED_SOCKET_H

#include "support/fixture.h"

#include <afcore/websocket.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SOCKET_LOG_SIZE = 4096 };

typedef struct recorded_socket recorded_socket;

struct recorded_socket {
    /* Set these before socket_open(). */
    afc_request request;
    afc_websocket_options options;
    afc_websocket_events events;
    /** Each may be NULL. They run on the loop thread: no assertions there. */
    void (*at_open)(recorded_socket *socket);
    afc_status (*at_message)(recorded_socket *socket, const afc_websocket_message *message);
    void (*at_sent)(recorded_socket *socket, afc_status status);
    void *payload; /**< For the hooks. */

    afc_websocket *socket;
    /* Results; stable after socket_wait(). */
    /**
     * What was called, in order: "open PROTOCOL", "text BYTES", "binary BYTES" (with a "+" behind a piece that isn't
     * the last), "sent STATUS", "pong BYTES", "closed CODE REASON", each ended by ";". Long bytes are cut.
     */
    char log[SOCKET_LOG_SIZE];
    afc_failure failure;
    uint16_t code;
    int status; /**< Status of the response; 0: none. */
    /** Body of a response that refuses the handshake. Freed by wire_free(). */
    char *body;
    size_t body_size;
    afc_status body_status; /**< How the result's body ended. */
    bool is_compressed;
    atomic_uint open_count, message_count, sent_count, pong_count, closed_count, release_count;
    atomic_uint_fast64_t received; /**< Bytes of messages consumed. */
    atomic_int_fast64_t round_trip_us;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/** Makes a socket to the fixture's server, not opened. */
recorded_socket *socket_new(fixture *fixture, const char *path);

/** Opens it; it must not be refused. */
void socket_open(recorded_socket *socket, fixture *fixture);

/** Does both and waits until it is open. */
recorded_socket *socket_opened(fixture *fixture, const char *path);

/** Waits until a counter is at least `count`; fails the test if the socket ends before, or on a timeout. */
void socket_wait_for(recorded_socket *socket, atomic_uint *counter, unsigned count);

/** Waits until it is released. */
void socket_wait(recorded_socket *socket);

/** Waits, checks that it ended exactly once, and frees it. */
void socket_free(recorded_socket *socket);

/** Sends a text, which must be accepted. */
void socket_send_text(recorded_socket *socket, const char *text);

/** Closes with 1000 and no reason. */
void socket_close(recorded_socket *socket);

/** The log is this, if the socket has ended. */
#define check_log(socket, expected) check_log_at((socket), (expected), __FILE__, __LINE__)
void check_log_at(recorded_socket *socket, const char *expected, const char *file, int line);

/** "PATH" upgrades and sends these bytes, then waits for the client to close. */
void serve_socket_bytes(fixture *fixture, const char *path, afc_slice bytes);

/** Serves an echo, with these fields in the 101; NULL: none. */
void serve_echo(fixture *fixture, const char *path, const char *headers);

/** A codec of stored blocks (RFC 1951 3.2.4). `context` may be an int, which counts open streams, or NULL. */
afc_websocket_codec stored_codec(atomic_int *open_streams);

#endif
