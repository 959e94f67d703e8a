/** A WebSocket of a test, which records what its callbacks receive; and a codec that compresses nothing. */
#ifndef AFC_TESTS_WEBSOCKET_H
#define AFC_TESTS_WEBSOCKET_H

#include "support/world.h"

#include <afcore/websocket.h>
#include <pthread.h>
#include <stdatomic.h>

enum { WIRE_LOG = 4096 };

typedef struct wire wire;

struct wire {
    /* Set these before wire_open(). */
    afc_request request;
    afc_websocket_options options;
    afc_websocket_events events;
    /** Each may be NULL. They run on the loop thread: no assertions there. */
    void (*at_open)(wire *wire);
    afc_status (*at_message)(wire *wire, const afc_websocket_message *message);
    void (*at_sent)(wire *wire, afc_status status);
    void *payload; /**< For the hooks. */

    afc_websocket *socket;
    /* Results; stable after wire_wait(). */
    /**
     * What was called, in order: "open PROTOCOL", "text BYTES", "binary BYTES" (with a "+" behind a piece that isn't the last),
     * "sent STATUS", "pong BYTES", "closed CODE REASON", each ended by ";". Long bytes are cut.
     */
    char log[WIRE_LOG];
    afc_failure failure;
    uint16_t code;
    int status; /**< Of the response; 0: none. */
    /** Of a response that refuses it. Freed by wire_free(). */
    char *body;
    size_t body_size;
    afc_status body_status; /**< Of the result: how the body ended. */
    bool is_compressed;
    atomic_uint open_count, message_count, sent_count, pong_count, closed_count, release_count;
    atomic_uint_fast64_t received; /**< Bytes of messages consumed. */
    atomic_int_fast64_t round_trip_us;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/** Makes a socket to the world's server, not opened. */
wire *wire_new(world *world, const char *path);

/** Opens it; it must not be refused. */
void wire_open(wire *wire, world *world);

/** Does both and waits until it is open. */
wire *wire_opened(world *world, const char *path);

/** Waits until a counter is at least `count`; fails the test if the socket ends before, or on a timeout. */
void wire_wait_for(wire *wire, atomic_uint *counter, unsigned count);

/** Waits until it is released. */
void wire_wait(wire *wire);

/** Waits, checks that it ended exactly once, and frees it. */
void wire_free(wire *wire);

/** Sends a text, which must be accepted. */
void wire_send_text(wire *wire, const char *text);

/** Closes with 1000 and no reason. */
void wire_close(wire *wire);

/** The log is this, if the socket has ended. */
#define check_log(wire, expected) check_log_at((wire), (expected), __FILE__, __LINE__)
void check_log_at(wire *wire, const char *expected, const char *file, int line);

/** "PATH" upgrades and sends these bytes, then waits for the client to close. */
void serve_wire(world *world, const char *path, afc_slice bytes);

/** Serves an echo, with these fields in the 101; NULL: none. */
void serve_echo(world *world, const char *path, const char *headers);

/** A codec of stored blocks (RFC 1951 3.2.4). `context` may be an int, which counts open streams, or NULL. */
afc_websocket_codec stored_codec(atomic_int *open_streams);

#endif
