/**
 * A wrapper around libcurl: one multi handle, its sockets on the loop, and recycled easy handles,
 * each of which carries one hop at a time.
 */
#ifndef AFC_CURL_DRIVER_H
#define AFC_CURL_DRIVER_H

#include "run/loop.h"
#include "run/queue.h"
#include "transfer/transfer.h"

#include <afcore/session.h>

typedef struct afc__driver afc__driver;
typedef struct afc__exchange afc__exchange;
typedef struct afc__socket afc__socket;

/**
 * Maximum concurrent requests on one HTTP/2 connection, if the server allows more; libcurl's
 * default is 100.
 */
enum { AFC__STREAMS_MAX = 1000 };

/**
 * Callbacks to the owner of an exchange. Called on the loop thread, inside libcurl: they may only
 * record the event.
 */
typedef struct afc__exchange_owner {
    void *context;
    /**
     * A new connection, or the lookup of its host, began. The connect timeout runs since `since_us`
     * (afc__now_us()).
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
} afc__exchange_owner;

/** Alarms of a driver, for which its loop must have room. */
enum { AFC__DRIVER_ALARMS = 2 };

/** Makes a driver. AFC_EUNSUPPORTED: libcurl without OpenSSL. AFC_EINVAL, AFC_ENOMEM, AFC_EINTERNAL. */
afc_status afc__driver_new(afc__driver **out, afc__loop *loop, const afc_session_options *options,
                           afc_failure *failure);

/** Closes every connection. Every exchange must have ended. */
void afc__driver_free(afc__driver *driver);

/**
 * For a loop without a thread of its own: the caller's thread uses the driver until afc__driver_leave(), which gets
 * what this returns. Calls for different drivers nest.
 */
struct afc__memory *afc__driver_enter(afc__driver *driver);
void afc__driver_leave(struct afc__memory *before);

/**
 * Returns the host that libcurl counts the next hop for, and the kind of connection that the hop
 * needs.
 */
void afc__driver_place(const afc__driver *driver, const afc__transfer *transfer,
                       afc__queue_key *key, afc__lane *lane);

/** Returns whether the next hop needs a slot of its own among those to its host. */
bool afc__driver_needs_slot(const afc__driver *driver, const afc__transfer *transfer);

/** Returns what the connection of an exchange implies for other hops to its host. */
afc__sharing afc__exchange_sharing(const afc__exchange *exchange);

/**
 * Sends the transfer's hop. `slot`: afc__queue_take_slot(), or 0 if it needs none; no other hop to the same host may
 * have the same one until this one has ended. AFC_ENOMEM, AFC_EUNSUPPORTED, AFC_EINTERNAL; `*out` is then NULL.
 */
afc_status afc__driver_start(afc__driver *driver, afc__exchange **out, afc__transfer *transfer,
                             unsigned slot, afc__exchange_owner owner, afc_failure *failure);

/**
 * Sets the fields that the driver adds to requests, User-Agent and Accept-Encoding, and the fingerprint of its trust
 * policy. They live as long as it.
 */
void afc__driver_get_fields(const afc__driver *driver, afc__session_stores *out);

/** Returns the next exchange that ended by itself, or NULL. Call afc__driver_end() for it. */
afc__exchange *afc__driver_next_ended(afc__driver *driver);

/** Handles an event posted to the loop. Returns true if it was the driver's. */
bool afc__driver_handle_post(afc__driver *driver, const afc__post *post);

/** Returns the owner's context. */
void *afc__exchange_get_context(const afc__exchange *exchange);

/**
 * Collects the timings and recycles the exchange, whether it has ended or is cancelled. Don't call
 * it inside libcurl.
 */
void afc__driver_end(afc__driver *driver, afc__exchange *exchange, afc__outcome *outcome);

/**
 * Resumes after a hold, a suspension or AFC_READ_AGAIN. Don't call it inside libcurl. Returns false
 * if the exchange ended in it: call afc__driver_end().
 */
bool afc__exchange_continue(afc__exchange *exchange);

/**
 * Returns when afc__exchange_send_waiting_body() is due; INT64_MAX: never. It is known once the exchange has its
 * connection.
 */
int64_t afc__exchange_continue_due(const afc__exchange *exchange);

/** Sends a body that has waited for 100 (Continue) long enough. Otherwise like afc__exchange_continue(). */
bool afc__exchange_send_waiting_body(afc__exchange *exchange);

/** Returns whether a hold, a suspension, AFC_READ_AGAIN or the end of its turn stops the exchange at the moment. */
bool afc__exchange_is_paused(const afc__exchange *exchange);

/**
 * Returns whether it has received for so long that others come first: afc__exchange_continue() is due in the next turn.
 */
bool afc__exchange_has_yielded(const afc__exchange *exchange);

/** Returns when a byte last moved in either direction (afc__now_us()). */
int64_t afc__exchange_last_activity(afc__exchange *exchange);

/**
 * Converts a host to A-labels in lower case, without a trailing dot. false: this libcurl can't
 * convert it.
 */
bool afc__driver_host_to_ascii(char *out, size_t size, afc_slice host);

/** Returns the number of connections opened so far. Any thread. */
uint64_t afc__driver_connections(const afc__driver *driver);

/** Returns which of AFC_AUTH_NTLM and AFC_AUTH_NEGOTIATE this libcurl supports. */
unsigned afc__driver_auth_schemes(const afc__driver *driver);

/** Checks that a request doesn't name a proxy beside a Unix-domain socket, its own or the session's. AFC_EINVAL. */
afc_status afc__driver_check_route(const afc__driver *driver, const afc__transfer *transfer,
                                   afc_failure *failure);

#endif
