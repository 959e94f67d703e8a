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

AFC_BEGIN_DECLS

typedef struct afc_session afc_session;
typedef struct afc_task afc_task;
typedef struct afc_result afc_result;
typedef struct afc_multipart afc_multipart;

/* ---- The request body ---------------------------------------------------------------------- */

/** An unknown length. HTTP/1.1 then sends a body with chunked encoding. */
#define AFC_LENGTH_UNKNOWN ((int64_t)-1)

/** What a reader returns instead of a number of bytes. */
enum {
    AFC_READ_END = 0,    /**< The body is complete. */
    AFC_READ_AGAIN = -1, /**< No data now; call afc_task_wake() when there is some. */
    AFC_READ_FAILED = -2 /**< Error: the task fails with AFC_ESOURCE. */
};

/** A callback that provides a body piece by piece. All functions are called on the loop thread. */
typedef struct afc_reader {
    void *context; /**< Passed to the functions. */
    /** Writes at most `size` bytes to `buffer`. Returns their number or AFC_READ_…. Must not block. */
    ptrdiff_t (*read)(void *context, void *buffer, size_t size);
    /** Returns to the first byte; true on success. NULL: the body can be read only once. */
    bool (*rewind)(void *context);
    /** Called once, last, in every case. May be NULL. */
    void (*release)(void *context);
} afc_reader;

/** The kind of a request body. */
typedef enum afc_body_kind {
    AFC_BODY_NONE = 0,
    AFC_BODY_BYTES = 1,
    AFC_BODY_FILE = 2,
    AFC_BODY_READER = 3,
    AFC_BODY_MULTIPART = 4,
    AFC_BODY_FD = 5
} afc_body_kind;

/** A request body. Zero-initialised: no body. */
typedef struct afc_body {
    afc_body_kind kind; /**< Selects which of the fields below are used. */
    /**
     * FD: a pipe, socket or file to read from, until `length` bytes or its end. The loop waits for its input.
     * Duplicated by afc_task_new(), so that it can be closed then; nobody else should read from it meanwhile.
     */
    int descriptor;
    /** BYTES: copied, or, if `release` is not NULL, borrowed until release(context) is called. */
    afc_slice bytes;
    void (*release)(void *context);
    void *context;
    /** FILE: path of a regular file, opened when the request is sent. Its size must not change after that. */
    const char *path;
    /** READER and FD: `length` in bytes or AFC_LENGTH_UNKNOWN. Any other number of bytes is AFC_ESOURCE. */
    afc_reader reader;
    int64_t length;
    /** MULTIPART: taken. Its Content-Type is sent unless the request sets or removes that field. */
    afc_multipart *form;
    uint64_t reserved[3]; /**< 0. */
} afc_body;

/* ---- The sink of the response body --------------------------------------------------------- */

/** Where the response body goes. */
typedef enum afc_sink_kind {
    AFC_SINK_MEMORY = 0, /**< Collected in memory; see afc_result_take_body(). */
    AFC_SINK_FILE = 1, /**< Written to the file `path`, which is created when the task succeeds. */
    AFC_SINK_CALLBACK = 2 /**< Passed to on_body piece by piece. */
} afc_sink_kind;

/** How a file is written: bits of afc_sink.flags. */
enum {
    /**
     * If the task fails or is cancelled, keep the bytes received so far, provided the response had a strong
     * validator (RFC 9110 8.8.1): in PATH.part, with a resume token in PATH.part.resume. Both survive the end
     * of the process at any time. GET without a body only.
     */
    AFC_FILE_KEEP_PARTIAL = 1u << 0,
    /**
     * Resume PATH.part if it was created for this URL: sends Range and If-Range (RFC 9110 section 14 and
     * 13.1.5), and appends the response if it is the same version of the file; otherwise starts over.
     */
    AFC_FILE_RESUME = 1u << 1,
    /** Sync the file and its folder to the disk before the task succeeds. */
    AFC_FILE_SYNC = 1u << 2,
    /** Fail with AFC_EFILE and EEXIST if the file exists. */
    AFC_FILE_NO_REPLACE = 1u << 3,
    /** Create missing folders. */
    AFC_FILE_MAKE_FOLDERS = 1u << 4,
    /**
     * If PATH is a symbolic link, replace its target and keep the link. PATH.part is then next to the target,
     * which need not exist. Without this flag the link itself is replaced.
     */
    AFC_FILE_FOLLOW_LINKS = 1u << 5,
    /** Give the new file the permissions of the one it replaces, without set-user-ID, set-group-ID and sticky. */
    AFC_FILE_KEEP_MODE = 1u << 6
};

