/**
 * Sessions: a session owns a loop, with a thread or driven by the program, a pool of connections and a cache of TLS
 * sessions, and applies one trust policy.
 */
#ifndef AFCORE_SESSION_H
#define AFCORE_SESSION_H

#include <afcore/base.h>
#include <afcore/cookie.h>
#include <afcore/error.h>
#include <afcore/hsts.h>
#include <afcore/http_cache.h>
#include <afcore/network.h>
#include <afcore/proxy.h>
#include <afcore/task.h>
#include <afcore/tls.h>
#include <afcore/trust.h>

AFC_BEGIN_DECLS

/** Where a session's loop runs. */
typedef enum afc_session_loop {
    AFC_LOOP_THREAD = 0, /**< On a thread of its own, `af-loop`. */
    /**
     * On the thread that calls afc_session_dispatch(): for programs with an event loop, or without threads. "Loop
     * thread" then means the thread inside that call.
     */
    AFC_LOOP_EXTERNAL = 1
} afc_session_loop;

/**
 * Runs callbacks of tasks on a thread of the program's choice, such as that of its user interface. on_progress, on_done
 * and release of each task are passed to `post`. The other callbacks, which decide something or consume a part of a
 * body, are still called on the loop thread, possibly at the same time as on_progress.
 */
typedef struct afc_executor {
    /** Passed to `post`. Free it in on_closed, which is called after all of these callbacks. */
    void *context;
    /**
     * Calls function(argument) once, at any time, on any thread, or inside `post`. Called on the loop thread; must not
     * block. At most one call for each task is pending, so the task's callbacks run in order and one at a time, even if
     * the executor has several threads; on_progress reports the newest numbers. Return false to refuse the call: the
     * callbacks then run on the loop thread. If a call is accepted and never made, its task stays incomplete and its
     * session open.
     */
    bool (*post)(void *context, void (*function)(void *argument), void *argument);
} afc_executor;

