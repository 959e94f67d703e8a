/** Scripts: what a connection does, step by step, and the same actions for handlers. */
#ifndef AFTS_SCRIPT_H
#define AFTS_SCRIPT_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A list of steps. Append steps, hand the script to a server, leave it alone from then on.
 *
 * A builder that runs out of memory marks the script, and the server then refuses it by AFTS_ENOMEM:
 * only that one call needs a check. Bytes and strings are copied.
 *
 * Where a builder takes `headers`, they are lines with CRLF between them ("A: 1\r\nB: 2"), sent as
 * they are; NULL means none.
 */
typedef struct afts_script afts_script;

/** A live connection, as a handler sees it. Valid until the handler returns. */
typedef struct afts_conn afts_conn;

struct afts_request;

/**
 * Answers a request by code. Runs on the connection's thread (1 MiB of stack), holds no lock,
 * may block; afts_server_stop waits for its return. `request` is valid until then, or until the
 * handler runs a script that reads another one; it is NULL before any request was read.
 */
typedef void (*afts_handler)(afts_conn *conn, const struct afts_request *request, void *payload);

/** Repetitions without end, for afts_send_repeated and its relatives. */
#define AFTS_FOREVER UINT64_MAX

/**
 * Makes an empty script with one reference.
 *
 * @return NULL when memory is short; every function that takes a script accepts NULL.
 */
afts_script *afts_script_new(void);

/** Adds a reference: a script may serve several routes and servers. */
afts_script *afts_script_retain(afts_script *script);

/** Drops a reference. */
void afts_script_release(afts_script *script);

/* Answers */

/**
 * A complete response: status line, `headers`, Content-Length unless the headers frame the body
 * themselves, body. No body follows for HEAD, 1xx, 204 and 304, and neither body nor Content-Length for
 * a 2xx of CONNECT: what comes then through the tunnel is read as the next request. When `headers` hold
 * "Connection: close" the connection is closed afterwards.
 */
void afts_respond(afts_script *script, int status, const char *headers, const void *body,
                  size_t size);

/**
 * Like afts_respond with a body of `count` times `block`, produced on the way out. With
 * AFTS_FOREVER there is no Content-Length, and the body ends with the connection.
 */
void afts_respond_repeated(afts_script *script, int status, const char *headers, const void *block,
                           size_t size, uint64_t count);

/** Promises `promised` bytes of body, sends the `size` that are given, closes. */
void afts_respond_truncated(afts_script *script, int status, const char *headers, const void *body,
                            size_t size, uint64_t promised);

/** The head of a chunked response; afts_chunk and afts_last_chunk continue it. */
void afts_respond_chunked(afts_script *script, int status, const char *headers);

/** One chunk, or nothing when `size` is 0 (an empty chunk would end the body). */
void afts_chunk(afts_script *script, const void *bytes, size_t size);

/** The same chunk `count` times. */
void afts_chunk_repeated(afts_script *script, const void *bytes, size_t size, uint64_t count);

/** The last chunk and the trailer section. */
void afts_last_chunk(afts_script *script, const char *trailers);

/** An interim response: 100, 102, 103. */
void afts_interim(afts_script *script, int status, const char *headers);

/**
 * Answers 200 with a JSON object that describes the request:
 * {"connection":0,"method":"POST","target":"/a?b","version":"HTTP/1.1","headers":[["Host","…"]],
 *  "bodyLength":2,"body":"hi"}. Header bytes above 0x7F appear as Latin-1; a body that isn't UTF-8
 * appears as "bodyBase64" in place of "body".
 */
void afts_echo(afts_script *script);

/** Calls a handler. `destroy`, unless NULL, is called once with `payload` when the script dies. */
void afts_handle(afts_script *script, afts_handler handler, void *payload,
                 void (*destroy)(void *payload));

/* Exact bytes */

/** Sends bytes as they are. */
void afts_send(afts_script *script, const void *bytes, size_t size);

/** Sends a NUL-terminated string as it is. */
void afts_send_text(afts_script *script, const char *text);

/** Sends bytes in writes of `crumb` bytes, `pause_ms` milliseconds apart, each its own segment. */
void afts_send_crumbs(afts_script *script, const void *bytes, size_t size, size_t crumb,
                      unsigned pause_ms);

/** Sends `block` `count` times, or AFTS_FOREVER until the peer or the server ends it. */
void afts_send_repeated(afts_script *script, const void *block, size_t size, uint64_t count);

/* Reading */

/**
 * The script begins as soon as the head of the request has been read, wherever this step stands.
 * Without it, scripts begin after the body.
 */