/**
 * The sink: where the body of the final response goes.
 *
 * A FILE sink receives the body of a 2xx response only. The body of any other status is collected in memory,
 * at most 1 MiB of it. When the task succeeds, the file atomically replaces an existing one; otherwise that
 * one remains unchanged. Until then the file has no name (O_TMPFILE), or is PATH.RANDOM.part if the file
 * system doesn't support that. Character devices such as /dev/null are written to directly; other special
 * files are refused. A 206 that the request didn't ask for by a Range header is AFC_EPROTOCOL for a FILE sink;
 * other sinks receive its body.
 *
 * With AFC_FILE_KEEP_PARTIAL or AFC_FILE_RESUME:
 * - The body is written to PATH.part. A second task with the same PATH.part fails with AFC_EFILE and EBUSY. A
 *   PATH.part that belongs to another URL is replaced.
 * - The request is sent with Accept-Encoding: identity. Its headers must not include Range or If-Range.
 * - If the disk has no room for the announced length, the task fails at once; no space is reserved.
 * - Repr-Digest (RFC 9530: sha-256, sha-512) and Content-MD5 are verified. A mismatch is AFC_EPROTOCOL, and the
 *   partial file is removed.
 * - A 404 or 410 removes the partial file; any other status except 2xx keeps it.
 */
typedef struct afc_sink {
    afc_sink_kind kind; /**< Default: AFC_SINK_MEMORY. */
    const char *path;   /**< For FILE. May be NULL if on_head sets it. */
    unsigned flags;     /**< AFC_SINK_… bits; also the default for a path that on_head sets. */
    const char *resume_token; /**< For RESUME: a token; NULL: the one in PATH.part.resume. */
    uint64_t reserved[4];     /**< 0. */
} afc_sink;

/* ---- Limits -------------------------------------------------------------------------------- */

/** Time limits in milliseconds; 0: none. If one is reached, the task fails with AFC_ETIMEOUT. */
typedef struct afc_timeouts {
    /** Establishing a connection (DNS, TCP, TLS), for each hop. Default: 30000. */
    uint32_t connect_ms;
    /** Time without any bytes in either direction. Paused while the task is suspended, waits for a free
        connection, or after a callback returned AFC_EAGAIN or AFC_READ_AGAIN. Default: 60000. */
    uint32_t idle_ms;
    /** The whole task from its start: waiting for a connection, every hop, every retry. Default: none. */
    uint32_t total_ms;
    uint32_t reserved[3]; /**< 0. */
} afc_timeouts;

#define AFC_TIMEOUTS_INIT                                                                          \
    {                                                                                              \
        30000, 60000, 0, {                                                                         \
            0                                                                                      \
        }                                                                                          \
    }

/** Size limits. A task that exceeds one fails at once with AFC_ETOOBIG. 0: the default given here. */
typedef struct afc_limits {
    uint64_t
        body_bytes; /**< Decoded bytes. Default: 64 MiB for MEMORY, none for FILE and CALLBACK. */
    uint32_t
        head_bytes; /**< Bytes of a hop's heads and trailers, 1xx included. Default: 256 KiB. */
    uint32_t head_count;    /**< Fields of a hop's heads and trailers. Default: 512. */
    uint32_t informational; /**< 1xx responses of a hop. Default: 16. */
    uint32_t
        decoding_ratio; /**< Decoded to received bytes, after the first decoded MiB. Default: 250. */
    int32_t
        redirects; /**< Redirects followed. Default: 20. Negative: none, a 3xx is the response. */
    uint32_t reserved[3]; /**< 0. */
} afc_limits;