/** Options of a session. Start from AFC_SESSION_OPTIONS_INIT. All are copied. */
typedef struct afc_session_options {
    size_t size; /**< sizeof(afc_session_options). */
    /**
     * Maximum simultaneous connections, per host (default 6) and in total (default 0). 0 means no limit. Further tasks
     * wait, ordered by priority, then by start. With libcurl 8.1 or later, an HTTP/2 connection is shared by all tasks
     * of a host, except those with a sink other than MEMORY or a `max_receive_bytes_per_s`, which use one each; with an
     * older libcurl, every task in flight uses one.
     */
    uint32_t max_connections_per_host, max_connections;
    /** Maximum number of idle connections kept open. Default: 64. 0 means that connections aren't reused. */
    uint32_t max_idle_connections;
    /**
     * Connections that were idle for longer than this, in seconds, aren't reused. They are closed within seconds, as
     * are those that the server has closed. Default: 60. 0 means that connections aren't reused.
     */
    uint32_t max_idle_s;
    /** User-Agent of requests. Default: "afcore". NULL sends no such field. */
    const char *user_agent;
    /** Trust policy for servers; NULL means the defaults of afc_trust_options. The session retains it. */
    afc_trust_policy *trust;
    /**
     * Called once, last, on the loop thread, after the session has closed. With AFC_LOOP_EXTERNAL, the place to remove
     * afc_session_get_fd() from the program's loop: it is closed afterwards. May be NULL.
     */
    void (*on_closed)(void *context);
    void *context; /**< Passed to `on_closed` and `on_wake`. */
    /**
     * Batches on_done calls: they are made when the loop has nothing else to do, or after a few turns. For
     * callers that pass results to another thread, which then wakes once for several results. Default:
     * false, on_done is called at once.
     */
    bool gather_results;
    afc_tls_options tls; /**< TLS versions, ciphers, client certificates. */
    afc_proxies proxies; /**< Default: the environment's. To set proxies, set `source`, too. */
    afc_network_options network; /**< DNS, addresses and interfaces. */
    /**
     * Cookie jar; NULL means that cookies are neither stored nor sent. The session retains it; several sessions may use
     * the same jar. A request that sets or removes the field Cookie sends no cookies of the jar, except with
     * AFC_REQUEST_MERGE_COOKIES.
     */
    afc_cookie_jar *cookies;
    afc_cookie_policy cookie_policy; /**< Which cookies of servers are stored. */
    /**
     * HSTS store: http URLs of known hosts, those of redirects included, are upgraded to https before anything is sent.
     * Strict-Transport-Security is stored if it was received over https with a chain without errors. NULL disables
     * HSTS. The session retains it; several sessions may use the same store.
     */
    afc_hsts *hsts;
    /**
     * Trust policy for https proxies; NULL means the defaults of afc_trust_options, not `trust`. The versions and
     * ciphers of `tls` apply; client certificates are not sent to proxies. The session retains it.
     */
    afc_trust_policy *proxy_trust;
    afc_session_loop loop; /**< Default: AFC_LOOP_THREAD. */
    uint32_t reserved;     /**< 0. */
    /**
     * HTTP cache; NULL means that nothing is cached. The session retains it; several sessions may use the same cache.
     * Responses to requests with other values of Authorization, other credentials or other fields with
     * AFC_HEADER_SECRET are kept apart, unless they are public. Cookie fields keep responses apart only where Vary
     * names Cookie.
     */
    afc_http_cache *http_cache;
    /**
     * Separates the responses of this session from those of others with the same cache: sessions of other users, with
     * another client certificate, or with network options that lead to other servers. It isn't needed for different
     * trust policies: a response over https is used only under a policy with the same options as the one that accepted
     * its server, or if the program has stored it. Of a trust handler, only its presence is compared, not what it
     * decides. At most 255 bytes without a line feed. NULL is the same as "".
     */
    const char *cache_partition;
    /** Connections older than this, in seconds, aren't reused. 0, the default, means no limit. */
    uint32_t max_connection_age_s;
    /**
     * A connection is closed after this number of requests. 0, the default, means no limit. An HTTP/2 connection that
     * still has requests in flight takes more, and is closed after the last one.
     */
    uint32_t max_requests_per_connection;
    /**
     * Calls on_progress, on_done and release of tasks. If `post` is NULL, the default, they are called on the loop
     * thread. Not used for tasks of afc_perform(), for WebSockets, and for tasks that are never started. A thread that
     * makes the calls must not wait for a task by afc_task_wait(), nor for the session by afc_session_join() or
     * afc_join_closed_sessions(): it would wait for itself.
     */
    afc_executor executor;
    /**
     * Called with `context` on the loop thread after afc_session_wake(), so that the program can run work there. If
     * NULL, the default, that function has no effect. Must not block.
     */
    void (*on_wake)(void *context);
} afc_session_options;

#define AFC_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(afc_session_options), 6, 0, 64, 60, "afcore", NULL, NULL, NULL, false,              \
            AFC_TLS_OPTIONS_INIT, AFC_PROXIES_INIT, AFC_NETWORK_OPTIONS_INIT, NULL,                \
            AFC_COOKIES_ALWAYS, NULL, NULL, AFC_LOOP_THREAD, 0, NULL, NULL, 0, 0, {NULL, NULL},    \
            NULL                                                                                   \
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
 * Creates a session and starts its thread, if it has one. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_session_release().
 * Fails: AFC_ENOMEM (also without a free descriptor: `failure->system_error`), AFC_EINVAL (options without
 * AFC_SESSION_OPTIONS_INIT; invalid TLS versions, ciphers, client certificates, proxies or network options),
 * AFC_EFILE (a client certificate's file), AFC_EUNSUPPORTED (libcurl without OpenSSL; see also
 * afc_network_options), AFC_EINTERNAL (no thread or no random bytes, see `failure`; or the process was forked while a
 * thread was using OpenSSL, whose locks then stay locked in this child); `*out` is then NULL.
 */
AFC_API afc_status afc_session_new(afc_session **out, const afc_session_options *options,
                                   afc_failure *failure);

/**
 * Initialises libcurl and OpenSSL, which takes about a millisecond and is otherwise done by the first session. A
 * program that needs a session soon after its start can call this on another thread meanwhile.
 *
 * Thread: any.    Owns: nothing.    Fails: never; errors are those of afc_session_new().
 */
AFC_API void afc_prepare(void);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_session *afc_session_retain(afc_session *session);

