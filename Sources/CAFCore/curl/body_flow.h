/** Bodies between libcurl and the transfer, and what happens where one of them has to wait. */
#ifndef AF_CURL_BODY_FLOW_H
#define AF_CURL_BODY_FLOW_H

#include "curl/driver_internal.h"

/** CURLOPT_WRITEFUNCTION and CURLOPT_READFUNCTION; the context is an exchange. */
size_t af__exchange_take_body(char *bytes, size_t one, size_t size, void *exchange);
size_t af__exchange_read_body(char *buffer, size_t one, size_t size, void *exchange);

/** Would libcurl pass on the body as it is encoded? Then its transfer has failed. */
bool af__exchange_cannot_decode(const af__exchange *exchange);

/** libcurl has returned: let the transfers keep what it has decoded of bodies that have to wait. */
void af__driver_flush(af__driver *driver);

/** One that ended in that, or NULL. */
af__exchange *af__driver_next_broken(af__driver *driver);

/** The exchange is recycled. */
void af__exchange_forget_flush(af__exchange *exchange);

/** What af__exchange_continue() does for one that is paused. */
bool af__exchange_resume(af__exchange *exchange);

/** libcurl is done. Does the transfer still keep bytes? Then af__exchange_continue() ends it later. */
bool af__exchange_must_deliver(af__exchange *exchange);

#endif
