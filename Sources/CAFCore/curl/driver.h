/**
 * A wrapper around libcurl: one multi handle, its sockets on the loop, and recycled easy handles,
 * each of which carries one hop at a time.
 */
#ifndef AF_CURL_DRIVER_H
#define AF_CURL_DRIVER_H

#include "run/loop.h"
#include "run/queue.h"
#include "transfer/transfer.h"

#include <afcore/session.h>

typedef struct af__driver af__driver;
typedef struct af__exchange af__exchange;

/**
 * Maximum concurrent requests on one HTTP/2 connection, if the server allows more; libcurl's
 * default is 100.
 */
enum { AF__MOST_STREAMS = 1000 };

/**
 * Callbacks to the owner of an exchange. Called on the loop thread, inside libcurl: they may only
 * record the event.
 */
typedef struct af__exchange_owner {
    void *context;
    /**
     * A new connection, or the lookup of its host, began. The connect timeout runs since `since_us`
     * (af__now_us()).
     */
    void (*connecting)(void *context, int64_t since_us);
    /**
     * The host's addresses are known. Until `connecting`, the hop may wait for a free connection.
     */
    void (*queued)(void *context);
    /** The connection is established, or its timeout no longer applies. */
    void (*connected)(void *context);
    /** The request body has no bytes at the moment; its source may know when to retry. */
    void (*waiting)(void *context);
    /** The sink has a block for the writer thread. */
    void (*filled)(void *context);
} af__exchange_owner;

/** Makes a driver. AF_EUNSUPPORTED: libcurl without OpenSSL. AF_EINVAL, AF_ENOMEM, AF_EINTERNAL. */
af_status af__driver_new(af__driver **out, af__loop *loop, const af_session_options *options,
                         af_failure *failure);

/** Closes every connection. Every exchange must have ended. */
void af__driver_free(af__driver *driver);

/**
 * Returns the host that libcurl counts the next hop for, and the kind of connection that the hop
 * needs.
 */
void af__driver_place(const af__driver *driver, const af__transfer *transfer, af__queue_key *key,
                      af__lane *lane);

/** Returns what the connection of an exchange implies for other hops to its host. */
af__sharing af__exchange_sharing(const af__exchange *exchange);

/** Sends the transfer's hop. AF_ENOMEM, AF_EUNSUPPORTED, AF_EINTERNAL; `*out` is then NULL. */
af_status af__driver_start(af__driver *driver, af__exchange **out, af__transfer *transfer,
                           af__exchange_owner owner, af_failure *failure);

/** Returns the next exchange that ended by itself, or NULL. Call af__driver_end() for it. */
af__exchange *af__driver_next_ended(af__driver *driver);

/** Handles an event posted to the loop. Returns true if it was the driver's. */
bool af__driver_handle_post(af__driver *driver, const af__post *post);

/** Returns the owner's context. */
void *af__exchange_get_context(const af__exchange *exchange);

/**
 * Collects the timings and recycles the exchange, whether it has ended or is cancelled. Don't call
 * it inside libcurl.
 */
void af__driver_end(af__driver *driver, af__exchange *exchange, af__outcome *outcome);

/**
 * Resumes after a hold, a suspension or AF_READ_AGAIN. Don't call it inside libcurl. Returns false
 * if the exchange ended in it: call af__driver_end().
 */
bool af__exchange_continue(af__exchange *exchange);

/** Returns whether a hold, a suspension or AF_READ_AGAIN stops the exchange at the moment. */
bool af__exchange_is_paused(const af__exchange *exchange);

/** Returns when a byte last moved in either direction (af__now_us()). */
int64_t af__exchange_last_activity(af__exchange *exchange);

/**
 * Converts a host to A-labels in lower case, without a trailing dot. false: this libcurl can't
 * convert it.
 */
bool af__driver_host_to_ascii(char *out, size_t size, af_slice host);

/** Returns the number of connections opened so far. Any thread. */
uint64_t af__driver_connections(const af__driver *driver);

/** Returns which of AF_AUTH_NTLM and AF_AUTH_NEGOTIATE this libcurl supports. */
unsigned af__driver_auth_schemes(const af__driver *driver);

/** Returns whether the next hop may have to wait for a free connection. */
bool af__driver_at_connection_limit(const af__driver *driver);

#endif
