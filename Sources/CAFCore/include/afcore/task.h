/**
 * Tasks: one request and its response. A request names its body, its sink for the response body, and its
 * limits; callbacks report progress; the result holds the response.
 */
#ifndef AFCORE_TASK_H
#define AFCORE_TASK_H

#include <afcore/auth.h>
#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>
#include <afcore/trace.h>
#include <afcore/trust.h>

AF_BEGIN_DECLS

typedef struct af_session af_session;
typedef struct af_task af_task;
typedef struct af_result af_result;
typedef struct af_multipart af_multipart;

/* ---- The request body ---------------------------------------------------------------------- */

/** An unknown length. HTTP/1.1 then sends a body with chunked encoding. */
#define AF_LENGTH_UNKNOWN ((int64_t)-1)

/** What a reader returns instead of a number of bytes. */
enum {
    AF_READ_END = 0,    /**< The body is complete. */
    AF_READ_AGAIN = -1, /**< No data now; call af_task_wake() when there is some. */
    AF_READ_FAILED = -2 /**< Error: the task fails with AF_ESOURCE. */
};

/** A callback that provides a body piece by piece. All functions are called on the loop thread. */
typedef struct af_reader {
    void *context; /**< Passed to the functions. */
    /** Writes at most `size` bytes to `buffer`. Returns their number or AF_READ_…. Must not block. */
    ptrdiff_t (*read)(void *context, void *buffer, size_t size);
    /** Returns to the first byte; true on success. NULL: the body can be read only once. */
    bool (*rewind)(void *context);
    /** Called once, last, in every case. May be NULL. */
    void (*release)(void *context);
} af_reader;

/** The kind of a request body. */
typedef enum af_body_kind {
    AF_BODY_NONE = 0,
    AF_BODY_BYTES = 1,
    AF_BODY_FILE = 2,
    AF_BODY_READER = 3,
    AF_BODY_MULTIPART = 4
} af_body_kind;

/** A request body. Zero-initialised: no body. */
typedef struct af_body {
    af_body_kind kind; /**< Selects which of the fields below are used. */
    /** BYTES: copied, or, if `release` is not NULL, borrowed until release(context) is called. */
    af_slice bytes;
    void (*release)(void *context);
    void *context;
    /** FILE: path of a regular file, opened when the request is sent. Its size must not change after that. */
    const char *path;
    /** READER: `length` in bytes or AF_LENGTH_UNKNOWN. Any other number of bytes is AF_ESOURCE. */
    af_reader reader;
    int64_t length;
    /** MULTIPART: taken. Its Content-Type is sent unless the request sets or removes that field. */
    af_multipart *form;
} af_body;

/* ---- The sink of the response body --------------------------------------------------------- */

/** Where the response body goes. */
typedef enum af_sink_kind {
    AF_SINK_MEMORY = 0, /**< Collected in memory; see af_result_take_body(). */
    AF_SINK_FILE = 1,   /**< Written to the file `path`, which is created when the task succeeds. */
    AF_SINK_CALLBACK = 2 /**< Passed to on_body piece by piece. */
} af_sink_kind;

/** How a file is written: bits of af_sink.flags. */
enum {
    /**
     * If the task fails or is cancelled, keep the bytes received so far, provided the response had a strong
     * validator (RFC 9110 8.8.1): in PATH.part, with a resume token in PATH.part.resume. Both survive the end
     * of the process at any time. GET without a body only.
     */
    AF_SINK_KEEP_PARTIAL = 1u << 0,
    /**
     * Resume PATH.part if it was created for this URL: sends Range and If-Range (RFC 9110 section 14 and
     * 13.1.5), and appends the response if it is the same version of the file; otherwise starts over.
     */
    AF_SINK_RESUME = 1u << 1,
    /** Sync the file and its folder to the disk before the task succeeds. */
    AF_SINK_SYNC = 1u << 2,
    /** Fail with AF_EFILE and EEXIST if the file exists. */
    AF_SINK_NO_REPLACE = 1u << 3,
    /** Create missing folders. */
    AF_SINK_MAKE_FOLDERS = 1u << 4,
    /**
     * If PATH is a symbolic link, replace its target and keep the link. PATH.part is then next to the target,
     * which need not exist. Without this flag the link itself is replaced.
     */
    AF_SINK_FOLLOW_LINKS = 1u << 5,
    /** Give the new file the permissions of the one it replaces, without set-user-ID, set-group-ID and sticky. */
    AF_SINK_KEEP_MODE = 1u << 6
};

