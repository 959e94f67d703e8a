/**
 * Tasks: a task sends one request and receives its response, and reports events by callbacks. For the request see
 * request.h, for the result result.h.
 */
#ifndef AFCORE_TASK_H
#define AFCORE_TASK_H

#include <afcore/auth.h>
#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/http_cache.h>
#include <afcore/message.h>
#include <afcore/request.h>
#include <afcore/result.h>
#include <afcore/trace.h>
#include <afcore/trust.h>

AFC_BEGIN_DECLS

/** A session: its connections, its settings and its loop thread; see session.h. */
typedef struct afc_session afc_session;
/** A request from its creation to its result, with a reference count. */
typedef struct afc_task afc_task;

/* ---- Callbacks ----------------------------------------------------------------------------- */

/** Body bytes so far. Totals are AFC_LENGTH_UNKNOWN until known. `received` is counted before decoding. */
typedef struct afc_progress {
    int64_t sent, sent_total;
    int64_t received, received_total;
    /** Bytes of a resumed download's partial file, not included in `received` and `received_total`. */
    int64_t offset;
} afc_progress;

/** The decision of on_redirect. */
typedef enum afc_redirect_decision {
    AFC_REDIRECT_FOLLOW = 0, /**< Follow it with the proposed request, which may be edited. */
    AFC_REDIRECT_STOP = 1,   /**< Don't follow it: the 3xx is the response, with its body. */
    AFC_REDIRECT_FAIL = 2    /**< End the task with AFC_EREDIRECT. */
} afc_redirect_decision;

/**
 * A redirect that is about to be followed. The proposed request lacks the fields that must not be sent to another
 * origin. To edit it, set `url`, `method` or `headers` to other values. They are read immediately after the callback
 * returns and must be valid until then; they are checked like those of a request. A field named like one with
 * AFC_HEADER_SECRET in the old request is a secret, too. If the edited URL has another origin than the proposed one,
 * secrets of the proposed request that are still in `headers` aren't sent.
 */
typedef struct afc_redirect {
    const afc_head *head;      /**< Head of the 3xx response. */
    const char *from;          /**< URL of the 3xx response. */
    int count;                 /**< 1 for the first redirect of the task. */
    bool crosses_origin;       /**< Scheme, host or port differ: credentials were removed. */
    bool keeps_body;           /**< The request body will be sent again. */
    const char *url;           /**< URL of the next request. Editable. */
    const char *method;        /**< Method of the next request. Editable. */
    const afc_header *headers; /**< All fields of the next request. Editable. */
    size_t header_count;
} afc_redirect;

/**
 * The final response after its head was received, before its body. To write the body to a file whatever the
 * sink of the request is, set `path`; it must be valid until the callback returns. `path` is used for a 2xx
 * only, and not for a download that is resumed or restarted at the sink's path.
 */
typedef struct afc_response {
    const afc_head *head; /**< Head of the response. */
    const char *url;      /**< URL of the response, without userinfo and fragment. */
    const char *path;     /**< Editable. NULL means the request's sink. */
    /** AFC_FILE_… bits for `path`. Editable; default: the request's. RESUME has no effect here. */
    unsigned flags;
    afc_result *result; /**< For afc_response_get_trust() only. */
} afc_response;

/**
 * Returns the trust report of the server that sent the response; see afc_result_get_trust().
 *
 * Thread: loop, inside on_head.    Owns: borrowed, valid until on_head returns.
 * Fails: NULL without TLS, or when out of memory.
 */
AFC_API const afc_trust_report *afc_response_get_trust(const afc_response *response);

/**
 * Writes the body to `descriptor` instead of the request's sink, as an FD sink does, whatever the status. A `path`
 * takes precedence for a 2xx.
 *
 * Thread: loop, inside on_head.    Owns: nothing; the descriptor is duplicated, so the caller may close it.
 * Fails: AFC_EINVAL (not open for writing; the response of a WebSocket; a download that is being resumed, or has a
 * `digest`), AFC_EFILE (no descriptor is left). The sink is unchanged then.
 */
AFC_API afc_status afc_response_set_descriptor(afc_response *response, int descriptor);

/**
 * Returns whether the response came from the HTTP cache. At the end, afc_hop.cache has the same value.
 *
 * Thread: loop, inside on_head.    Owns: nothing.    Fails: never.
 */
AFC_API afc_http_cache_use afc_response_get_cache_use(const afc_response *response);

/**
 * A response that is about to be stored in the HTTP cache. To store other fields than the received ones, set
 * `headers` and `header_count`; they are read immediately after the callback returns. The stored Cache-Control and
 * Expires decide how long the response is fresh. Fields of the connection are never stored, and
 * those that describe the body (Content-Encoding, Content-Length, Content-Range) are stored as received.
 */
