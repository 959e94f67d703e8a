/**
 * Reports the events of a traced hop to the transfer: connections, request heads and response lines. Functions that
 * report do nothing for a hop that isn't traced.
 */
#ifndef AFC_CURL_TRACE_H
#define AFC_CURL_TRACE_H

#include "base/buffer.h"
#include "curl/driver.h"
#include "message/redact.h"

#include <curl/curl.h>

/** The state for tracing a hop. */
typedef struct afc__trace {
    afc__buffer head;         /**< The request head sent so far. A secret. */
    afc__redaction redaction; /**< State between two lines of the response's head. */
    char address[46];         /**< Remote address of the last socket opened; empty if none. */
    uint16_t port;
} afc__trace;

/** Sets up tracing (CURLOPT_DEBUGFUNCTION), once per handle. */
void afc__exchange_init_trace(afc__exchange *exchange);
CURLcode afc__exchange_set_trace(afc__exchange *exchange);

/** Stores the address and starts verbose output. Call it before a socket to this address is opened. */
void afc__exchange_trace_socket(afc__exchange *exchange, const struct curl_sockaddr *address);

/** Reports the connection. Call it when the hop has its connection, before its request is sent. */
void afc__exchange_trace_ready(afc__exchange *exchange);

/** Reports the connection of a hop that has ended because its TLS handshake failed. */
void afc__exchange_trace_failed_tls(afc__exchange *exchange);

/** Reports a line of a response, including the proxy's response to CONNECT. */
void afc__exchange_trace_line(afc__exchange *exchange, afc_slice line);

/** Stops verbose output. Call it before libcurl looks up a name; see trace.c. */
void afc__exchange_pause_trace(afc__exchange *exchange);
/** Ends the tracing of the hop and overwrites what was collected. */
void afc__exchange_end_trace(afc__exchange *exchange);

#endif