/**
 * The sink: where the body of the final response goes.
 *
 * A FILE sink receives the body of a 2xx response only. The body of any other status is collected in memory,
 * at most 1 MiB of it. When the task succeeds, the file atomically replaces an existing one; otherwise that
 * one remains unchanged. Until then the file has no name (O_TMPFILE), or is PATH.RANDOM.part if the file
 * system doesn't support that. Character devices such as /dev/null are written to directly; other special
 * files are refused. A 206 that the request didn't ask for by a Range header is AF_EPROTOCOL for a FILE sink;
 * other sinks receive its body.
 *
 * With AF_SINK_KEEP_PARTIAL or AF_SINK_RESUME:
 * - The body is written to PATH.part. A second task with the same PATH.part fails with AF_EFILE and EBUSY. A
 *   PATH.part that belongs to another URL is replaced.
 * - The request is sent with Accept-Encoding: identity. Its headers must not include Range or If-Range.
 * - If the disk has no room for the announced length, the task fails at once; no space is reserved.
 * - Repr-Digest (RFC 9530: sha-256, sha-512) and Content-MD5 are verified. A mismatch is AF_EPROTOCOL, and the
 *   partial file is removed.
 * - A 404 or 410 removes the partial file; any other status except 2xx keeps it.
 */
typedef struct af_sink {
    af_sink_kind kind; /**< Default: AF_SINK_MEMORY. */
    const char *path;  /**< For FILE. May be NULL if on_head sets it. */
    unsigned flags;    /**< AF_SINK_… bits; also the default for a path that on_head sets. */
    const char *resume_token; /**< For RESUME: a token; NULL: the one in PATH.part.resume. */
} af_sink;

/* ---- Limits -------------------------------------------------------------------------------- */

/** Time limits in milliseconds; 0: none. If one is reached, the task fails with AF_ETIMEOUT. */
typedef struct af_timeouts {
    /** Establishing a connection (DNS, TCP, TLS), for each hop. Default: 30000. */
    uint32_t connect_ms;
    /** Time without any bytes in either direction. Paused while the task is suspended, waits for a free
        connection, or after a callback returned AF_EAGAIN or AF_READ_AGAIN. Default: 60000. */
    uint32_t idle_ms;
    /** The whole task from its start: waiting for a connection, every hop, every retry. Default: none. */
    uint32_t total_ms;
} af_timeouts;

#define AF_TIMEOUTS_INIT                                                                           \
    { 30000, 60000, 0 }

/** Size limits. A task that exceeds one fails at once with AF_ETOOBIG. 0: the default given here. */
typedef struct af_limits {
    uint64_t body; /**< Decoded bytes. Default: 64 MiB for MEMORY, none for FILE and CALLBACK. */
    uint32_t
        head_bytes; /**< Bytes of a hop's heads and trailers, 1xx included. Default: 256 KiB. */
    uint32_t head_count;    /**< Fields of a hop's heads and trailers. Default: 512. */
    uint32_t informational; /**< 1xx responses of a hop. Default: 16. */
    uint32_t
        decoding_ratio; /**< Decoded to received bytes, after the first decoded MiB. Default: 250. */
    int32_t
        redirects; /**< Redirects followed. Default: 20. Negative: none, a 3xx is the response. */
} af_limits;