#define AFC_LIMITS_INIT                                                                            \
    {                                                                                              \
        0, 0, 0, 0, 0, 0, {                                                                        \
            0                                                                                      \
        }                                                                                          \
    }

/** Which HTTP version to use (CURLOPT_HTTP_VERSION). */
typedef enum afc_http_version_preference {
    AFC_HTTP_PREFER_AUTOMATIC = 0, /**< https: HTTP/2 or HTTP/1.1 by ALPN; http: HTTP/1.1. */
    AFC_HTTP_PREFER_1_1 = 1,       /**< HTTP/1.1 only. */
    AFC_HTTP_PREFER_2 = 2,         /**< As AUTOMATIC, without an upgrade over http. */
    AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE = 3, /**< HTTP/2 from the first byte, also over http. */
    AFC_HTTP_PREFER_3 = 4                  /**< AFC_EUNSUPPORTED if libcurl has no HTTP/3. */
} afc_http_version_preference;

/**
 * Whether to send "Expect: 100-continue" over HTTP/1.1 and wait for the server before sending a body (RFC 9110
 * 10.1.1). If the server sends a final response first, the body is not sent. After a 417 the request is sent
 * once more without the field. Without any response, the body is sent after the wait. A request that sets
 * the field itself is treated as ALWAYS.
 */
typedef enum afc_expect {
    AFC_EXPECT_AUTOMATIC = 0, /**< For bodies over 1 MiB or of unknown length; waits 200 ms. */
    AFC_EXPECT_ALWAYS = 1,    /**< For every body that isn't empty; waits 1 s. */
    AFC_EXPECT_NEVER = 2      /**< Sends every body at once. */
} afc_expect;

/* ---- The request --------------------------------------------------------------------------- */

/**
 * A request. Start from AFC_REQUEST_INIT. afc_task_new() copies everything except a borrowed body, a reader
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
typedef struct afc_request {
    size_t size;               /**< sizeof(afc_request). */
    const char *method;        /**< Any token (RFC 9110 9.1), sent unchanged. Default: GET. */
    const char *url;           /**< Required. */
    const afc_header *headers; /**< At most 900 KiB in total; more is AFC_ETOOBIG. */
    size_t header_count;
    afc_body body;
    afc_sink sink;
    afc_timeouts timeouts;
    afc_limits limits;
    afc_http_version_preference version;
    bool keep_encoding;   /**< Send Accept-Encoding: identity, and don't decode the body. */
    bool allow_downgrade; /**< Follow redirects from https to http. */
    /** 1 to 255; 0: the default, 16. Tasks that wait for a host start highest first. Also the HTTP/2 weight. */
    uint8_t priority;
    uint32_t progress_ms; /**< Minimum time between on_progress calls; 0: the default, 100 ms. */
    /**
     * Maximum body bytes per second, averaged over the transfer; 0: no limit. Received bytes are counted
     * before decoding. Waiting for the rate doesn't count as idle.
     */
    uint64_t max_send_bytes_per_s, max_receive_bytes_per_s;
    afc_expect expect; /**< Default: AFC_EXPECT_AUTOMATIC. */
    /**
     * Waits instead of failing when there is no route to the host, or when its name can't be resolved and
     * there is no route to the internet; tries again when there is a route (reachability.h).
     * timeouts.total_ms continues to count, and cancelling ends the wait. Each attempt is a hop.
     */
    bool wait_for_network;
    /**
     * Proxy for all hops of this request, in the format of afc_proxies. "": none. NULL: the session's.
     * Connections through a per-request proxy are never reused.
     */
    const char *proxy;
    /**
     * Unix-domain socket for all hops of this request, whatever the hosts of their URLs: a path, or "@" and a
     * name in the abstract namespace; at most 107 bytes. "": none. NULL: the session's (afc_network_options).
     * Proxies are not used; setting `proxy` too is AFC_EINVAL. Connections are reused for the same socket only.
     */
    const char *unix_socket;
    /**
     * Credentials for the URL's origin: answers to 401 responses, or sent with the first request
     * (`send_preemptively`). If they have neither user nor token, user and password of the URL are used. If this
     * is NULL, those of the URL are sent as Basic with the first request. An Authorization field of the
     * request is sent until a challenge is answered.
     */
    const afc_credentials *credentials;
    bool ignore_cookies; /**< Don't send cookies of the session's jar, and don't store any. */
    /** URL of the top-level document, for AFC_COOKIES_MAIN_DOCUMENT; NULL: the request's URL. */
    const char *main_document_url;
    /**
     * Credentials for 407 responses of the first HTTP proxy that the request uses, and no other one; they
     * replace user and password of the proxy's URL. Connections made with them serve this task only.
     */
    const afc_credentials *proxy_credentials;
} afc_request;

