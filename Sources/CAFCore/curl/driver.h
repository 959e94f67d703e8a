/**
 * A session's wrapper around libcurl: one multi handle, its sockets and timers on the loop, and recycled easy handles.
 * An exchange (afc__exchange) is an easy handle and the hop that it carries, one at a time.
 *
 * Loop thread only once the loop runs, unless a function says otherwise.
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
 * Callbacks to the owner of an exchange, which is a task. Called on the loop thread, often inside libcurl: they may
 * only record the event.
 */
typedef struct afc__exchange_owner {
    void *context;
    /**
     * Called when a new connection, or the lookup of its host, began at `since_us` (afc__now_us()): the connect time
     * limit counts from then.
     */
    void (*connecting)(void *context, int64_t since_us);
    /**
     * Called when the host's addresses are known. Until `connecting` is called again, the hop may be waiting for a free
     * connection.
     */
    void (*queued)(void *context);
    /**
     * Called when the hop has its connection, so that the connect time limit no longer applies, and its request is
     * about to be sent.
     */
    void (*connected)(void *context);
    /**
     * Called when a direction of the exchange is paused: the request body has no bytes now, or the response body can't
     * be passed on now.
     */
    void (*waiting)(void *context);
    /** Called when the sink has filled a block for the writer thread. */
    void (*filled)(void *context);
} afc__exchange_owner;

/** The number of alarms that a driver arms; its loop reserves room for them. */
enum { AFC__DRIVER_ALARMS = 2 };

/**
 * Makes a driver. Fails with AFC_EUNSUPPORTED if libcurl is too old or isn't built with OpenSSL, or lacks what an
 * option requires; with AFC_EINVAL for invalid options, AFC_EFILE for a file that `options->tls` names, AFC_ENOMEM or
 * AFC_EINTERNAL.
 */
afc_status afc__driver_new(afc__driver **out, afc__loop *loop, const afc_session_options *options,
                           afc_failure *failure);

/** Closes every connection. Every exchange must have ended. */
void afc__driver_free(afc__driver *driver);

/**
 * Makes the calling thread use the driver's allocator until afc__driver_leave(), which gets what this returns. For a
 * loop without a thread of its own, around each dispatch. Calls for different drivers nest.
 */
struct afc__memory *afc__driver_enter(afc__driver *driver);
void afc__driver_leave(struct afc__memory *before);

/**
 * Sets `*key` to the host that libcurl counts the next hop's connection for, and `*lane` to the kind of connection that
 * the hop needs.
 */
void afc__driver_place(const afc__driver *driver, const afc__transfer *transfer,
                       afc__queue_key *key, afc__lane *lane);

/**
 * Returns whether the next hop needs a slot: a number that no other running hop to its host has, and that isolates its
 * HTTP/2 connection. See isolation.c.
 */
bool afc__driver_needs_slot(const afc__driver *driver, const afc__transfer *transfer);

/** Returns how other hops to the host can use the connection of an exchange. */
afc__sharing afc__exchange_sharing(const afc__exchange *exchange);

/**
 * Starts the transfer's hop. `slot` is the result of afc__queue_take_slot(), or 0 if the hop needs none; no other hop
 * to the same host may have the same slot until this one has ended. On failure `*out` is NULL. Fails with AFC_ENOMEM;
 * AFC_EUNSUPPORTED if libcurl can't do what the request needs; AFC_EINVAL for an invalid host, or pins without TLS;
 * AFC_EINTERNAL if libcurl refuses an option; and like afc__exchange_set_proxy().
 */
afc_status afc__driver_start(afc__driver *driver, afc__exchange **out, afc__transfer *transfer,
                             unsigned slot, afc__exchange_owner owner, afc_failure *failure);

/**
 * Sets the members of `*out` that the driver owns: the default User-Agent and Accept-Encoding, and the fingerprint of
 * the trust policy. They live as long as the driver.
 */
void afc__driver_get_fields(const afc__driver *driver, afc__session_stores *out);

/**
 * Returns the next exchange that has ended by itself, or NULL. The caller must then call afc__driver_end() for it.
 * Don't call this inside libcurl.
 */
afc__exchange *afc__driver_next_ended(afc__driver *driver);

/** Handles a post of the loop. Returns false if the post isn't one of the driver's. */
bool afc__driver_handle_post(afc__driver *driver, const afc__post *post);

/** Returns the `context` of the exchange's owner. */
void *afc__exchange_get_context(const afc__exchange *exchange);

/**
 * Sets `*outcome` to the result and the timings of the hop, and recycles the exchange. The hop has ended, or is
 * cancelled by this call. Don't call it inside libcurl.
 */
void afc__driver_end(afc__driver *driver, afc__exchange *exchange, afc__outcome *outcome);

/**
 * Resumes a paused exchange, after a hold, a suspension, a full sink, AFC_READ_AGAIN or the end of its turn. Don't call
 * it inside libcurl. Returns false if the exchange has ended meanwhile: call afc__driver_end().
 */
bool afc__exchange_continue(afc__exchange *exchange);

/**
 * Returns when afc__exchange_send_waiting_body() is due (afc__now_us()), or INT64_MAX if it isn't needed. Known once
 * the exchange has its connection. Only libcurl before 8.7.0 needs the call (afc__quirks.forgets_waiting_body).
 */
int64_t afc__exchange_continue_due(const afc__exchange *exchange);

/**
 * Makes libcurl send a body that has waited for 100 (Continue) long enough. Don't call it inside libcurl. Returns false
 * if the exchange has ended meanwhile: call afc__driver_end().
 */
bool afc__exchange_send_waiting_body(afc__exchange *exchange);

/**
 * Returns whether a direction of the exchange is paused: by a hold, a suspension, a full sink, AFC_READ_AGAIN or the
 * end of its turn.
 */
bool afc__exchange_is_paused(const afc__exchange *exchange);

/**
 * Returns whether the exchange is paused only because it has received for too long in this turn (base/turn_budget.h).
 * afc__exchange_continue() is then due in the next turn.
 */
bool afc__exchange_has_yielded(const afc__exchange *exchange);

/** Returns when a byte of the exchange was last sent or received (afc__now_us()). */
int64_t afc__exchange_last_activity(afc__exchange *exchange);

/**
 * Writes a host as A-labels (RFC 5890) in lower case, without a trailing dot, and a NUL to `out`. Returns false if
 * libcurl can't convert it. Any thread.
 */
bool afc__driver_host_to_ascii(char *out, size_t size, afc_slice host);

/** Returns the number of connections opened so far. Any thread. */
uint64_t afc__driver_connections(const afc__driver *driver);

/** Returns which of AFC_AUTH_NTLM and AFC_AUTH_NEGOTIATE this libcurl supports. Any thread. */
unsigned afc__driver_auth_schemes(const afc__driver *driver);

/**
 * Checks that a request that has its own proxy doesn't use a Unix-domain socket as well, its own or the session's.
 * Fails with AFC_EINVAL. Any thread.
 */
afc_status afc__driver_check_route(const afc__driver *driver, const afc__transfer *transfer,
                                   afc_failure *failure);

#endif