#define AF_LIMITS_INIT                                                                             \
    { 0, 0, 0, 0, 0, 0 }

/** Which HTTP version to use (CURLOPT_HTTP_VERSION). */
typedef enum af_http_version_preference {
    AF_HTTP_PREFER_AUTOMATIC = 0,         /**< https: HTTP/2 or HTTP/1.1 by ALPN; http: HTTP/1.1. */
    AF_HTTP_PREFER_1_1 = 1,               /**< HTTP/1.1 only. */
    AF_HTTP_PREFER_2 = 2,                 /**< As AUTOMATIC, without an upgrade over http. */
    AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE = 3, /**< HTTP/2 from the first byte, also over http. */
    AF_HTTP_PREFER_3 = 4                  /**< AF_EUNSUPPORTED if libcurl has no HTTP/3. */
} af_http_version_preference;

/**
 * Whether to send "Expect: 100-continue" over HTTP/1.1 and wait for the server before sending a body (RFC 9110
 * 10.1.1). If the server sends a final response first, the body is not sent. After a 417 the request is sent
 * once more without the field. Without any response, the body is sent after the wait. A request that sets
 * the field itself is treated as ALWAYS.
 */
typedef enum af_expect {
    AF_EXPECT_AUTOMATIC = 0, /**< For bodies over 1 MiB or of unknown length; waits 200 ms. */
    AF_EXPECT_ALWAYS = 1,    /**< For every body that isn't empty; waits 1 s. */
    AF_EXPECT_NEVER = 2      /**< Sends every body at once. */
} af_expect;

/* ---- The request --------------------------------------------------------------------------- */

/**
 * A request. Start from AF_REQUEST_INIT. af_task_new() copies everything except a borrowed body, a reader
 * and a form, which it takes, also on failure.
 *
 * Default headers, sent unless the request sets or removes them: Host, Accept: *\/\*, Accept-Encoding (see
 * `keep_encoding`), the session's User-Agent. Content-Length and Transfer-Encoding are derived from the body
 * and refused as headers.
 *
 * `url` is http or https. In its path and query, spaces, octets above 127 and "<>\^`{|} are percent-encoded.
 * Control characters are refused. The fragment is not sent. IP addresses are normalised: `127.1` and
 * `0x7f.0.0.1` are sent as 127.0.0.1.
 */
typedef struct af_request {
    size_t size;              /**< sizeof(af_request), for growth. */
    const char *method;       /**< Any token (RFC 9110 9.1), sent unchanged. Default: GET. */
    const char *url;          /**< Required. */
    const af_header *headers; /**< At most 900 KiB in total; more is AF_ETOOBIG. */
    size_t header_count;
    af_body body;
    af_sink sink;
    af_timeouts timeouts;
    af_limits limits;
    af_http_version_preference version;
    bool keep_encoding;   /**< Send Accept-Encoding: identity, and don't decode the body. */
    bool allow_downgrade; /**< Follow redirects from https to http. */
    /** 1 to 255; 0: the default, 16. Tasks that wait for a host start highest first. Also the HTTP/2 weight. */
    uint8_t priority;
    uint32_t progress_ms; /**< Minimum time between on_progress calls; 0: the default, 100 ms. */
    /**
     * Maximum body bytes per second, averaged over the transfer; 0: no limit. Received bytes are counted
     * before decoding. Waiting for the rate doesn't count as idle.
     */
    uint64_t max_send_rate, max_receive_rate;
    af_expect expect; /**< Default: AF_EXPECT_AUTOMATIC. */
    /**
     * Waits instead of failing when there is no route to the host, or when its name can't be resolved and
     * there is no route to the internet; tries again when there is a route (reachability.h).
     * timeouts.total_ms continues to count, and cancelling ends the wait. Each attempt is a hop.
     */
    bool wait_for_network;
    /**
     * Proxy for all hops of this request, in the format of af_proxies. "": none. NULL: the session's.
     * Connections through a per-request proxy are never reused.
     */
    const char *proxy;
    /**
     * Unix-domain socket for all hops of this request, whatever the hosts of their URLs: a path, or "@" and a
     * name in the abstract namespace; at most 107 bytes. "": none. NULL: the session's (af_network_options).
     * Proxies are not used; setting `proxy` too is AF_EINVAL. Connections are reused for the same socket only.
     */
    const char *unix_socket;
    /**
     * Credentials for the URL's origin: answers to 401 responses, or sent with the first request
     * (`send_preemptively`). If they have neither user nor token, user and password of the URL are used. If this
     * is NULL, those of the URL are sent as Basic with the first request. An Authorization field of the
     * request is sent until a challenge is answered.
     */
    const af_credentials *credentials;
    bool ignore_cookies; /**< Don't send cookies of the session's jar, and don't store any. */
    /** URL of the top-level document, for AF_COOKIES_MAIN_DOCUMENT; NULL: the request's URL. */
    const char *main_document_url;
    /**
     * Credentials for 407 responses of the first HTTP proxy that the request uses, and no other one; they
     * replace user and password of the proxy's URL. Connections made with them serve this task only.
     */
    const af_credentials *proxy_credentials;
} af_request;