#define AFC_REQUEST_INIT                                                                           \
    {                                                                                              \
        sizeof(afc_request), "GET", NULL, NULL,                                                    \
            0, {AFC_BODY_NONE, 0,  {NULL, 0}, NULL, NULL, NULL, {NULL, NULL, NULL, NULL}, 0,       \
                NULL,          {0}},                                                               \
            {AFC_SINK_MEMORY, NULL, 0, NULL, {0}}, AFC_TIMEOUTS_INIT, AFC_LIMITS_INIT,             \
            AFC_HTTP_PREFER_AUTOMATIC, false, false, 0, 0, 0, 0, AFC_EXPECT_AUTOMATIC, false,      \
            NULL, NULL, NULL, false, NULL, NULL                                                    \
    }

/* ---- Callbacks ----------------------------------------------------------------------------- */

/** Body bytes so far. Totals are AFC_LENGTH_UNKNOWN until known. `received` is counted before decoding. */
typedef struct afc_progress {
    int64_t sent, sent_total;
    int64_t received, received_total;
    /** Of a resumed download: bytes of the partial file, not included in `received` and `received_total`. */
    int64_t offset;
} afc_progress;

/** The decision of on_redirect. */
typedef enum afc_redirect_decision {
    AFC_REDIRECT_FOLLOW = 0, /**< Follow it with the proposed request, which may be edited. */
    AFC_REDIRECT_STOP = 1,   /**< Don't follow it: the 3xx is the response, with its body. */
    AFC_REDIRECT_FAIL = 2    /**< End the task with AFC_EREDIRECT. */
} afc_redirect_decision;

/**
 * A redirect that is about to be followed. The proposed request lacks the fields that must not be sent to
 * another origin. To edit it, set `url`, `method` or `headers` to other values. They are read immediately
 * after the callback returns and must be valid until then; they are checked like those of a request.
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
    const char *path;     /**< Editable. NULL: the request's sink is used. */
    /** AFC_SINK_… bits for `path`. Editable; default: the request's. RESUME has no effect here. */
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
 * Callbacks of a task. Each may be NULL. All are called on the loop thread, never inside an afc_task_ function.
 * They may call any function of this library, including afc_task_cancel() and afc_session_release(). They
 * must not block, because all tasks of the session wait for them.
 *
 * Order: (on_informational* (on_redirect | on_challenge? on_challenge_accepted?))* on_head? on_body* on_done release,
 * with on_progress, on_trace and on_wake anywhere before on_done.
 */
