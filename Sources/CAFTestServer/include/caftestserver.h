/**
 * A scripted HTTP/1.1 and TLS server on loopback, for testing HTTP clients.
 *
 *     afts_server *server = afts_server_new(NULL);
 *     afts_script *hello = afts_script_new();
 *     afts_respond(hello, 200, "Content-Type: text/plain", "hello", 5);
 *     afts_route(server, "GET", "/hello", hello);
 *     afts_server_start(server);
 *     ... point the client at afts_server_url(server, "/hello", url, sizeof url) ...
 *     afts_wait_requests(server, 1, 5000);
 *     afts_request *seen = afts_copy_request(server, 0);
 *     ... compare seen->method, seen->headers, seen->body ...
 *     afts_request_free(seen);
 *     afts_server_free(server);
 *
 * Vocabulary: a *script* is a list of steps that a connection carries out in order, a *route*
 * ties a script to requests, a *gate* is a named semaphore that a script waits at and the test
 * releases, a *record* is what the server saw.
 *
 * Threads: every function may be called from any thread, unless it takes an `afts_conn`: those
 * belong to the handler that was given the connection. The server never touches the process's
 * signal dispositions; a write to a closed peer raises no SIGPIPE.
 *
 * Errors: functions that can fail return an afts_status, or NULL.
 */
#ifndef CAFTESTSERVER_H
#define CAFTESTSERVER_H

#include "afts/certificate.h"
#include "afts/record.h"
#include "afts/script.h"
#include "afts/server.h"
#include "afts/status.h"
#include "afts/websocket.h"

#endif
