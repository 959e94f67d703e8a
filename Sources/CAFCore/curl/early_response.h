/** Responses that came while a body was still being sent, on a connection that then broke. */
#ifndef AF_CURL_EARLY_RESPONSE_H
#define AF_CURL_EARLY_RESPONSE_H

#include "curl/driver_internal.h"

/** libcurl is about to close a socket of the exchange: keep what there is of an answer. */
void af__exchange_recover_early_response(af__exchange *exchange, curl_socket_t descriptor);

/** A socket that connects to a listener of our own, which will give libcurl what was kept. */
curl_socket_t af__exchange_open_reinjection(af__exchange *exchange, struct curl_sockaddr *address);

/** The connection is there: put the answer on it. */
bool af__exchange_feed_reinjection(af__exchange *exchange);

/** Has an answer that is no success come, all of it, though not all of our body went? HTTP/2 only. */
bool af__exchange_is_answered(const af__exchange *exchange);

/** The exchange has ended: what was kept may be the rest of the answer's body. */
void af__exchange_finish_body(af__exchange *exchange);

/** Forget what was kept. */
void af__exchange_end_reinjection(af__exchange *exchange);

/** The numbers of the hop, of which only the answer is the replay's. */
void af__exchange_collect_reinjected(const af__exchange *exchange, af_hop *hop);

#endif
