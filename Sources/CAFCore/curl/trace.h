/** Reports the events of a traced hop. */
#ifndef AF_CURL_TRACE_H
#define AF_CURL_TRACE_H

#include "curl/driver_internal.h"

/** Sets up tracing, once per handle. */
void af__exchange_init_trace(af__exchange *exchange);
CURLcode af__exchange_set_trace(af__exchange *exchange);

/** Call it before a socket to this address is opened. */
void af__exchange_trace_socket(af__exchange *exchange, const struct curl_sockaddr *address);

/** Call it when the hop's connection can be used. */
void af__exchange_trace_ready(af__exchange *exchange);

/** Reports a line of a response, including the proxy's response to CONNECT. */
void af__exchange_trace_line(af__exchange *exchange, af_slice line);

/** Call it before a name is looked up: stops verbose output. */
void af__exchange_pause_trace(af__exchange *exchange);
void af__exchange_end_trace(af__exchange *exchange);

#endif
