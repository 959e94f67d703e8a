// Shared by the sources of the test server.
//
// Locking: one mutex, afts_server.lock, guards everything below that says so. It is never held
// while a script blocks, writes, reads or calls a handler. Whatever says "own thread" belongs to the
// thread of one connection and needs no lock.
#ifndef AFTS_INTERNAL_H
#define AFTS_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // accept4
#endif

#include "caftestserver.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#define AFTS__INPUT_SIZE ((size_t)16 * 1024)
#define AFTS__OUTPUT_SIZE ((size_t)64 * 1024)

// Bytes that grow. All zero is an empty one.
typedef struct afts__buf {
    uint8_t *data;
    size_t len;
    size_t capacity;
} afts__buf;

// 0 or -ENOMEM.
int afts__buf_append(afts__buf *buf, const void *bytes, size_t len);
int afts__buf_text(afts__buf *buf, const char *text);
void afts__buf_free(afts__buf *buf);
// A copy of `len` bytes with a NUL behind them, or NULL.
void *afts__copy(const void *bytes, size_t len);

typedef enum afts__step_kind {
    AFTS__RESPOND,
    AFTS__RESPOND_REPEATED,
    AFTS__RESPOND_TRUNCATED,
    AFTS__RESPOND_CHUNKED,
    AFTS__CHUNK_REPEATED,
    AFTS__LAST_CHUNK,
    AFTS__INTERIM,
    AFTS__ECHO,
    AFTS__HANDLE,
    AFTS__SEND_CRUMBS,
    AFTS__SEND_REPEATED,
    AFTS__READ_BODY,
    AFTS__READ_REQUEST,
    AFTS__READ_BYTES,
    AFTS__WAIT_PEER_CLOSE,
    AFTS__PAUSE,
    AFTS__STALL,
    AFTS__CLOSE,
    AFTS__HALF_CLOSE,
    AFTS__RESET,
    AFTS__CLOSE_ABRUPTLY
} afts__step_kind;

typedef struct afts__step {
    afts__step_kind kind;
    int status;
    unsigned pause_ms;
    size_t crumb;   // bytes per write or read
    uint64_t count; // repetitions, or bytes
    char *text;     // headers, trailers, gate
    uint8_t *bytes;
    size_t len;
    afts_handler handler;
    void *payload;
    void (*destroy)(void *payload);
} afts__step;

struct afts_script {
    atomic_size_t references;
    bool broken; // a builder ran out of memory
    bool head_only;
    afts__step *steps;
    size_t count;
    size_t capacity;
};

// A request, owned by the server once it is recorded, by the connection before. Only `seen.body*`
// changes after that: written by the connection's thread with the lock held.
typedef struct afts__request {
    afts_request seen;
    afts__buf head;
    afts__buf body;
    char *text; // the head again, cut into strings
    afts_header *headers;
    bool recorded;
} afts__request;

// A connection's record, guarded by the lock; owned by the server if it is within the limit.
typedef struct afts__connection {
    afts_connection seen;
    afts__buf received;
    bool recorded;
} afts__connection;

typedef enum afts__framing { AFTS__NO_BODY, AFTS__BY_LENGTH, AFTS__BY_CHUNKS } afts__framing;

struct afts_conn {
    afts_server *server;
    // Guarded by the lock.
    afts_conn *previous;
    afts_conn *next;
    afts__connection *record;
    int fd; // read by the own thread without the lock: nobody else writes it
    pthread_cond_t wake;
    // Own thread.
    pthread_t thread;
    SSL *ssl;
    uint8_t *input;
    size_t input_at;
    size_t input_end;
    bool input_ended; // the peer sent FIN or close_notify
    bool tls_usable;  // close_notify may be sent
    afts_ending ending;
    afts__request *request;
    afts__framing framing;
    uint64_t body_left; // of the body, or of the current chunk
    bool in_chunks;     // the CRLF behind a chunk is still to come
    bool close_after;   // "Connection: close" was said by either side
    bool mute_body;     // the answer has no body, whatever the script gives
};

typedef struct afts__gate {
    struct afts__gate *next;
    char *name;
    size_t permits;
    size_t waiting;
    pthread_cond_t opened;
} afts__gate;

typedef struct afts__route {
    struct afts__route *next;
    char *method;
    char *path;
    size_t path_len;
    bool prefix;
    size_t times; // SIZE_MAX: without limit
    afts_script *script;
} afts__route;

typedef struct afts__hook {
    struct afts__hook *next;
    size_t index;
    bool before_tls;
    afts_script *script;
} afts__hook;

// In the order in which a server goes through them.
typedef enum afts__state {
    AFTS__NEW,
    AFTS__STARTING,
    AFTS__RUNNING,
    AFTS__STOPPING,
    AFTS__STOPPED
} afts__state;

struct afts_server {
    // Fixed before the first thread starts.
    afts_options options;
    SSL_CTX *tls;
    BIO_METHOD *bio;
    uint8_t *alpn; // in wire format
    size_t alpn_len;
    uint8_t *ocsp;
    size_t ocsp_len;
    char error[256];
    int listener;
    int holder; // Keeps the port from others, also once nobody listens there.
    int fillers[3];
    uint16_t port;
    pthread_t acceptor;

