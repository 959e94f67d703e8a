/** Passes bodies between libcurl and the transfer, and handles back-pressure. */
#ifndef AF_CURL_BODY_FLOW_H
#define AF_CURL_BODY_FLOW_H

#include "curl/driver_internal.h"

/** CURLOPT_WRITEFUNCTION and CURLOPT_READFUNCTION; the context is an exchange. */
size_t af__exchange_take_body(char *bytes, size_t one, size_t size, void *exchange);
size_t af__exchange_read_body(char *buffer, size_t one, size_t size, void *exchange);

/** Returns whether libcurl would pass on the body still encoded. If so, the transfer has failed. */
bool af__exchange_cannot_decode(const af__exchange *exchange);

/**
 * Makes transfers keep what libcurl has decoded of paused bodies. Call it after libcurl has
 * returned.
 */
void af__driver_flush(af__driver *driver);

/** Returns the next exchange that ended in af__driver_flush(), or NULL. */
af__exchange *af__driver_next_broken(af__driver *driver);

/** Removes an exchange from the list of pending flushes, before it is recycled. */
void af__exchange_forget_flush(af__exchange *exchange);

/** Implements af__exchange_continue() for a paused exchange. */
bool af__exchange_resume(af__exchange *exchange);

/**
 * Returns whether the transfer still keeps bytes after libcurl is done. af__exchange_continue()
 * then ends it later.
 */
bool af__exchange_must_deliver(af__exchange *exchange);

#endif