#define AF_REQUEST_INIT                                                                            \
    {                                                                                              \
        sizeof(af_request), "GET", NULL, NULL, 0,                                                  \
            {AF_BODY_NONE, {NULL, 0}, NULL, NULL, NULL, {NULL, NULL, NULL, NULL}, 0, NULL},        \
            {AF_SINK_MEMORY, NULL, 0, NULL}, AF_TIMEOUTS_INIT, AF_LIMITS_INIT,                     \
            AF_HTTP_PREFER_AUTOMATIC, false, false, 0, 0, 0, 0, AF_EXPECT_AUTOMATIC, false, NULL,  \
            NULL, NULL, false, NULL, NULL                                                          \
    }

/* ---- Callbacks ----------------------------------------------------------------------------- */

/** Body bytes so far. Totals are AF_LENGTH_UNKNOWN until known. `received` is counted before decoding. */
typedef struct af_progress {
    int64_t sent, sent_total;
    int64_t received, received_total;
    /** Of a resumed download: bytes of the partial file, not included in `received` and `received_total`. */
    int64_t offset;
} af_progress;

/** The decision of on_redirect. */
typedef enum af_redirect_answer {
    AF_REDIRECT_FOLLOW = 0, /**< Follow it with the proposed request, which may be edited. */
    AF_REDIRECT_STOP = 1,   /**< Don't follow it: the 3xx is the response, with its body. */
    AF_REDIRECT_FAIL = 2    /**< End the task with AF_EREDIRECT. */
} af_redirect_answer;

/**
 * A redirect that is about to be followed. The proposed request lacks the fields that must not be sent to
 * another origin. To edit it, set `url`, `method` or `headers` to other values. They are read immediately
 * after the callback returns and must be valid until then; they are checked like those of a request.
 */
typedef struct af_redirect {
    const af_head *head;      /**< Head of the 3xx response. */
    const char *from;         /**< URL of the 3xx response. */
    int count;                /**< 1 for the first redirect of the task. */
    bool crosses_origin;      /**< Scheme, host or port differ: credentials were removed. */
    bool keeps_body;          /**< The request body will be sent again. */
    const char *url;          /**< URL of the next request. Editable. */
    const char *method;       /**< Method of the next request. Editable. */
    const af_header *headers; /**< All fields of the next request. Editable. */
    size_t header_count;
} af_redirect;

/**
 * The final response after its head was received, before its body. To write the body to a file whatever the
 * sink of the request is, set `path`; it must be valid until the callback returns. `path` is used for a 2xx
 * only, and not for a download that is resumed or restarted at the sink's path.
 */