typedef struct afc_task_events {
    size_t size;   /**< sizeof(afc_task_events). */
    void *context; /**< Passed to the callbacks. */
    /** A redirect is about to be followed. NULL: AFC_REDIRECT_FOLLOW. */
    afc_redirect_decision (*on_redirect)(void *context, afc_redirect *redirect);
    /** A 1xx response was received. */
    void (*on_informational)(void *context, const afc_head *head);
    /**
     * The head of the final response was received. Not called for a 1xx, a followed redirect, an answered
     * challenge or a response that a resumed download can't use. Return AFC_OK to receive the body. Any other
     * status ends the task with it (AFC_ECANCELED for an unwanted response): the result has the head but no
     * body, and the transfer is stopped, over HTTP/1.1 by closing the connection.
     */
    afc_status (*on_head)(void *context, afc_response *response);
    /**
     * For a CALLBACK sink: part of the body. Return AFC_OK if it was consumed. Return AFC_EAGAIN to pause: nothing
     * more is read until afc_task_wake(), then the same bytes are passed again. Any other status ends the task
     * with it.
     */
    afc_status (*on_body)(void *context, afc_slice chunk);
    /** Called at most every progress_ms, and once with the final numbers before on_done. */
    void (*on_progress)(void *context, const afc_progress *progress);
    /**
     * Called exactly once for each started task. The callback owns `result`: free it with afc_result_free(), on
     * any thread. If on_done is NULL, the result is freed.
     */
    void (*on_done)(void *context, afc_result *result);
    /** Called exactly once, last: on the loop thread, or in afc_task_release() if the task was never started. */
    void (*release)(void *context);
    /**
     * An afc_task_wake() has reached the loop; paused reads and on_body calls follow. One on_wake may stand for
     * several calls. If afc_task_wake() is called inside on_body, on_wake follows after all data that can be
     * read without waiting, up to a few MiB.
     */
    void (*on_wake)(void *context);
    /**
     * A 401 or 407 with a supported scheme was received, also after credentials that were sent preemptively.
     * `credentials` initially holds the proposed ones or AFC_CREDENTIALS_INIT; with USE it is copied after the
     * callback returns. With LATER the task waits, and its total time limit continues to count. Called at
     * most ten times for servers and ten times for proxies. NULL: AFC_CHALLENGE_DEFAULT.
     */
    afc_challenge_decision (*on_challenge)(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials);
    /**
     * A challenge was accepted: the request is sent again with the credentials `proposed` and the scheme
     * `scheme`. Called after on_challenge, or, if that is NULL, for credentials of the request or of the
     * proxy's URL; also for a stale Digest nonce. Not called for the further rounds of NTLM and Negotiate.
     */
    void (*on_challenge_accepted)(void *context, const afc_challenge *challenge);
    /**
     * Reports what is sent and received, at any time before on_done. `trace` is valid until the callback
     * returns. NULL costs nothing; otherwise libcurl reports each line (CURLOPT_DEBUGFUNCTION), which is
     * copied once.
     */
    void (*on_trace)(void *context, const afc_trace *trace);
} afc_task_events;

#define AFC_TASK_EVENTS_INIT                                                                       \
    {                                                                                              \
        sizeof(afc_task_events), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL                                                                                   \
    }

/* ---- Tasks --------------------------------------------------------------------------------- */

/**
 * Creates a task. It does nothing before afc_task_start(). `failure` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, afc_task_release(). Takes `events->context` and the body of the
 * request; on failure their release functions are called before this function returns.
 * Fails: AFC_EINVAL (`failure` says why), AFC_EUNSUPPORTED, AFC_ECLOSED, AFC_ENOMEM; `*out` is then NULL. A struct
 * without its AFC_…_INIT is AFC_EINVAL too: nothing else in it is read, and none of its callbacks is called.
 */
AFC_API afc_status afc_task_new(afc_task **out, afc_session *session, const afc_request *request,
                                const afc_task_events *events, afc_failure *failure);

/**
 * Creates and starts a task, as afc_task_new() and afc_task_start().
 *
 * Thread: any.    Owns: `*out` is yours, afc_task_release(); `out` may be NULL.
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
 * Cancels a task. on_done is still called, with AFC_ECANCELED unless the task had already completed. A task
 * that isn't started yet completes with AFC_ECANCELED when it is started. Further calls have no effect.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_task_cancel(afc_task *task);

/**
 * Wakes a task: calls on_wake, then on_body again after AFC_EAGAIN, or the reader again after AFC_READ_AGAIN.
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

/* ---- Results ------------------------------------------------------------------------------- */

/**
 * The metrics of one hop: each redirect, authentication round and retry is a hop. Times are in microseconds
 * since the start of the hop; -1: not reached. On a reused connection dns_us, connect_us and tls_us are 0.
 */
