/**
 * Sessions: a session owns a loop thread, a pool of connections and a cache of TLS sessions, and applies
 * one trust policy.
 */
#ifndef AFCORE_SESSION_H
#define AFCORE_SESSION_H

#include <afcore/base.h>
#include <afcore/cookie.h>
#include <afcore/error.h>
#include <afcore/hsts.h>
#include <afcore/network.h>
#include <afcore/proxy.h>
#include <afcore/task.h>
#include <afcore/tls.h>
#include <afcore/trust.h>

AFC_BEGIN_DECLS

/** Options of a session. Start from AFC_SESSION_OPTIONS_INIT. All are copied. */
typedef struct afc_session_options {
    size_t size; /**< sizeof(afc_session_options). */
    /**
     * Maximum simultaneous connections, per host (default 6) and in total (default 0). 0: no limit. Tasks
     * beyond it wait, ordered by priority, then by start. An HTTP/2 connection is shared by all tasks of a
     * host, except those with a CALLBACK or FILE sink or a `max_receive_bytes_per_s`, which use one each.
     */
    uint32_t max_connections_per_host, max_connections;
    uint32_t max_idle_connections; /**< Maximum idle connections kept open. 0: no reuse. */
    uint32_t max_idle_s;           /**< Connections idle for longer aren't reused. Default: 60. */
    const char *user_agent;        /**< Default User-Agent of requests; NULL: none. */
    /** Trust policy for servers; NULL: the defaults of afc_trust_options. The session retains it. */
    afc_trust_policy *trust;
    /** Called once, last, on the loop thread, after the session has closed. May be NULL. */
    void (*on_closed)(void *context);
    void *context; /**< Passed to `on_closed`. */
    /**
     * Batches on_done calls: they are made when the loop has nothing else to do, or after a few turns. For
     * callers that pass results to another thread, which then wakes once for several results. Default:
     * false, on_done is called at once.
     */
    bool gather_results;
    afc_tls_options tls;         /**< TLS versions, ciphers, client certificates. */
    afc_proxies proxies;         /**< Proxies. Default: the environment's. */
    afc_network_options network; /**< DNS, addresses and interfaces. */
    /**
     * Cookie jar; NULL: cookies are neither stored nor sent. The session retains it; several sessions may
     * use the same jar. A request that sets or removes the field Cookie sends no cookies of the jar.
     */
    afc_cookie_jar *cookies;
    afc_cookie_policy cookie_policy; /**< Which cookies of servers are stored. */
    /**
     * HSTS store: http URLs of known hosts, those of redirects included, are upgraded to https before
     * anything is sent. Strict-Transport-Security is stored if it was received over https with a chain
     * without errors. NULL: no HSTS. The session retains it; several sessions may use the same store.
     */
    afc_hsts *hsts;
    /**
     * Trust policy for https proxies; NULL: the defaults of afc_trust_options, not `trust`. The versions and
     * ciphers of `tls` apply; client certificates are not sent to proxies. The session retains it.
     */
    afc_trust_policy *proxy_trust;
} afc_session_options;

#define AFC_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(afc_session_options), 6, 0, 64, 60, "afcore", NULL, NULL, NULL, false,              \
            {AFC_TLS_DEFAULT, AFC_TLS_DEFAULT, NULL, NULL, NULL, 0, false, {NULL, NULL}, {0}},     \
            AFC_PROXIES_INIT, {NULL, 0, NULL, NULL, AFC_IP_ANY, 0, NULL, NULL, false, {0}}, NULL,  \
            AFC_COOKIES_ALWAYS, NULL, NULL                                                         \
    }

/** Counters of a session since it was created. */
typedef struct afc_session_statistics {
    uint64_t tasks;       /**< Tasks started. */
    uint64_t posts;       /**< Operations posted to the loop thread. */
    uint64_t wakeups;     /**< Times the loop was woken for posts. */
    uint64_t turns;       /**< Iterations of the loop. */
    uint64_t events;      /**< Callbacks of tasks, without release. */
    uint64_t connections; /**< Connections opened. */
    uint64_t reserved[6]; /**< 0. */
} afc_session_statistics;

/**
 * Creates a session and starts its thread. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_session_release().
 * Fails: AFC_ENOMEM, AFC_EINVAL (options without AFC_SESSION_OPTIONS_INIT; invalid TLS versions, ciphers, client
 * certificates, proxies or network options), AFC_EFILE (a client certificate's file), AFC_EUNSUPPORTED (libcurl
 * without OpenSSL; see also afc_network_options), AFC_EINTERNAL (no thread or descriptor, see `failure`; or the
 * process was forked while a thread was using OpenSSL, see docs/threads.md); `*out` is then NULL. `failure`
 * may be NULL.
 */
AFC_API afc_status afc_session_new(afc_session **out, const afc_session_options *options,
                                   afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_session *afc_session_retain(afc_session *session);

/**
 * Releases a reference. The last one closes the session: started tasks complete first, then its thread
 * ends. Never blocks. NULL is allowed.
 *
 * Thread: any, also inside callbacks.    Owns: takes `session`.    Fails: never.
 */
AFC_API void afc_session_release(afc_session *session);

/**
 * Cancels every task that was started before this call, including tasks that wait for a connection and
 * tasks whose start hasn't reached the loop yet. Tasks started later are not affected.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_session_cancel_all(afc_session *session);

/**
 * Reads the current counters.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_session_get_statistics(const afc_session *session, afc_session_statistics *out);

/**
 * Waits until the thread of every released session has ended: for programs that check for leaks at exit.
 * Their started tasks complete first. Release tasks that were created but never started before the call:
 * each keeps its session open. Doesn't wait for sessions that still have references. Also waits for the
 * thread of the monitors (reachability.h) if all of them are stopped.
 *
 * Thread: any but a loop thread.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_join_closed_sessions(void);

AFC_END_DECLS

#endif