typedef struct afc_http_cache_candidate {
    const afc_head *head;      /**< Head of the response, as received. */
    const char *url;           /**< URL of the response, without userinfo and fragment. */
    const afc_header *headers; /**< All fields of the response. Editable. */
    size_t header_count;
    uint64_t reserved[2]; /**< 0. */
} afc_http_cache_candidate;

/**
 * Callbacks of a task. Each may be NULL. All are called on the loop thread, never inside an afc_task_ function. If the
 * session has an executor (afc_executor), it calls on_progress, on_done and release. They may call any function of this
 * library, including afc_task_cancel() and afc_session_release(). They must not block, because all tasks of the session
 * wait for them. A returned number that isn't one of the callback's type, such as a number of bytes, ends the task with
 * AFC_EINVAL.
 *
 * Order: (on_informational* (on_redirect | on_challenge? on_challenge_accepted?))* on_head? on_body* on_done release,
 * with on_cache before on_redirect and on_head, and on_progress, on_trace and on_wake anywhere before on_done.
 */
typedef struct afc_task_events {
    size_t size;   /**< sizeof(afc_task_events). */
    void *context; /**< Passed to the callbacks. */
    /** Called when a redirect is about to be followed. NULL means AFC_REDIRECT_FOLLOW. */
    afc_redirect_decision (*on_redirect)(void *context, afc_redirect *redirect);
    /** Called for each 1xx response. */
    void (*on_informational)(void *context, const afc_head *head);
    /**
     * Called when the head of the final response was received. Not called for a 1xx, a followed redirect, an answered
     * challenge or a response that a resumed download can't use. Return AFC_OK to receive the body. Any other status
     * ends the task with it (AFC_ECANCELED for an unwanted response): the result has the head but no body, and the
     * transfer is stopped, over HTTP/1.1 by closing the connection.
     */
    afc_status (*on_head)(void *context, afc_response *response);
    /**
     * Called with each piece of the body. A CALLBACK sink requires it; with any other sink it is never called. Return
     * AFC_OK if the bytes were consumed. Return AFC_EAGAIN to pause: nothing more is read until afc_task_wake(), then
     * the same bytes are passed again. Any other status ends the task with it.
     */
    afc_status (*on_body)(void *context, afc_slice chunk);
    /**
     * Called at most every progress_ms, before the first byte of a request body is sent, and once with the final
     * numbers before on_done.
     */
    void (*on_progress)(void *context, const afc_progress *progress);
    /**
     * Called exactly once for each started task. The callback owns `result`: free it with afc_result_free(), on
     * any thread. If on_done is NULL, the result is freed.
     */
    void (*on_done)(void *context, afc_result *result);
    /**
     * Called exactly once, last: on the loop thread or by the executor, as on_done; in afc_task_release() if the task
     * was never started.
     */
    void (*release)(void *context);
    /**
     * Called when an afc_task_wake() has reached the loop; paused reads and on_body calls follow. One on_wake may
     * follow several calls. If afc_task_wake() is called inside on_body, on_wake follows after all data that can be
     * read without waiting, up to a few MiB. For calls inside callbacks, on_wake is called at most once a millisecond,
     * unless on_body or the reader of the request body waits for it.
     */
    void (*on_wake)(void *context);
    /**
     * Called when a 401 or 407 with a supported scheme was received, also after credentials that were sent
     * preemptively. `credentials` initially holds the proposed ones or AFC_CREDENTIALS_INIT; with USE it is copied
     * after the callback returns. With LATER the task waits, and its total time limit continues to count. With a MEMORY
     * sink and no max_receive_bytes_per_s it leaves its connection to others; otherwise fetch the credentials in
     * another session. Called at most ten times for servers and ten times for proxies. NULL means
     * AFC_CHALLENGE_DEFAULT.
     */
    afc_challenge_decision (*on_challenge)(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials);
    /**
     * Called when a challenge was accepted: the request is sent again with the credentials `proposed` and the scheme
     * `scheme`. Called after on_challenge, or, if that is NULL, for credentials of the request or of the proxy's URL;
     * also for a stale Digest nonce. Not called for the further rounds of NTLM and Negotiate.
     */
    void (*on_challenge_accepted)(void *context, const afc_challenge *challenge);
    /**
     * Reports heads that are sent and received, and connections (trace.h), at any time before on_done. `trace` is valid
     * until the callback returns. NULL costs nothing; otherwise libcurl reports each line (CURLOPT_DEBUGFUNCTION),
     * which is copied once.
     */
    void (*on_trace)(void *context, const afc_trace *trace);
    /**
     * Called before a response, which may be a redirect, is stored in the HTTP cache. Return false to refuse. Not
     * called for a 304 that updates a stored response. With changed fields, the response is stored if HTTP allows that;
     * the Vary that was received still decides which requests it fits. NULL means that every response is stored that
     * HTTP allows to store.
     */
    bool (*on_cache)(void *context, afc_http_cache_candidate *candidate);
} afc_task_events;

