/**
 * Results: the response, the error and the metrics of a task that has ended.
 */
#ifndef AFCORE_RESULT_H
#define AFCORE_RESULT_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/http_cache.h>
#include <afcore/message.h>
#include <afcore/trust.h>

AFC_BEGIN_DECLS

/** The result of a task: an error, or the response. */
typedef struct afc_result afc_result;

/* ---- Results ------------------------------------------------------------------------------- */

/**
 * The metrics of one hop: each redirect, authentication round and retry is a hop. Times are in microseconds since the
 * start of the hop; -1 if the moment wasn't reached. On a reused connection dns_us, connect_us and tls_us are 0.
 */
typedef struct afc_hop {
    const char *url;      /**< URL without userinfo. */
    const char *location; /**< Target of the redirect; NULL if there is none. */
    int status;           /**< Status code; 0 if no head was received. */
    afc_http_version version;
    int64_t dns_us, connect_us, tls_us, request_sent_us, first_byte_us, total_us;
    int64_t sent, received; /**< Body bytes on the wire, before decoding. */
    int64_t head_received;  /**< Bytes of the response heads. */
    bool is_reused;         /**< The connection came from the pool. */
    bool is_retried;        /**< Sent again after its pooled connection was lost or refused it. */
    char local_address[46], remote_address[46]; /**< Empty if not connected. */
    uint16_t local_port, remote_port;
    afc_http_cache_use cache; /**< Whether the response came from the cache, without a request. */
    const char *proxy;        /**< scheme://host:port of the proxy; NULL if there is none. */
    uint64_t reserved[1];     /**< 0. */
} afc_hop;

/**
 * Returns the failure; its status is AFC_OK if the task succeeded.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AFC_API const afc_failure *afc_result_get_failure(const afc_result *result);

/**
 * Returns the head of the final response, also if its body failed. After AFC_EREDIRECT it returns the head of the
 * redirect that wasn't followed, and after AFC_EREPLAY that of the response that asked for the request again: a
 * redirect, a 401, 407 or 417. Returns NULL if no head was received, or if a redirect leads to a request that the
 * session can't send, such as one without TLS to a host with pins.
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
 * Returns why the response of the last hop wasn't stored in the HTTP cache; "" if it was stored, if it came from the
 * cache, or if the cache isn't used.
 *
 * Thread: owner.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_result_get_not_stored(const afc_result *result);

/**
 * Returns the number of body bytes that the sink received, after decoding.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API uint64_t afc_result_get_body_size(const afc_result *result);

/**
 * Returns the body that was collected in memory: by a MEMORY sink, or of a response that a FILE sink doesn't save. If
 * the body was cut short (AFC_ETRUNCATED, AFC_ELOST, AFC_EPROTOCOL, AFC_ETIMEOUT) or the task was cancelled
 * (AFC_ECANCELED), these are the decoded bytes received until then. Empty after any other failure, and if on_head
 * refused the response. For a response that refuses a WebSocket see afc_websocket_end.
 *
 * Thread: owner.    Owns: borrowed, lives with `result` or until it is taken.    Fails: never.
 */
AFC_API afc_slice afc_result_get_body(const afc_result *result);

/** Maximum size in bytes of a body that is stored in its result, without a separate allocation. */
enum { AFC_BODY_SHORT = 2048 };

/**
 * Takes the body that afc_result_get_body() returns. One of more than AFC_BODY_SHORT bytes isn't copied.
 *
 * Thread: owner.    Owns: yours, afc_free(bytes.bytes).
 * Fails: empty if the result has no body, or if there is no memory to copy a short body, which then stays in
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
typedef enum AFC_OPEN_ENUM afc_resumption {
    AFC_RESUMPTION_NONE = 0,      /**< There was none, or it wasn't used. */
    AFC_RESUMPTION_RESUMED = 1,   /**< The body was appended to it. */
    AFC_RESUMPTION_RESTARTED = 2, /**< It was invalid, and the download started over. */
    /** It was already complete: the response is a 416, and the task succeeded. */
    AFC_RESUMPTION_COMPLETE = 3
} afc_resumption;

/** The result of a FILE sink. */
typedef struct afc_download {
    /** The destination. It exists if the task succeeded with a 2xx or COMPLETE. */
    const char *path;
    const char *resume_token;  /**< See afc_result_get_resume_token(). */
    afc_resumption resumption; /**< What happened to an existing partial file. */
    int64_t offset;            /**< Bytes of the partial file that were kept. */
    int64_t size;              /**< Size of the file, or of the partial file, in bytes. */
    /** Why the download was restarted or can't be resumed; NULL if neither applies. Static. */
    const char *reason;
} afc_download;

/**
 * Returns the result of a FILE sink; NULL for other sinks and HEAD. A result doesn't mean that the file exists: it does
 * only if the task succeeded, and the status is 2xx or `resumption` is AFC_RESUMPTION_COMPLETE. The body of any other
 * status is in memory.
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