void afts_read_head_only(afts_script *script);

/** Reads the rest of the request's body, in a script with afts_read_head_only. */
void afts_read_body(afts_script *script);

/** The same in steps of `step` bytes, the last of which may be shorter, `pause_ms` milliseconds apart. */
void afts_read_body_slowly(afts_script *script, size_t step, unsigned pause_ms);

/** Reads `count` bytes of the request's body, or what is left of it. */
void afts_read_body_bytes(afts_script *script, uint64_t count);

/** Reads a whole request in a script of afts_on_connection; response steps then refer to it. */
void afts_read_request(afts_script *script);

/** Reads and records `count` bytes, whatever they are. */
void afts_read_bytes(afts_script *script, uint64_t count);

/** Reads and records until the peer closes or resets the connection. */
void afts_wait_peer_close(afts_script *script);

/* Time */

/**
 * Waits. Ends early when the server stops. If the client closes or resets the connection meanwhile,
 * that is recorded and counted at once, and the script goes on afterwards: a client that has only ended
 * its own direction can still read.
 */
void afts_pause(afts_script *script, unsigned milliseconds);

/**
 * Waits at a gate for a permit of afts_release. Ends early when the server stops. A client that closes
 * is recorded as by afts_pause.
 */
void afts_stall(afts_script *script, const char *gate);

/* Endings */

/**
 * Closes in an orderly way: TLS close_notify, FIN. Input the peer is still sending is drained for
 * at most a second, so that the response isn't lost to a reset.
 */
void afts_close(afts_script *script);

/** Sends close_notify and FIN and goes on: input can still be read. */
void afts_half_close(afts_script *script);

/** Resets the connection (RST). */
void afts_reset(afts_script *script);

/**
 * Closes the socket of a TLS connection without close_notify. In plain text: like afts_close,
 * without draining.
 */
void afts_close_abruptly(afts_script *script);

/*
 * The same from a handler. Each returns AFTS_OK, AFTS_ELOST when the connection has ended or a limit
 * was reached, AFTS_ECANCELED when the server is stopping, AFTS_ENOMEM.
 */

/** Runs the steps of a script, which stays the caller's. */
afts_status afts_conn_run(afts_conn *conn, afts_script *script);

/** Sends bytes as they are. */
afts_status afts_conn_send(afts_conn *conn, const void *bytes, size_t size);

/** Sends a complete response; see afts_respond. */
afts_status afts_conn_respond(afts_conn *conn, int status, const char *headers, const void *body,
                              size_t size);

/** Sends one chunk; see afts_chunk. */
afts_status afts_conn_chunk(afts_conn *conn, const void *bytes, size_t size);

/** Waits; see afts_pause. */
afts_status afts_conn_pause(afts_conn *conn, unsigned milliseconds);

/** Waits at a gate; see afts_stall. */
afts_status afts_conn_stall(afts_conn *conn, const char *gate);

/**
 * Calls `stopping` when the server begins to stop: once, perhaps before this function returns. NULL: no longer; a
 * handler that sets it clears it before it returns. It is called with the server's lock held, so it must neither block
 * nor call a function of the server.
 */
void afts_conn_on_stop(afts_conn *conn, void (*stopping)(void *context), void *context);

/**
 * Around a wait of the handler for something other than the connection. Meanwhile a client that closes is recorded and
 * counted, as in afts_pause.
 */
void afts_conn_begin_wait(afts_conn *conn);

/** Ends such a wait. */
void afts_conn_end_wait(afts_conn *conn);

/** Reads the rest of the request's body; see afts_read_body. */
afts_status afts_conn_read_body(afts_conn *conn);

/** Returns the last request, with the part of its body that was read; NULL before the first request. Borrowed. */
const struct afts_request *afts_conn_request(const afts_conn *conn);

/** Whether bytes of a final response, or of another protocol after 101, have been sent for that request. */
bool afts_conn_has_answered(const afts_conn *conn);

/**
 * Reads up to `size` raw bytes, past anything that was parsed already. `*count` says how many: 0
 * when the peer has closed, and on failure.
 */
afts_status afts_conn_read(afts_conn *conn, void *out, size_t size, size_t *count);

/**
 * Whether the calling thread is one of a connection: in a handler, or where the payload of one is released. It must not
 * stop or free a server there.
 */
bool afts_in_handler(void);

/** The connection's number, from 0 in the order of acceptance. */
size_t afts_conn_index(const afts_conn *conn);

#ifdef __cplusplus
}
#endif

#endif
