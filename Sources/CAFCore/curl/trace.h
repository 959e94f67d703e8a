/** Reports the events of a traced hop. */
#ifndef AFC_CURL_TRACE_H
#define AFC_CURL_TRACE_H

#include "base/buffer.h"
#include "curl/driver.h"
#include "message/redact.h"

#include <curl/curl.h>

/** The state for tracing a hop. */
typedef struct afc__trace {
    afc__buffer head;         /**< The request head sent so far. A secret. */
    afc__redaction redaction; /**< State between two lines of the response. */
    char address[46];         /**< Remote address of the last socket opened. */
    uint16_t port;
} afc__trace;

/** Sets up tracing, once per handle. */
void afc__exchange_init_trace(afc__exchange *exchange);
CURLcode afc__exchange_set_trace(afc__exchange *exchange);

/** Call it before a socket to this address is opened. */
void afc__exchange_trace_socket(afc__exchange *exchange, const struct curl_sockaddr *address);

/** Call it when the hop's connection can be used. */
void afc__exchange_trace_ready(afc__exchange *exchange);

/** Reports the connection of a hop that has ended because its TLS handshake failed. */
void afc__exchange_trace_failed_tls(afc__exchange *exchange);

/** Reports a line of a response, including the proxy's response to CONNECT. */
void afc__exchange_trace_line(afc__exchange *exchange, afc_slice line);

/** Call it before a name is looked up: stops verbose output. */
void afc__exchange_pause_trace(afc__exchange *exchange);
void afc__exchange_end_trace(afc__exchange *exchange);

#endif
