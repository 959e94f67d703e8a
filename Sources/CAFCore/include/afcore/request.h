/**
 * Requests: the method, the URL and the fields, the body, the sink for the response body, and the limits.
 */
#ifndef AFCORE_REQUEST_H
#define AFCORE_REQUEST_H

#include <afcore/auth.h>
#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/http_cache.h>
#include <afcore/message.h>

AFC_BEGIN_DECLS

/** A form; see multipart.h. */
typedef struct afc_multipart afc_multipart;

/* ---- The request body ---------------------------------------------------------------------- */

#ifdef __cplusplus
/* With the type that a reader returns: C++ compilers warn about `count > 0 ? count : AFC_READ_END` for enumerators. */
static const ptrdiff_t AFC_READ_END = 0;
static const ptrdiff_t AFC_READ_AGAIN = -1;
static const ptrdiff_t AFC_READ_FAILED = -2;
#else
/** Return values of a reader other than a number of bytes. */
enum {
    AFC_READ_END = 0,    /**< The body is complete. */
    AFC_READ_AGAIN = -1, /**< No data now: call afc_task_wake() when there is some. */
    AFC_READ_FAILED = -2 /**< Error: the task fails with AFC_ESOURCE. */
};
#endif

/** A callback that provides a body piece by piece. All functions are called on the loop thread. */
typedef struct afc_reader {
    void *context; /**< Passed to the functions. */
    /** Writes at most `size` bytes to `buffer`. Returns their number or AFC_READ_…. Must not block. */
    ptrdiff_t (*read)(void *context, void *buffer, size_t size);
    /**
     * Returns to the first byte, because the body is sent again. Returns false if that fails. Not called if `read` has
     * only returned AFC_READ_AGAIN so far. NULL means that the body can be read only once.
     */
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

/**
 * A request body. If all is 0, there is no body. Setting bytes, path, reader or form without `kind` fails with
 * AFC_EINVAL.
 */
typedef struct afc_body {
    afc_body_kind kind; /**< Selects which of the fields below are used. */
    /**
     * FD: a pipe, socket or file. `length` bytes are read from it, or all until its end; nothing after them is read.
     * AFC_EINVAL if it isn't open for reading. The loop waits for its input without blocking other tasks.
     * afc_task_new() duplicates the descriptor, so the caller may close it afterwards. Don't read from it while the
     * task runs.
     */
    int descriptor;
    /** BYTES: copied, or, if `release` is not NULL, borrowed until release(context) is called. */
    afc_slice bytes;
    void (*release)(void *context);
    void *context;
    /**
     * FILE: path of a regular file, opened when the request is sent. Its size must not change after that: if it has
     * become shorter, the task fails with AFC_EFILE; bytes that were added aren't sent. A file that has bytes although
     * its size is reported as 0, as in /proc, is sent to its end, as a body of unknown length.
     */
    const char *path;
    /**
     * READER and FD: `length` in bytes, or AFC_LENGTH_UNKNOWN. With fewer bytes, the task fails with AFC_ESOURCE. So it
     * does if a READER has more bytes: it is called for one more byte before the last ones are sent, where
     * AFC_READ_AGAIN counts as the end, too. `length` must be set. With 0, the default, FD is AFC_EINVAL; a READER is
     * called before anything is sent, and the task fails with AFC_ESOURCE unless the READER is at its end.
     */
    afc_reader reader;
    int64_t length;
    /**
     * MULTIPART: the form, which the task takes. Its Content-Type is sent unless the request sets or removes that
     * field.
     */
    afc_multipart *form;
    uint64_t reserved[3]; /**< 0. */
} afc_body;

/** No body. */
#define AFC_BODY_INIT                                                                              \
    {                                                                                              \
        AFC_BODY_NONE, 0, {NULL, 0}, NULL, NULL, NULL, {NULL, NULL, NULL, NULL}, 0, NULL, {        \
            0                                                                                      \
        }                                                                                          \
    }

/* ---- The sink of the response body --------------------------------------------------------- */

/** The destination of the response body. */
typedef enum afc_sink_kind {
    AFC_SINK_MEMORY = 0, /**< Collected in memory; see afc_result_take_body(). */
    AFC_SINK_FILE = 1, /**< Written to the file `path`, which is created when the task succeeds. */
    AFC_SINK_CALLBACK = 2, /**< Passed to on_body piece by piece; AFC_EINVAL without on_body. */
    AFC_SINK_FD = 3        /**< Written to a pipe, socket, terminal or file: `descriptor`. */
} afc_sink_kind;

/** How a file is written: bits of afc_sink.flags. */
enum {
    /**
     * If the task fails or is cancelled, keep the bytes received so far, provided the response had a strong
     * validator (RFC 9110 8.8.1): in PATH.part, with a resume token in PATH.part.resume. Both survive the end
     * of the process at any time. For a GET without a body; with another method or a body, this flag and
     * AFC_FILE_RESUME are ignored. After AFC_ETOOBIG nothing is kept.
     */
    AFC_FILE_KEEP_PARTIAL = 1u << 0,
    /**
     * Resume PATH.part if it was created for this URL: sends Range and If-Range (RFC 9110 section 14 and
     * 13.1.5), and appends the response if it is the same version of the file; otherwise starts over. Includes
     * AFC_FILE_KEEP_PARTIAL.
     */
    AFC_FILE_RESUME = 1u << 1,
    /** Sync the file and its folder to the disk before the task succeeds. */
    AFC_FILE_SYNC = 1u << 2,
    /**
     * Fail with AFC_EFILE and EEXIST if the file exists; for a path that on_head has set, also if there is a PATH.part
     * or token of another download.
     */
    AFC_FILE_NO_REPLACE = 1u << 3,
    /** Create missing folders. */
    AFC_FILE_MAKE_FOLDERS = 1u << 4,
    /**
     * If PATH is a symbolic link, replace its target, which need not exist, and keep the link. PATH.part is then next
     * to the target. A mount point, which can't be replaced, is overwritten at the end: a failure or a cancellation
     * meanwhile leaves it with the beginning of the new content only. Without this flag, a link itself is replaced, and
     * a mount point fails with EBUSY.
     */
    AFC_FILE_FOLLOW_LINKS = 1u << 5,
    /**
     * Give the new file the permissions of the file that it replaces, without set-user-ID, set-group-ID and sticky, and
     * the owner and group if the process may set them. Without this flag, it has those of any new file.
     */
    AFC_FILE_KEEP_MODE = 1u << 6
};

/** The maximum number of bytes that are kept in memory of a body that a FILE sink doesn't save. */
#define AFC_ERROR_BODY_LIMIT (1024u * 1024u)

/**
 * The sink: the destination of the final response's body.
 *
 * A FILE sink receives the body of a 2xx response only. A 2xx without a body, such as a 204, creates an empty file,
 * unless on_head refuses it; HEAD leaves the file unchanged. The body of any other status is collected in memory, at
 * most AFC_ERROR_BODY_LIMIT bytes (1 MiB) of it. When the task succeeds, the file atomically replaces an existing one;
 * otherwise that one remains unchanged. Until then the file has no name (O_TMPFILE), or is PATH.RANDOM.part if the file
 * system doesn't support that. Character devices such as /dev/null are written to directly; other special files are
 * refused. A 206 to a request without a Range header fails with AFC_EPROTOCOL for a FILE sink; other sinks receive its
 * body. A relative path is resolved each time that the file is used: a program that changes its current directory
 * meanwhile (chdir(), daemon()) must pass an absolute one.
 *
 * With AFC_FILE_KEEP_PARTIAL or AFC_FILE_RESUME:
 * - The body is written to PATH.part. A second task with the same PATH.part fails with AFC_EFILE and EBUSY. A PATH.part
 *   of another URL is replaced. A file PATH.part.resume that isn't a token is replaced only by a token.
 * - The request is sent with Accept-Encoding: identity. Its headers must not include Range or If-Range.
 * - If the disk has no space for the announced length, the task fails at once; no space is reserved.
 * - Repr-Digest (RFC 9530: sha-256, sha-512) and Content-MD5 are verified, unless `digest` is set. A mismatch is
 *   AFC_EPROTOCOL, and the partial file is removed.
 * - When a download is resumed, a 200 or 203 starts it over, and a 404 or 410 removes the partial file. Any other
 *   status except 206 and 416 keeps the partial file; another 2xx, which doesn't contain the file, fails the task with
 *   AFC_EPROTOCOL.
 *
 * An FD sink receives the body of any status, from the position of the descriptor on. While its reader is slow,
 * receiving pauses, and the idle time limit doesn't count. The loop never blocks on the reader, whether or not the
 * descriptor is non-blocking, and the descriptor's flags aren't changed. Devices other than terminals, such as
 * /dev/null, are assumed never to block, unless the descriptor is non-blocking. The task succeeds when everything is
 * written. If the reader closes its end, the task fails with AFC_EFILE and EPIPE, without a SIGPIPE. After a failure of
 * the transfer, all bytes that were received are written before the task completes; after a cancel, a time limit or a
 * failed write, perhaps only the first of them. Regular files are written like those of a FILE sink.
 */
typedef struct afc_sink {
    afc_sink_kind kind; /**< Default: AFC_SINK_MEMORY. */
    const char *path;   /**< For FILE, else AFC_EINVAL. May be NULL if on_head sets it. */
    unsigned flags;     /**< AFC_FILE_… bits; also the default for a path that on_head sets. */
    /**
     * For FD: a descriptor that is open for writing; `flags` must be 0. afc_task_new() duplicates it, so the caller may
     * close it afterwards; the duplicate is closed before on_done. A reader sees the end of a pipe when both are
     * closed.
     */
    int descriptor;
    const char *resume_token; /**< For RESUME: a token; NULL means the one in PATH.part.resume. */
    /**
     * For FILE, else AFC_EINVAL: the digest that the whole file must have, "sha-256=BASE64" or "sha-512=BASE64"; NULL
     * if there is none. It is verified before the file gets its name, with any flags, and instead of a digest that the
     * server declares. A mismatch fails with AFC_EPROTOCOL, and neither the file, nor a partial file, nor the response
     * in the HTTP cache is kept.
     */
    const char *digest;
    uint64_t reserved[3]; /**< 0. */
} afc_sink;

/** Into memory. */
#define AFC_SINK_INIT                                                                              \
    {                                                                                              \
        AFC_SINK_MEMORY, NULL, 0, 0, NULL, NULL, {                                                 \
            0                                                                                      \
        }                                                                                          \
    }

/* ---- Limits -------------------------------------------------------------------------------- */

/** Time limits in milliseconds; 0 means no limit. If one is reached, the task fails with AFC_ETIMEOUT. */
typedef struct afc_timeouts {
    /** Establishing a connection (DNS, TCP, TLS), for each hop. Default: 30000. */
    uint32_t connect_ms;
    /** Time without any bytes in either direction. Paused while the task is suspended, waits for a free
        connection, or after a callback returned AFC_EAGAIN or AFC_READ_AGAIN. Default: 60000. */
    uint32_t idle_ms;
    /** The whole task from its start: waiting for a connection, every hop, every retry. Default: no limit. */
    uint32_t total_ms;
    uint32_t reserved[3]; /**< 0. */
} afc_timeouts;

#define AFC_TIMEOUTS_INIT                                                                          \
    {                                                                                              \
        30000, 60000, 0, {                                                                         \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Limits of sizes and numbers. A task that exceeds one fails at once with AFC_ETOOBIG; for `redirects`, with
 * AFC_EREDIRECT. 0 means the default given here.
 */
typedef struct afc_limits {
    /** Bytes of the body, after decoding. Default: afc_request.memory_limit for MEMORY, no limit for other sinks. */
    uint64_t body_bytes;
    /** Bytes of a hop's heads and trailers, 1xx included. Default: 256 KiB. */
    uint32_t head_bytes;
    /**
     * Fields of a hop's heads and trailers; before libcurl 8.18, continuation lines (obs-fold, RFC 9112 5.2) count,
     * too. Default: 512.
     */
    uint32_t head_count;
    uint32_t informational; /**< 1xx responses of a hop. Default: 16. */
    /** Ratio of decoded to received bytes, checked after the first decoded MiB. Default: 250. */
    uint32_t decoding_ratio;
    /** Redirects that are followed. Default: 20. Negative means none: a 3xx is the response. */
    int32_t redirects;
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
    AFC_HTTP_PREFER_2 = 2,         /**< The same as AUTOMATIC. */
    /**
     * HTTP/2 from the first byte, also over http. Over http with libcurl before 8.7.0, use it for trusted servers only:
     * while a server sends frames without content and without a pause, all tasks of the session wait, and so do their
     * time limits and cancellations.
     */
    AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE = 3,
    AFC_HTTP_PREFER_3 = 4 /**< AFC_EUNSUPPORTED if libcurl has no HTTP/3. */
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

/** Bits of afc_request.flags. */
enum {
    /**
     * Only connect: resolve the name, connect, and complete the TLS handshake, through a proxy if there is one. No
     * request is sent; the task succeeds without a head, and the connection waits in the pool for the next request. If
     * a suitable connection is already idle, no other one is made. The request must have no body and a MEMORY sink.
     * Over TLS 1.3, session tickets can make the connection useless, because they can't be distinguished from
     * unexpected data: with HTTP/1.1 always, with HTTP/2 until the server's settings have arrived. The next request
     * then uses a new connection. It always does over TLS with libcurl 8.12 to 8.15.
     */
    AFC_REQUEST_CONNECT_ONLY = 1u << 0,
    /**
     * If another task of the session is receiving a response of the same URL that may be stored in the HTTP cache, wait
     * for it and use it if it fits. Of many such tasks, only one sends its request to the server. A waiting task with
     * AFC_HTTP_CACHE_REVALIDATE uses the response if the other task has received or validated it meanwhile; one with
     * AFC_HTTP_CACHE_RELOAD, if the other task has received it. The wait lasts until the other task has completed, also
     * while its reader pauses it, or until timeouts.total_ms of the waiting task. If the other task is cancelled or
     * reaches a limit of its own, one of the waiting tasks takes its place.
     */
    AFC_REQUEST_COLLAPSE = 1u << 1,
    /**
     * Send the cookies of the session's jar together with those of the request's Cookie fields, as one field (RFC 6265
     * 5.4): first the request's, then those of the jar whose names aren't among them. The jar's cookies are chosen
     * again for each hop. Without this flag, the request's fields replace the jar's cookies. A redirect to another
     * origin drops the request's fields in any case.
     */
    AFC_REQUEST_MERGE_COOKIES = 1u << 2
};

/* ---- The request --------------------------------------------------------------------------- */

/**
 * A request. Start from AFC_REQUEST_INIT. afc_task_new() copies everything except a borrowed body, a reader
 * and a form, which it takes, also on failure.
 *
 * Default headers, sent unless the request sets or removes them: Host, Accept: *\/\*, Accept-Encoding (see
 * `keep_encoding`), the session's User-Agent. Content-Length and Transfer-Encoding are derived from the body
 * and refused as headers. Proxy-Authorization is sent to an HTTP proxy that forwards the request, and never to
 * a server, be it reached directly, through a tunnel or through SOCKS: use `proxy_credentials`.
 *
 * `url` is http or https. In its path and query, spaces, octets above 127 and "<>\^`{|} are percent-encoded.
 * Control characters are refused. The fragment is not sent. IP addresses are normalised: `127.1` and
 * `0x7f.0.0.1` are sent as 127.0.0.1.
 */
typedef struct afc_request {
    size_t size; /**< sizeof(afc_request). */
    /**
     * Any token (RFC 9110 9.1) except CONNECT, which is AFC_EINVAL: tunnels through proxies are opened automatically.
     * Sent unchanged. NULL means GET, the default.
     */
    const char *method;
    const char *url;           /**< Required. */
    const afc_header *headers; /**< At most 900 KiB with method and URL, else AFC_ETOOBIG. */
    size_t header_count;
    afc_body body;
    afc_sink sink;
    afc_timeouts timeouts;
    afc_limits limits;
    afc_http_version_preference version;
    /**
     * Send Accept-Encoding: identity, and don't decode the body. If the request has a Range, identity is always sent,
     * and a 206 isn't decoded.
     */
    bool keep_encoding;
    bool allow_downgrade; /**< Follow redirects from https to http. */
    /**
     * The priority, 1 to 255; 0 means the default, 16. Among tasks that wait for a host, the highest starts first. Also
     * the HTTP/2 weight.
     */
    uint8_t priority;
    /** Minimum time between on_progress calls; 0 means the default, 100 ms. */
    uint32_t progress_ms;
    /**
     * Maximum body bytes per second, averaged over the transfer; 0 means no limit. Received bytes are counted before
     * decoding. Waiting because of this limit doesn't count as idle.
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
     * Proxy for all hops of this request, in the format of afc_proxies. "" means no proxy; NULL, the session's.
     * Connections through a per-request proxy are never reused. AFC_EINVAL if the request or the session also has a
     * Unix-domain socket, unless one of the two is "".
     */
    const char *proxy;
    /**
     * Unix-domain socket for all hops of this request, whatever the hosts of their URLs: a path, or "@" and a name in
     * the abstract namespace; at most 107 bytes. "" means none; NULL, the session's (afc_network_options). The
     * session's proxies are not used; setting `proxy` as well is AFC_EINVAL. Connections are reused for the same socket
     * only. A request that sets it doesn't use the HTTP cache. Cookies and HSTS entries belong to the URL's host, as
     * over TCP.
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
    /** URL of the top-level document, for AFC_COOKIES_MAIN_DOCUMENT; NULL means the request's URL. */
    const char *main_document_url;
    /**
     * Credentials for 407 responses of the first HTTP proxy that the request uses, and of no other proxy; they replace
     * user and password of the proxy's URL. Connections made with them are used by this task only.
     */
    const afc_credentials *proxy_credentials;
    afc_http_cache_policy cache_policy; /**< Default: AFC_HTTP_CACHE_PROTOCOL. */
    uint32_t flags;                     /**< AFC_REQUEST_… bits; others are AFC_EUNSUPPORTED. */
    /**
     * Maximum decoded bytes of a body in memory, if limits.body_bytes is 0. Doesn't apply to a body that on_head saves
     * to a file. 0 means the default, 64 MiB.
     */
    uint64_t memory_limit;
} afc_request;

#define AFC_REQUEST_INIT                                                                           \
    {                                                                                              \
        sizeof(afc_request), "GET", NULL, NULL, 0, AFC_BODY_INIT, AFC_SINK_INIT,                   \
            AFC_TIMEOUTS_INIT, AFC_LIMITS_INIT, AFC_HTTP_PREFER_AUTOMATIC, false, false, 0, 0, 0,  \
            0, AFC_EXPECT_AUTOMATIC, false, NULL, NULL, NULL, false, NULL, NULL,                   \
            AFC_HTTP_CACHE_PROTOCOL, 0, 0                                                          \
    }

AFC_END_DECLS

#endif