typedef struct afc_hop {
    const char *url;      /**< URL without userinfo. */
    const char *location; /**< Target of the redirect; NULL: none. */
    int status;           /**< Status code; 0: no head was received. */
    afc_http_version version;
    int64_t dns_us, connect_us, tls_us, request_sent_us, first_byte_us, total_us;
    int64_t sent, received; /**< Body bytes on the wire, before decoding. */
    int64_t head_received;  /**< Bytes of the response heads. */
    bool is_reused;         /**< The connection came from the pool. */
    bool is_retried;        /**< Sent again after its pooled connection was lost or refused it. */
    char local_address[46], remote_address[46]; /**< Empty: not connected. */
    uint16_t local_port, remote_port;
    uint64_t reserved[2]; /**< 0. */
} afc_hop;

/**
 * Returns the failure; its status is AFC_OK if the task succeeded.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_failure *afc_result_get_failure(const afc_result *result);

/**
 * Returns the head of the final response, also if its body failed; NULL if there is none.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_head *afc_result_get_head(const afc_result *result);

/**
 * Returns the trailer fields, and their number in `*count`.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_header *afc_result_get_trailers(const afc_result *result, size_t *count);

/**
 * Returns the URL of the last hop, without userinfo and fragment.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const char *afc_result_get_url(const afc_result *result);

/**
 * Returns all hops in order, and their number in `*count`, which is 0 only if no hop was started.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_hop *afc_result_get_hops(const afc_result *result, size_t *count);

/**
 * Returns the number of body bytes that the sink received, after decoding.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_result_get_body_size(const afc_result *result);

/**
 * Returns the body that was collected in memory.
 *
 * Thread: owner.    Owns: borrowed, lives with `result` or until it is taken.    Fails: never.
 */
AFC_API afc_slice afc_result_get_body(const afc_result *result);

/** Maximum size in bytes of a body that is stored in its result, without a separate allocation. */
enum { AFC_BODY_SHORT = 2048 };

/**
 * Takes the body that was collected in memory. One of more than AFC_BODY_SHORT bytes isn't copied.
 *
 * Thread: owner.    Owns: yours, afc_free(bytes.bytes).
 * Fails: empty if there is none, or if a short one can't be copied because memory is out; it then stays in
 * the result.
 */
AFC_API afc_bytes afc_result_take_body(afc_result *result);

/**
 * Returns the trust report of the last hop's server, also if the task failed because of it. For a reused
 * connection it is the report of its handshake.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.
 * Fails: NULL if the last hop received no certificate chain, or when out of memory.
 */
AFC_API const afc_trust_report *afc_result_get_trust(afc_result *result);

/** What happened to an existing partial file. */
typedef enum afc_resumption {
    AFC_RESUMPTION_NONE = 0,      /**< There was none, or it wasn't used. */
    AFC_RESUMPTION_RESUMED = 1,   /**< The body was appended to it. */
    AFC_RESUMPTION_RESTARTED = 2, /**< It was invalid, and the download started over. */
    AFC_RESUMPTION_COMPLETE =
        3 /**< It was already complete: the response is a 416, and the task succeeded. */
} afc_resumption;

/** The result of a FILE sink. */
typedef struct afc_download {
    const char
        *path; /**< The destination. It exists if the task succeeded with a 2xx or COMPLETE. */
    const char *resume_token;  /**< See afc_result_get_resume_token(). */
    afc_resumption resumption; /**< What happened to an existing partial file. */
    int64_t offset;            /**< Bytes of the partial file that were kept. */
    int64_t size;              /**< Size of the file, or of the partial file, in bytes. */
    const char *reason; /**< Why it was restarted or can't be resumed; NULL: neither. Static. */
} afc_download;

/**
 * Returns the result of a FILE sink; NULL if the body wasn't written to a file.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_download *afc_result_get_download(const afc_result *result);

/**
 * Returns the resume token, if a partial file was kept (AFC_FILE_KEEP_PARTIAL); otherwise "". It can be used
 * as afc_sink.resume_token in any process; see afc_resume_info_read().
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const char *afc_result_get_resume_token(const afc_result *result);

/**
 * Frees a result. NULL is allowed.
 *
 * Thread: any, once.    Owns: takes `result`.    Fails: never.
 */
AFC_API void afc_result_free(afc_result *result);

AFC_END_DECLS

#endif