#define AFC_TASK_EVENTS_INIT                                                                       \
    {                                                                                              \
        sizeof(afc_task_events), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL                                                                             \
    }

/* ---- Tasks --------------------------------------------------------------------------------- */

/**
 * Creates a task. It does nothing before afc_task_start().
 *
 * Thread: any.    Owns: `*out` is yours, afc_task_release(). Takes `events->context` and the body of the
 * request; on failure their release functions are called before this function returns.
 * Fails: AFC_EINVAL (`failure` says why), AFC_EFILE (no descriptor is left to duplicate that of an FD body or sink),
 * AFC_EUNSUPPORTED, AFC_ECLOSED, AFC_ENOMEM; `*out` is then NULL. A struct without its AFC_…_INIT is AFC_EINVAL too:
 * nothing else in it is read, and none of its callbacks is called.
 */
AFC_API afc_status afc_task_new(afc_task **out, afc_session *session, const afc_request *request,
                                const afc_task_events *events, afc_failure *failure);

/**
 * Creates and starts a task, as afc_task_new() and afc_task_start().
 *
 * Thread: any.    Owns: `*out` is yours, afc_task_release(); `out` may be NULL. Set before any callback.
 * Fails: as afc_task_new(); release is then the only callback.
 */
AFC_API afc_status afc_task_begin(afc_task **out, afc_session *session, const afc_request *request,
                                  const afc_task_events *events, afc_failure *failure);

/**
 * Starts a task. A second call has no effect.
 *
 * Thread: any.    Owns: nothing.    Fails: never; errors are reported by on_done.
 */
AFC_API void afc_task_start(afc_task *task);

/**
 * Suspends a task: no data is sent or received until afc_task_resume(). The connection stays open and the total
 * time limit continues to count. Suspends do not nest. Over HTTP/2 a body with a MEMORY sink is still received,
 * up to its limit, because other tasks share its connection; the task completes only after it is resumed.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_task_suspend(afc_task *task);

/**
 * Resumes a suspended task.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_task_resume(afc_task *task);

/**
 * Cancels a task. on_done is still called, with AFC_ECANCELED unless the task had already completed; see
 * afc_result_get_body() for the bytes received so far. A task that isn't started yet completes with AFC_ECANCELED
 * when it is started. Further calls have no effect.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_task_cancel(afc_task *task);

/**
 * Wakes a task: calls on_wake, then on_body again after AFC_EAGAIN, or the reader again after AFC_READ_AGAIN. Has no
 * effect before the task is started and after it has completed.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_task_wake(afc_task *task);

/**
 * Answers a challenge for which on_challenge returns AFC_CHALLENGE_LATER; may be called before on_challenge has
 * returned. `credentials` are copied with AFC_CHALLENGE_USE and may be NULL otherwise.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (no challenge of that number is waiting: it was answered, or the task has completed; `answer`
 * is LATER; invalid credentials), AFC_ENOMEM; the challenge is then still waiting.
 */
AFC_API afc_status afc_task_answer_challenge(afc_task *task, uint32_t number,
                                             afc_challenge_decision answer,
                                             const afc_credentials *credentials);

/**
 * Waits until a task has completed, that is, its on_done and release have returned. `timeout_ms` is the maximum wait in
 * milliseconds; negative means no limit. The task must have been started, or be started by another thread.
 *
 * Thread: any but a loop thread.    Owns: nothing.
 * Fails: AFC_ETIMEOUT (not completed yet), AFC_EINVAL (called by a callback on a loop thread, which would wait for
 * itself; or the session has no thread: dispatch it instead), AFC_ECLOSED (a task of the parent process that will never
 * complete in this one).
 */
AFC_API afc_status afc_task_wait(afc_task *task, int64_t timeout_ms);

/**
 * Performs a request and waits for its result: afc_task_begin() and afc_task_wait() without callbacks. Returns the
 * status of the result. Several threads may use the same session.
 *
 * Thread: any but a loop thread.
 * Owns: `*out` is yours, afc_result_free(), also if the request failed; takes the body of the request.
 * Fails: as afc_task_new(), and AFC_EINVAL as afc_task_wait(); `*out` is then NULL. Otherwise as the task: `*out` then
 * holds what was received. `out` may be NULL if the response isn't wanted.
 */
AFC_API afc_status afc_perform(afc_result **out, afc_session *session, const afc_request *request,
                               afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_task *afc_task_retain(afc_task *task);

/**
 * Releases a reference. A started task continues without references. NULL is allowed.
 *
 * Thread: any.    Owns: takes `task`.    Fails: never.
 */
AFC_API void afc_task_release(afc_task *task);

AFC_END_DECLS

#endif