typedef struct af_response {
    const af_head *head; /**< Head of the response. */
    const char *url;     /**< URL of the response, without userinfo and fragment. */
    const char *path;    /**< Editable. NULL: the request's sink is used. */
    /** AF_SINK_… bits for `path`. Editable; default: the request's. RESUME has no effect here. */
    unsigned flags;
    af_result *result; /**< For af_response_get_trust() only. */
} af_response;

/**
 * Returns the trust report of the server that sent the response; see af_result_get_trust().
 *
 * Thread: loop, inside on_head.    Owns: borrowed, valid until on_head returns.
 * Fails: NULL without TLS, or when out of memory.
 */
AF_API const af_trust_report *af_response_get_trust(const af_response *response);

/**
 * Callbacks of a task. Each may be NULL. All are called on the loop thread, never inside an af_task_ function.
 * They may call any function of this library, including af_task_cancel() and af_session_release(). They
 * must not block, because all tasks of the session wait for them.
 *
 * Order: (on_informational* (on_redirect | on_challenge? on_challenge_accepted?))* on_head? on_body* on_done release,
 * with on_progress, on_trace and on_wake anywhere before on_done.
 */
typedef struct af_task_events {
    size_t size;   /**< sizeof(af_task_events), for growth. */
    void *context; /**< Passed to the callbacks. */
    /** A redirect is about to be followed. NULL: AF_REDIRECT_FOLLOW. */
    af_redirect_answer (*on_redirect)(void *context, af_redirect *redirect);
    /** A 1xx response was received. */
    void (*on_informational)(void *context, const af_head *head);
    /**
     * The head of the final response was received. Not called for a 1xx, a followed redirect, an answered
     * challenge or a response that a resumed download can't use. Return AF_OK to receive the body. Any other
     * status ends the task with it (AF_ECANCELED for an unwanted response): the result has the head but no
     * body, and the transfer is stopped, over HTTP/1.1 by closing the connection.
     */
    af_status (*on_head)(void *context, af_response *response);
    /**
     * For a CALLBACK sink: part of the body. Return AF_OK if it was consumed. Return AF_EAGAIN to pause: nothing
     * more is read until af_task_wake(), then the same bytes are passed again. Any other status ends the task
     * with it.
     */
    af_status (*on_body)(void *context, af_slice chunk);
    /** Called at most every progress_ms, and once with the final numbers before on_done. */
    void (*on_progress)(void *context, const af_progress *progress);
    /**
     * Called exactly once for each started task. The callback owns `result`: free it with af_result_free(), on
     * any thread. If on_done is NULL, the result is freed.
     */
    void (*on_done)(void *context, af_result *result);
    /** Called exactly once, last: on the loop thread, or in af_task_release() if the task was never started. */
    void (*release)(void *context);
    /**
     * An af_task_wake() has reached the loop; paused reads and on_body calls follow. One on_wake may stand for
     * several calls. If af_task_wake() is called inside on_body, on_wake follows after all data that can be
     * read without waiting, up to a few MiB.
     */
    void (*on_wake)(void *context);
    /**
     * A 401 or 407 with a supported scheme was received, also after credentials that were sent preemptively.
     * `credentials` initially holds the proposed ones or AF_CREDENTIALS_INIT; with USE it is copied after the
     * callback returns. With LATER the task waits, and its total time limit continues to count. Called at
     * most ten times for servers and ten times for proxies. NULL: AF_CHALLENGE_DEFAULT.
     */
    af_challenge_answer (*on_challenge)(void *context, const af_challenge *challenge,
                                        af_credentials *credentials);
    /**
     * A challenge was accepted: the request is sent again with the credentials `proposed` and the scheme
     * `scheme`. Called after on_challenge, or, if that is NULL, for credentials of the request or of the
     * proxy's URL; also for a stale Digest nonce. Not called for the further rounds of NTLM and Negotiate.
     */
    void (*on_challenge_accepted)(void *context, const af_challenge *challenge);
    /**
     * Reports what is sent and received, at any time before on_done. `trace` is valid until the callback
     * returns. NULL costs nothing; otherwise libcurl reports each line (CURLOPT_DEBUGFUNCTION), which is
     * copied once.
     */
    void (*on_trace)(void *context, const af_trace *trace);
} af_task_events;

