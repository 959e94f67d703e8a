/**
 * A session: one loop thread, its pool of connections, its TLS sessions and one trust policy.
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

AF_BEGIN_DECLS

/** Start from AF_SESSION_OPTIONS_INIT. Everything is copied. */
typedef struct af_session_options {
    size_t size; /**< sizeof(af_session_options), for growth. */
    /**
     * Maximum simultaneous connections, per host and in total; further tasks wait, by priority, then in
     * the order of their starts. 0: no limit. Over HTTP/2 one is shared
     * by all tasks, but EVENTS and FILE sinks and limits of bytes received per second have their own.
     */
    uint32_t connections_per_host, connections_total;
    uint32_t connections_idle; /**< Kept open for reuse. 0: none is reused. */
    uint32_t idle_seconds;     /**< A connection idle for longer is not reused. */
    const char *user_agent;    /**< Sent unless a request says otherwise; NULL: none. */
    /** Who is trusted; NULL: the defaults of af_trust_options. The session has its own reference. */
    af_trust_policy *trust;
    /** Called once, last, on the loop thread, when the session has ended. May be NULL. */
    void (*on_closed)(void *context);
    void *context;
    /**
     * For callers whose on_done only hands the result to another thread: results are told together,
     * when the loop has nothing else to do or after a few of its turns, so that the other thread is
     * woken once for many. Otherwise each is told at once.
     */
    bool gather_results;
    af_tls_options tls; /**< Versions, ciphers, client certificates. */
    af_proxies proxies; /**< Between the session and its servers. At first the environment's. */
    af_network_options network; /**< How hosts are reached. */
    /**
     * Where cookies are kept and sent from; NULL: none are. The session has its own reference, and other
     * sessions may use the same jar. A request with a Cookie of its own, or the wish to send none,
     * sends what it says, and nothing of the jar.
     */
    af_cookie_jar *cookies;
    af_cookie_policy cookie_policy;
    /**
     * Hosts that want https only: http URLs of theirs, of redirects as well, become https before anything
     * is sent, and what they say about it over https, with a chain without fault, is remembered. NULL:
     * neither. The session has its own reference, and other sessions may use the same store.
     */
    af_hsts *hsts;
    /**
     * Which proxies over https are trusted; NULL: the defaults of af_trust_options, whatever `trust` says.
     * Versions and ciphers are those of `tls`; client certificates are not shown to proxies. The
     * session has its own reference.
     */
    af_trust_policy *proxy_trust;
} af_session_options;

#define AF_SESSION_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(af_session_options), 6, 0, 64, 60, "afcore", NULL, NULL, NULL, false,               \
            {AF_TLS_DEFAULT, AF_TLS_DEFAULT, NULL, NULL, NULL, 0, false, {NULL, NULL}},            \
            AF_PROXIES_INIT, {NULL, 0, NULL, NULL, AF_IP_ANY, 0, NULL, NULL, false}, NULL,         \
            AF_COOKIES_ALWAYS, NULL, NULL                                                          \
    }

/** Counters of a session since it was made. */
typedef struct af_session_statistics {
    uint64_t tasks;       /**< Tasks started. */
    uint64_t posts;       /**< Operations that crossed into the loop. */
    uint64_t wakeups;     /**< Times the loop was woken for them. */
    uint64_t turns;       /**< Turns of the loop. */
    uint64_t events;      /**< Callbacks of tasks made, drop not counted. */
    uint64_t connections; /**< Connections opened. */
} af_session_statistics;

/**
 * Make a session; its thread starts at once. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, af_session_release().
 * Fails: AF_ENOMEM, AF_EINVAL (options without AF_SESSION_OPTIONS_INIT, TLS versions, ciphers,
 * client certificates, proxies or ways to hosts that are none), AF_EFILE (a client certificate's), AF_EUNSUPPORTED (libcurl without
 * OpenSSL; see af_network_options), AF_EINTERNAL (no thread or descriptor, see failure; the child of a fork that happened
 * while a thread was using OpenSSL, see docs/threads.md); `*out` is then NULL. `failure` may be NULL.
 */
AF_API af_status af_session_new(af_session **out, const af_session_options *options,
                                af_failure *failure);

/**
 * A further reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_session *af_session_retain(af_session *session);

/**
 * Give a reference back. With the last one the session closes: started tasks complete first, then
 * its thread ends. Never blocks. NULL is fine.
 *
 * Thread: any, also inside callbacks.    Owns: takes `session`.    Fails: never.
 */
AF_API void af_session_release(af_session *session);

/**
 * Cancels every task that was started before this call, those included that wait for a connection or whose
 * start is still on its way to the loop. Tasks started afterwards are not affected.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_session_cancel_all(af_session *session);

/**
 * The counters as they are now.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_session_get_statistics(const af_session *session, af_session_statistics *out);

/**
 * Wait until the thread of every released session has ended, for programs that look for leaks at
 * exit or want their memory back. Their tasks complete first, so a task that was made but never started
 * must have been released. Sessions that are still held are not waited for. The threads of
 * monitors (reachability.h) are waited for likewise, once the last one was stopped.
 *
 * Thread: any but a loop thread.    Owns: nothing.    Fails: never.
 */
AF_API void af_join_closed_sessions(void);

AF_END_DECLS

#endif