    pthread_mutex_t lock;
    // Guarded by the lock.
    pthread_cond_t changed;
    size_t watchers; // threads that wait for `changed`
    afts__state state;
    afts_conn *live;
    afts_conn *finished; // threads to join
    afts_stats stats;
    afts__request **requests;
    size_t requests_kept;
    afts__connection **connections;
    size_t connections_kept;
    afts__route *routes;
    afts__hook *hooks;
    afts_script *fallback;
    afts__gate *gates;
};

// server.c
void afts__init_cond(pthread_cond_t *cond);
struct timespec afts__deadline(unsigned milliseconds);
// Wakes those who wait for a change of the record. Lock held.
void afts__changed(afts_server *server);
bool afts__stopping(afts_server *server);

// route.c; both return a reference, or NULL.
afts_script *afts__script_for_request(afts_server *server, const afts_request *request);
afts_script *afts__script_for_connection(afts_server *server, size_t index, bool before_tls);
void afts__free_routes(afts_server *server);

// conn.c
// Serves an accepted socket on a new thread; closes it if that fails.
void afts__serve(afts_server *server, int fd, uint16_t client_port);
// Joins the threads of finished connections.
void afts__join_finished(afts_server *server);

// io.c
// Writes all: 0 or a negative errno.
int afts__write(afts_conn *conn, const void *bytes, size_t len);
// Reads what is there, at most `max` bytes: their number, 0 at the end of input, or a negative
// errno.
ssize_t afts__read(afts_conn *conn, void *out, size_t max);
// Makes sure that there is buffered input. Returns as afts__read.
ssize_t afts__fill(afts_conn *conn);
int afts__read_discarding(afts_conn *conn, uint64_t count);
int afts__pause(afts_conn *conn, unsigned milliseconds);
// What a failed operation returns: -ECANCELED when stopping, -ECONNRESET otherwise.
int afts__ended(afts_conn *conn);

// ending.c
void afts__close(afts_conn *conn);
void afts__close_abruptly(afts_conn *conn);
void afts__half_close(afts_conn *conn);
void afts__reset(afts_conn *conn);

/// Before anything else makes OpenSSL initialise itself: it isn't to be torn down at exit.
void afts__openssl_begin(void);

// tls.c
int afts__tls_setup(afts_server *server, const afts_tls *tls);
void afts__tls_teardown(afts_server *server);
int afts__tls_handshake(afts_conn *conn);

// request.c
// Reads a head into conn->request: 0 or a negative errno. What isn't HTTP is answered by 400 or
// 431.
int afts__read_head(afts_conn *conn);
// Reads at most `max` bytes of the body: their number, 0 at its end, or a negative errno.
ssize_t afts__read_body_some(afts_conn *conn, size_t max);
int afts__read_body(afts_conn *conn);
void afts__request_free(afts__request *request);
// Answers 100 if the client asks for it before it sends the body.
int afts__continue(afts_conn *conn);

// parse.c
// Cuts request->head into request->seen: 0, -EINVAL or -ENOMEM.
int afts__parse_head(afts__request *request);
// How the body is framed; for AFTS__BY_LENGTH also its length. 0 or -EINVAL.
int afts__parse_framing(const afts_request *request, afts__framing *framing, uint64_t *length);
// The number in `len` digits of `base` (10 or 16); false if it isn't one or is too large.
bool afts__parse_number(const char *digits, size_t len, unsigned base, uint64_t *number);
// Whether a field's value has `token` in its comma-separated list, whatever its case.
bool afts__has_token(const char *value, size_t len, const char *token);
bool afts__keeps_alive(const afts_request *request);

// respond.c
// Sends a head and a body of `count` times `block`; `promised` is the length the head tells, where
// AFTS_FOREVER tells none.
int afts__respond(afts_conn *conn, int status, const char *headers, uint64_t promised,
                  const void *block, size_t len, uint64_t count);
int afts__respond_chunked(afts_conn *conn, int status, const char *headers);
int afts__interim(afts_conn *conn, int status, const char *headers);
int afts__chunk(afts_conn *conn, const void *bytes, size_t len, uint64_t count);
int afts__last_chunk(afts_conn *conn, const char *trailers);
// `block` as often as `count` says.
int afts__write_repeated(afts_conn *conn, const void *block, size_t len, uint64_t count);

// echo.c
int afts__echo(afts_conn *conn);

// run.c
int afts__run(afts_conn *conn, const afts_script *script);

// record.c
// Makes conn->request visible.
void afts__record_request(afts_conn *conn);
// Makes the record of a new connection. Lock held. NULL when memory is short.
afts__connection *afts__record_connection(afts_server *server, uint16_t client_port);
void afts__record_received(afts_conn *conn, const void *bytes, size_t len);
void afts__connection_free(afts__connection *connection);
void afts__free_records(afts_server *server);

// gate.c
int afts__stall(afts_conn *conn, const char *name);
// Wakes every script that waits at a gate. Lock held.
void afts__wake_gates(afts_server *server);
void afts__free_gates(afts_server *server);

#endif