#define AF_TASK_EVENTS_INIT                                                                        \
    {                                                                                              \
        sizeof(af_task_events), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
            NULL                                                                                   \
    }

/* ---- Tasks --------------------------------------------------------------------------------- */

/**
 * Creates a task. It does nothing before af_task_start(). `failure` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_task_release(). Takes `events->context` and the body of the
 * request; on failure their release functions are called before this function returns.
 * Fails: AF_EINVAL (`failure` says why), AF_EUNSUPPORTED, AF_ECLOSED, AF_ENOMEM; `*out` is then NULL. A struct
 * without its AF_…_INIT is AF_EINVAL too: nothing else in it is read, and none of its callbacks is called.
 */
AF_API af_status af_task_new(af_task **out, af_session *session, const af_request *request,
                             const af_task_events *events, af_failure *failure);

/**
 * Creates and starts a task, as af_task_new() and af_task_start().
 *
 * Thread: any.    Owns: `*out` is yours, af_task_release(); `out` may be NULL.
 * Fails: as af_task_new(); release is then the only callback.
 */
AF_API af_status af_task_begin(af_task **out, af_session *session, const af_request *request,
                               const af_task_events *events, af_failure *failure);

/**
 * Starts a task. A second call has no effect.
 *
 * Thread: any.    Owns: nothing.    Fails: never; errors are reported by on_done.
 */
AF_API void af_task_start(af_task *task);

/**
 * Suspends a task: no data is sent or received until af_task_resume(). The connection stays open and the total
 * time limit continues to count. Suspends do not nest. Over HTTP/2 a body with a MEMORY sink is still received,
 * up to its limit, because other tasks share its connection; the task completes only after it is resumed.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_suspend(af_task *task);

/**
 * Resumes a suspended task.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_resume(af_task *task);

/**
 * Cancels a task. on_done is still called, with AF_ECANCELED unless the task had already completed. A task
 * that isn't started yet completes with AF_ECANCELED when it is started. Further calls have no effect.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_cancel(af_task *task);

/**
 * Wakes a task: calls on_wake, then on_body again after AF_EAGAIN, or the reader again after AF_READ_AGAIN.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_wake(af_task *task);

/**
 * Answers a challenge for which on_challenge returns AF_CHALLENGE_LATER; may be called before on_challenge has
 * returned. `credentials` are copied with AF_CHALLENGE_USE and may be NULL otherwise.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AF_EINVAL (no challenge of that number is waiting: it was answered, or the task has completed; `answer`
 * is LATER; invalid credentials), AF_ENOMEM; the challenge is then still waiting.
 */
AF_API af_status af_task_answer_challenge(af_task *task, uint32_t number,
                                          af_challenge_answer answer,
                                          const af_credentials *credentials);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_task *af_task_retain(af_task *task);

/**
 * Releases a reference. A started task continues without references. NULL is allowed.
 *
 * Thread: any.    Owns: takes `task`.    Fails: never.
 */
AF_API void af_task_release(af_task *task);

/* ---- Results ------------------------------------------------------------------------------- */

/**
 * The metrics of one hop: each redirect, authentication round and retry is a hop. Times are in microseconds
 * since the start of the hop; -1: not reached. On a reused connection dns_us, connect_us and tls_us are 0.
 */
