/** What a traced hop reports. */
#ifndef AF_CURL_TRACE_H
#define AF_CURL_TRACE_H

#include "curl/driver_internal.h"

/** Once for each handle. */
void af__exchange_init_trace(af__exchange *exchange);
CURLcode af__exchange_set_trace(af__exchange *exchange);

/** A socket to this address is about to be made. */
void af__exchange_trace_socket(af__exchange *exchange, const struct curl_sockaddr *address);

/** The connection of the hop can be used. */
void af__exchange_trace_ready(af__exchange *exchange);

/** A line of a response, or of the proxy's to CONNECT. */
void af__exchange_trace_line(af__exchange *exchange, af_slice line);

/** A name is about to be looked up. */
void af__exchange_pause_trace(af__exchange *exchange);
void af__exchange_end_trace(af__exchange *exchange);

#endif