/**
 * Releases a reference. The last one closes the session: started tasks complete first, then its thread ends.
 * Validations in the background of stale responses (stale-while-revalidate, RFC 5861) are cancelled. Never blocks. NULL
 * is allowed. A session with AFC_LOOP_EXTERNAL closes inside afc_session_dispatch().
 *
 * The session releases its cookie jar and its HSTS store at the end. If these are the last references, their files are
 * saved then, which blocks on the disk: on the session's thread, in afc_session_dispatch(), or, if tasks of the session
 * are still referenced, in the afc_task_release() of the last one. To save them on another thread, keep a reference.
 *
 * Thread: any, also inside callbacks.    Owns: takes `session`.    Fails: never.
 */
AFC_API void afc_session_release(afc_session *session);

/**
 * Releases a reference, as afc_session_release(), then waits until the session has closed: its tasks have completed,
 * on_closed has returned, and its threads have ended. Its cookie jar and its HSTS store are released by then, too,
 * unless tasks of the session are still referenced. Other references to the session, and tasks that were created but
 * never started, delay it. To end the tasks instead of letting them complete, call afc_session_cancel_all() first.
 *
 * `timeout_ms` is the maximum wait in milliseconds; negative means no limit. Unlike afc_join_closed_sessions() it
 * doesn't wait for other sessions. For a `session` that is NULL, returns AFC_OK.
 *
 * Thread: any but a loop thread.    Owns: takes `session`, also on failure.
 * Fails: AFC_ETIMEOUT (not closed yet), AFC_EINVAL (called by a callback on a loop thread, which would wait for itself;
 * or the session has no thread: dispatch it until AFC_ECLOSED), AFC_ECLOSED (a session of the parent process). The
 * session is released then, and closes later.
 */
AFC_API afc_status afc_session_join(afc_session *session, int64_t timeout_ms);

/**
 * Cancels every task that was started before this call, including tasks that wait for a connection and
 * tasks whose start hasn't reached the loop yet. Tasks started later are not affected.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_session_cancel_all(afc_session *session);

/**
 * Makes the loop call on_wake of the options soon; if called in a callback, after the callbacks of this turn of the
 * loop. One on_wake may follow several calls. Memory that was written before a call is visible to the on_wake that
 * follows it.
 *
 * Thread: any.    Owns: nothing.    Fails: never. No effect without on_wake, and in a forked child.
 */
AFC_API void afc_session_wake(afc_session *session);

/* ---- Sessions that the program drives --------------------------------------------------------- */

/**
 * Returns a descriptor that is readable when a session with AFC_LOOP_EXTERNAL has work to do: wait for it with poll(),
 * epoll (level-triggered), or the event loop of the program, and call afc_session_dispatch(). Don't read from it or
 * close it.
 *
 * Thread: any.    Owns: borrowed, valid until on_closed of the options has returned, in the last
 * afc_session_dispatch().
 * Fails: -1 if the session has a thread.
 */
AFC_API int afc_session_get_fd(const afc_session *session);

/**
 * Returns for how long the program may wait for the descriptor, in milliseconds. 0 means: dispatch now; -1, no limit.
 * Only afc_session_dispatch(), and posts by other threads, which make the descriptor readable, change it. Call it after
 * each dispatch and before each wait.
 *
 * Thread: the one that dispatches.    Owns: nothing.    Fails: -1 if the session has a thread.
 */
AFC_API int afc_session_get_timeout_ms(const afc_session *session);

/**
 * Runs one turn of the loop: sends, receives, calls the callbacks. Never blocks. May be called at any time; if there is
 * nothing to do, it costs a system call. A program that has released its session must dispatch until AFC_ECLOSED,
 * because started tasks complete first.
 *
 * Thread: any, one at a time, not inside a callback of this session.    Owns: nothing.
 * Fails: AFC_ECLOSED (the session has closed and `session` is invalid, or belongs to the parent process), AFC_EINVAL
 * (the session has a thread, or this is one of its callbacks).
 */
AFC_API afc_status afc_session_dispatch(afc_session *session);

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
 * Thread: any; a loop thread, which would wait for itself, returns at once.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_join_closed_sessions(void);

AFC_END_DECLS

#endif