typedef struct af_hop {
    const char *url;      /**< URL without userinfo. */
    const char *location; /**< Target of the redirect; NULL: none. */
    int status;           /**< Status code; 0: no head was received. */
    af_http_version version;
    int64_t dns_us, connect_us, tls_us, request_sent_us, first_byte_us, total_us;
    int64_t sent, received; /**< Body bytes on the wire, before decoding. */
    int64_t head_received;  /**< Bytes of the response heads. */
    bool is_reused;         /**< The connection came from the pool. */
    bool is_retried;        /**< Sent again after its pooled connection was lost or refused it. */
    char local_address[46], remote_address[46]; /**< Empty: not connected. */
    uint16_t local_port, remote_port;
} af_hop;

/**
 * Returns the failure; its status is AF_OK if the task succeeded.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_failure *af_result_get_failure(const af_result *result);

/**
 * Returns the head of the final response, also if its body failed; NULL if there is none.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_head *af_result_get_head(const af_result *result);

/**
 * Returns the trailer fields, and their number in `*count`.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_header *af_result_get_trailers(const af_result *result, size_t *count);

/**
 * Returns the URL of the last hop, without userinfo and fragment.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const char *af_result_get_url(const af_result *result);

/**
 * Returns all hops in order, and their number in `*count`, which is 0 only if no hop was started.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_hop *af_result_get_hops(const af_result *result, size_t *count);

/**
 * Returns the number of body bytes that the sink received, after decoding.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API uint64_t af_result_get_body_size(const af_result *result);

/**
 * Returns the body that was collected in memory.
 *
 * Thread: owner.    Owns: borrowed, lives with `result` or until it is taken.    Fails: never.
 */
AF_API af_slice af_result_get_body(const af_result *result);

/** Maximum size in bytes of a body that is stored in its result, without a separate allocation. */
enum { AF_BODY_SHORT = 2048 };

/**
 * Takes the body that was collected in memory. One of more than AF_BODY_SHORT bytes isn't copied.
 *
 * Thread: owner.    Owns: yours, af_free(bytes.bytes).
 * Fails: empty if there is none, or if a short one can't be copied because memory is out; it then stays in
 * the result.
 */
AF_API af_bytes af_result_take_body(af_result *result);

/**
 * Returns the trust report of the last hop's server, also if the task failed because of it. For a reused
 * connection it is the report of its handshake.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.
 * Fails: NULL if the last hop received no certificate chain, or when out of memory.
 */
AF_API const af_trust_report *af_result_get_trust(af_result *result);

/** What happened to an existing partial file. */
typedef enum af_resumption {
    AF_RESUMPTION_NONE = 0,      /**< There was none, or it wasn't used. */
    AF_RESUMPTION_RESUMED = 1,   /**< The body was appended to it. */
    AF_RESUMPTION_RESTARTED = 2, /**< It was invalid, and the download started over. */
    AF_RESUMPTION_COMPLETE =
        3 /**< It was already complete: the response is a 416, and the task succeeded. */
} af_resumption;

/** The result of a FILE sink. */
typedef struct af_download {
    const char
        *path; /**< The destination. It exists if the task succeeded with a 2xx or COMPLETE. */
    const char *resume_token; /**< See af_result_get_resume_token(). */
    af_resumption resumption; /**< What happened to an existing partial file. */
    int64_t offset;           /**< Bytes of the partial file that were kept. */
    int64_t size;             /**< Size of the file, or of the partial file, in bytes. */
    const char *reason; /**< Why it was restarted or can't be resumed; NULL: neither. Static. */
} af_download;

/**
 * Returns the result of a FILE sink; NULL if the body wasn't written to a file.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_download *af_result_get_download(const af_result *result);

/**
 * Returns the resume token, if a partial file was kept (AF_SINK_KEEP_PARTIAL); otherwise "". It can be used
 * as af_sink.resume_token in any process; see af_resume_info_read().
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const char *af_result_get_resume_token(const af_result *result);

/**
 * Frees a result. NULL is allowed.
 *
 * Thread: any, once.    Owns: takes `result`.    Fails: never.
 */
AF_API void af_result_free(af_result *result);

AF_END_DECLS

#endif
