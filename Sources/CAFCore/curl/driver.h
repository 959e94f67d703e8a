/**
 * libcurl behind a face of our own: one multi handle, its sockets on the loop, and recycled easy
 * handles, each of which carries one hop at a time.
 */
#ifndef AF_CURL_DRIVER_H
#define AF_CURL_DRIVER_H

#include "run/loop.h"
#include "run/queue.h"
#include "transfer/transfer.h"

#include <afcore/session.h>

typedef struct af__driver af__driver;
typedef struct af__exchange af__exchange;

/** Requests at once on one HTTP/2 connection, where the server allows more; libcurl's default is 100. */
enum { AF__MOST_STREAMS = 1000 };

/** What the owner of an exchange is told; loop thread, inside libcurl: only take note. */
typedef struct af__exchange_owner {
    void *context;
    /** A new connection is begun, or its host looked up; the connect limit runs since `since_us`, af__now_us(). */
    void (*connecting)(void *context, int64_t since_us);
    /** Its host's addresses are known: until `connecting`, the hop may have to wait for a free connection. */
    void (*queued)(void *context);
    /** The connection is there, or its limit doesn't matter any more. */
    void (*connected)(void *context);
    /** The request body has nothing right now; its source may know until when. */
    void (*waiting)(void *context);
    /** The sink has a block for the writer. */
    void (*filled)(void *context);
} af__exchange_owner;

/** AF_UNSUPPORTED: a libcurl without OpenSSL. AF_EINVAL, AF_ENOMEM, AF_EINTERNAL. */
af_status af__driver_new(af__driver **out, af__loop *loop, const af_session_options *options,
                         af_failure *failure);

/** Closes every connection; every exchange must have ended. */
void af__driver_free(af__driver *driver);

/** What libcurl will count as the host of the next hop, and which connection the hop needs. */
void af__driver_place(const af__driver *driver, const af__transfer *transfer, af__queue_key *key,
                      af__lane *lane);

/** What the connection of an exchange says about others of its host. */
af__sharing af__exchange_sharing(const af__exchange *exchange);

/** Send the transfer's hop. AF_ENOMEM, AF_EUNSUPPORTED, AF_EINTERNAL; `*out` is then NULL. */
af_status af__driver_start(af__driver *driver, af__exchange **out, af__transfer *transfer,
                           af__exchange_owner owner, af_failure *failure);

/** The next exchange that ended by itself, or NULL; tell af__driver_end() then. */
af__exchange *af__driver_next_ended(af__driver *driver);

/** Something that was posted to the loop. true: it was the driver's, and has been handled. */
bool af__driver_handle_post(af__driver *driver, const af__post *post);

/** The owner's context. */
void *af__exchange_get_context(const af__exchange *exchange);

/** Measure and recycle, whether it ended by itself or is broken off. Not inside libcurl. */
void af__driver_end(af__driver *driver, af__exchange *exchange, af__outcome *outcome);

/**
 * Go on after a hold, a suspension or an AF_READ_AGAIN. Not inside libcurl. false: the exchange has
 * ended in it; tell af__driver_end().
 */
bool af__exchange_continue(af__exchange *exchange);

/** Does a hold, a suspension or an AF_READ_AGAIN stop it right now? */
bool af__exchange_is_paused(const af__exchange *exchange);

/** When a byte last moved in either direction, af__now_us(). */
int64_t af__exchange_last_activity(af__exchange *exchange);

/** A host in A-labels and lower case, without a dot at its end. false: this libcurl can't tell. */
bool af__driver_host_to_ascii(char *out, size_t size, af_slice host);

/** Connections opened so far; any thread. */
uint64_t af__driver_connections(const af__driver *driver);

/** Which of AF_AUTH_NTLM and AF_AUTH_NEGOTIATE this libcurl can do. */
unsigned af__driver_auth_schemes(const af__driver *driver);

/** Could the next hop have to wait for a connection to become free? */
bool af__driver_at_connection_limit(const af__driver *driver);

#endif
