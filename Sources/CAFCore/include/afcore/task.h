/**
 * One request and its answer: what to send, where the body comes from and goes to, what is told
 * on the way, and the result.
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

/* ---- Where a request body comes from ------------------------------------------------------- */

/** No size is known: HTTP/1.1 sends the body chunked. */
#define AF_LENGTH_UNKNOWN ((int64_t)-1)

/** What a reader may answer instead of a number of bytes. */
enum {
    AF_READ_END = 0,    /**< The body is complete. */
    AF_READ_AGAIN = -1, /**< Nothing right now; af_task_wake() asks again. */
    AF_READ_FAILED = -2 /**< The body can't be produced; the task ends with AF_ESOURCE. */
};

/** A body that is pulled piece by piece. All functions are called on the loop thread. */
typedef struct af_reader {
    void *context;
    /** Write at most `size` bytes into `buffer`: their number, or AF_READ_…. Must not block. */
    ptrdiff_t (*read)(void *context, void *buffer, size_t size);
    /** Start again from the first byte: true if that worked. NULL: the body can be read once. */
    bool (*rewind)(void *context);
    /** Called once, last, in every case. May be NULL. */
    void (*release)(void *context);
} af_reader;

typedef enum af_body_kind {
    AF_BODY_NONE = 0,
    AF_BODY_BYTES = 1,
    AF_BODY_FILE = 2,
    AF_BODY_READER = 3,
    AF_BODY_MULTIPART = 4
} af_body_kind;

/** A request body. Zero-initialised, it is no body. */
typedef struct af_body {
    af_body_kind kind;
    /** BYTES: copied, unless `release` is set: then borrowed until release(context) is called. */
    af_slice bytes;
    void (*release)(void *context);
    void *context;
    /** FILE: path of a regular file, opened when its turn comes; its size must not change then. */
    const char *path;
    /** READER: `length` in bytes, or AF_LENGTH_UNKNOWN. A different number of bytes is an error. */
    af_reader reader;
    int64_t length;
    /** MULTIPART: taken. Its Content-Type is sent unless the request says something about that. */
    af_multipart *form;
} af_body;

/* ---- Where a response body goes to --------------------------------------------------------- */

typedef enum af_sink_kind {
    AF_SINK_MEMORY = 0, /**< Collected; af_result_take_body(). */
    AF_SINK_FILE = 1,   /**< Written to `path`, which appears only when the task succeeded. */
    AF_SINK_EVENTS = 2  /**< Given to on_body piece by piece. */
} af_sink_kind;

/** How a file is written; bits of af_sink.flags. */
enum {
    /**
     * Leave what has come of the body when the task fails or is cancelled, if the answer had a strong
     * validator: in PATH.part, with a resume token beside it in PATH.part.resume. Both also survive
     * the end of the process at any moment. They are made for a GET without a body only.
     */
    AF_SINK_KEEP_PARTIAL = 1u << 0,
    /**
     * Go on with PATH.part, if it is this URL's: Range and If-Range are sent, and the answer is
     * appended only if it is the same version of the file; otherwise all comes anew.
     */
    AF_SINK_CONTINUE = 1u << 1,
    /** Success means that file and folder are on the disk. */
    AF_SINK_SYNC = 1u << 2,
    /** A file that exists is an error, AF_EFILE with EEXIST. */
    AF_SINK_NO_REPLACE = 1u << 3,
    /** Make folders that are missing. */
    AF_SINK_MAKE_FOLDERS = 1u << 4,
    /**
     * If PATH is a symbolic link, replace the file that it leads to and leave the link; PATH.part is then beside that
     * file, which need not exist yet. Without this the link is replaced.
     */
    AF_SINK_FOLLOW_LINKS = 1u << 5,
    /** A file that is replaced keeps its permissions (not set-user-ID and the like), instead of those of a new one. */
    AF_SINK_KEEP_MODE = 1u << 6
};

/**
 * Where the body of the final answer goes. A FILE sink takes only the body of a 2xx answer; that of another status is
 * collected in memory (at most 1 MiB) beside the result. An existing file is replaced, atomically, when the task succeeds,
 * and left as it is otherwise. Character devices (/dev/null) are written to as they are; other special files are refused.
 *
 * With AF_SINK_KEEP_PARTIAL or AF_SINK_CONTINUE the body is written to PATH.part, which only one task can do at a
 * time: a second one fails with AF_EFILE and EBUSY. What is at PATH.part without being this URL's is replaced. The
 * answer is asked for with Accept-Encoding: identity; a length that the disk has no room for fails at once, but none
 * is reserved; Repr-Digest (sha-256, sha-512) and Content-MD5 are checked: AF_EPROTOCOL, and nothing is left. A 404 or
 * 410 removes what was there, any other status that is not 2xx leaves it. Range and If-Range must then not be among
 * the request's headers. Without these flags a file has no name before it is complete (O_TMPFILE), or PATH.RANDOM.part
 * where the file system can't. A 206 that no Range header asked for is AF_EPROTOCOL for FILE; other sinks get its body.
 */
typedef struct af_sink {
    af_sink_kind kind;
    const char *path; /**< FILE. May be NULL where on_head names it. */
    unsigned flags; /**< AF_SINK_…; those of a file that on_head names, unless it changes them. */
    const char *resume_token; /**< With CONTINUE: a token, else the one beside PATH.part is used. */
} af_sink;

/* ---- Limits -------------------------------------------------------------------------------- */

/** Time limits in milliseconds; 0 means none. Counted from the start unless said otherwise. */
typedef struct af_timeouts {
    /** Until a connection can be used (name, TCP, TLS), of each hop. */
    uint32_t connect_ms;
    /** Between two bytes in either direction. Not counted while the task is suspended, waits for a
        connection to become free, or a callback said "not now". */
    uint32_t idle_ms;
    /** The whole task: waiting for a connection, every hop, every repeat. */
    uint32_t total_ms;
} af_timeouts;

#define AF_TIMEOUTS_INIT                                                                           \
    { 30000, 60000, 0 }

/** Beyond a limit a task ends at once with AF_ETOOBIG. 0 means the default named here. */
typedef struct af_limits {
    uint64_t body;           /**< Decoded bytes. 64 MiB in memory, none for FILE and EVENTS. */
    uint32_t head_bytes;     /**< Of all heads and trailers of a hop, 1xx included. 256 KiB. */
    uint32_t head_count;     /**< Fields of all heads and trailers of a hop. 512. */
    uint32_t informational;  /**< 1xx answers of a hop. 16. */
    uint32_t decoding_ratio; /**< Decoded : received, counted beyond the first MiB decoded. 250. */
    int32_t redirects;       /**< Hops followed. 20; negative: none, a 3xx is the answer. */
} af_limits;

#define AF_LIMITS_INIT                                                                             \
    { 0, 0, 0, 0, 0, 0 }

/** Which protocol to speak. */
typedef enum af_http_wish {
    AF_WISH_AUTOMATIC = 0, /**< ALPN over TLS (HTTP/2 or 1.1), HTTP/1.1 in the clear. */
    AF_WISH_HTTP_1_1 = 1,  /**< HTTP/1.1 only. */
    AF_WISH_HTTP_2 = 2,    /**< As AUTOMATIC, with upgrade in the clear refused. */
    AF_WISH_HTTP_2_PRIOR_KNOWLEDGE = 3, /**< HTTP/2 from the first byte, also in the clear. */
    AF_WISH_HTTP_3 = 4                  /**< AF_EUNSUPPORTED where libcurl has no HTTP/3. */
} af_http_wish;

/**
 * Whether to ask the server, with "Expect: 100-continue" over HTTP/1.1, before a body is sent. A
 * final answer is then the answer, and the body stays here; but after a 417 the request is sent
 * once more without the question. A server that says nothing gets the body after the wait. A
 * request with that field of its own is as ALWAYS.
 */
typedef enum af_expect {
    AF_EXPECT_AUTOMATIC = 0, /**< For more than 1 MiB or an unknown length; waits 200 ms. */
    AF_EXPECT_ALWAYS = 1,    /**< For every body that is not empty; waits a second. */
    AF_EXPECT_NEVER = 2
} af_expect;

/* ---- The request --------------------------------------------------------------------------- */

/**
 * What to ask for. Start from AF_REQUEST_INIT. Everything is copied by af_task_new() but a
 * borrowed body, a reader and a form, which are taken, also when it fails.
 *
 * Sent unless given or removed: Host, Accept: *\/\*, Accept-Encoding (see `keep_encoding`), the
 * session's User-Agent. Content-Length and Transfer-Encoding follow from the body and are refused
 * as headers. `url` is http or https; in path and query, spaces, octets above 127 and "<>\^`{|} are
 * percent-encoded; control characters are refused, a fragment is not sent. An IP address is sent in its
 * usual form: `127.1` and `0x7f.0.0.1` are 127.0.0.1.
 */
typedef struct af_request {
    size_t size;        /**< sizeof(af_request), for growth. */
    const char *method; /**< Any token, sent as given. */
    const char *url;
    const af_header *headers; /**< At most 900 KiB of them, or the task ends with AF_ETOOBIG. */
    size_t header_count;
    af_body body;
    af_sink sink;
    af_timeouts timeouts;
    af_limits limits;
    af_http_wish version;
    bool keep_encoding;   /**< Ask for identity and decode nothing. */
    bool allow_downgrade; /**< Follow a redirect from https to http. */
    /** 1–255; 0: the default, 16. Of tasks that wait for one host the highest starts first. HTTP/2's weight. */
    uint8_t priority;
    uint32_t progress_ms; /**< The shortest time between two on_progress; 0: the default, 100. */
    /**
     * Bytes of body per second at most, averaged over the transfer; 0: no limit. Waiting for it
     * doesn't count as idle. What is received counts before decoding.
     */
    uint64_t max_send_rate, max_receive_rate;
    af_expect expect;
    /**
     * When no connection can be made because there is no route to the host, or no name found while
     * there is none to the internet, wait for one instead of failing, and try again when it is there
     * (reachability.h). timeouts.total_ms counts on, and cancelling ends the wait. Each try is a hop.
     */
    bool wait_for_network;
    /**
     * The proxy of all its hops, written as in af_proxies; "": none; NULL: the session's choice for
     * each. A proxy of its own means connections of its own, which nobody uses again.
     */
    const char *proxy;
    /**
     * A Unix-domain socket that all its hops go to, whatever host their URLs name: a path, or "@" and a
     * name in the abstract namespace; at most 107 bytes. "": none; NULL: the session's
     * (af_network_options). No proxy is asked then, and naming one as well is AF_EINVAL. Connections
     * are used again for the same socket only.
     */
    const char *unix_socket;
    /**
     * For 401 answers of the URL's origin, or before one. Without a user and a token, those of the URL
     * count, which otherwise are sent as Basic at once. A field Authorization of the request's own goes out
     * until there is a challenge to answer.
     */
    const af_credentials *credentials;
    bool ignore_cookies; /**< Neither send nor keep cookies of the session's jar. */
    /** Of what the user looks at, for AF_COOKIES_MAIN_DOCUMENT; NULL: this request's own first URL. */
    const char *main_document_url;
    /**
     * As `credentials`, for 407 answers of the first http proxy that is asked and of no other, instead of user and
     * password of its URL. Connections that are made with them serve this task alone.
     */
    const af_credentials *proxy_credentials;
} af_request;

#define AF_REQUEST_INIT                                                                            \
    {                                                                                              \
        sizeof(af_request), "GET", NULL, NULL, 0,                                                  \
            {AF_BODY_NONE, {NULL, 0}, NULL, NULL, NULL, {NULL, NULL, NULL, NULL}, 0, NULL},        \
            {AF_SINK_MEMORY, NULL, 0, NULL}, AF_TIMEOUTS_INIT, AF_LIMITS_INIT, AF_WISH_AUTOMATIC,  \
            false, false, 0, 0, 0, 0, AF_EXPECT_AUTOMATIC, false, NULL, NULL, NULL, false, NULL,   \
            NULL                                                                                   \
    }

/* ---- What is told on the way --------------------------------------------------------------- */

/** Bytes so far. Totals are AF_LENGTH_UNKNOWN until known; received counts before decoding. */
typedef struct af_progress {
    int64_t sent, sent_total;
    int64_t received, received_total;
    /** Bytes that were there before, of a download that goes on; in neither of the others. */
    int64_t offset;
} af_progress;

/** What on_redirect decides. */
typedef enum af_redirect_answer {
    AF_REDIRECT_FOLLOW = 0, /**< Go on with the proposed, perhaps edited, request. */
    AF_REDIRECT_STOP = 1,   /**< Do not follow: the 3xx is the answer, its body included. */
    AF_REDIRECT_FAIL = 2    /**< End the task with AF_EREDIRECT. */
} af_redirect_answer;

/**
 * A redirect about to be followed. The request proposed is already rid of what must not cross
 * origins. To edit it, point `url`, `method` or `headers` to values of your own, valid until the
 * callback returns their copies (they are read right after it); they are checked as any input.
 */
typedef struct af_redirect {
    const af_head *head;      /**< The 3xx answer. */
    const char *from;         /**< The URL that answered. */
    int count;                /**< 1 for the first redirect of the task. */
    bool crosses_origin;      /**< Scheme, host or port differ: credentials were dropped. */
    bool keeps_body;          /**< The request body is sent again. */
    const char *url;          /**< Editable. */
    const char *method;       /**< Editable. */
    const af_header *headers; /**< Editable: all fields of the next request. */
    size_t header_count;
} af_redirect;

/**
 * The final answer, when its head has come and its body is still to come. Set `path`, valid until the
 * callback returns, to make it a download, whatever the request's sink was. That counts for a 2xx
 * only, and not for a download that goes on or starts over at the sink's path.
 */
typedef struct af_response {
    const af_head *head;
    const char *url;  /**< That answered: without userinfo and fragment. */
    const char *path; /**< Editable. NULL: the body goes where the request says. */
    /** Editable: AF_SINK_… for `path`, at first the request's. CONTINUE comes too late to count. */
    unsigned flags;
    af_result *result; /**< For af_response_get_trust(); not to be touched otherwise. */
} af_response;

/**
 * What the server that answered has shown of itself, as af_result_get_trust(), before its body comes.
 *
 * Thread: loop, inside on_head.    Owns: borrowed, lives until on_head returns.
 * Fails: NULL if the answer didn't come over TLS, or when out of memory.
 */
AF_API const af_trust_report *af_response_get_trust(const af_response *response);

/**
 * Callbacks. All run on the loop thread, none on the stack of an af_task_ call, and may call
 * anything of this library, af_task_cancel() and af_session_release() included. They must not
 * block: other tasks of the session wait meanwhile. Any may be NULL.
 *
 * Order: (on_informational* (on_redirect | on_challenge? on_challenge_answered?))* on_head? on_body* on_done drop,
 * with on_progress, on_trace and on_wake anywhere before on_done.
 */
typedef struct af_task_events {
    size_t size; /**< sizeof(af_task_events), for growth. */
    void *context;
    af_redirect_answer (*on_redirect)(void *context, af_redirect *redirect);
    /** A 1xx answer, never taken for the final one. */
    void (*on_informational)(void *context, const af_head *head);
    /**
     * The final head, never that of a 1xx, a redirect that is followed, a challenge that is answered or an
     * answer that is of no use to a download. AF_OK lets the body come. Anything else ends the task with that status,
     * AF_ECANCELED for an answer that is not wanted: the head is in the result, none of the body is
     * taken, and the server is stopped, over HTTP/1.1 by closing the connection.
     */
    af_status (*on_head)(void *context, af_response *response);
    /**
     * EVENTS sink. AF_OK: taken. AF_EAGAIN: not taken; nothing more is read until af_task_wake(),
     * then the same bytes come again. Anything else ends the task with that status.
     */
    af_status (*on_body)(void *context, af_slice chunk);
    /** At most once per progress_ms, and once with the final numbers before on_done. */
    void (*on_progress)(void *context, const af_progress *progress);
    /**
     * Exactly once per started task, whatever happens. `result` is yours: af_result_free(), on
     * any thread. When NULL the result is freed.
     */
    void (*on_done)(void *context, af_result *result);
    /** Once per task in every case, last: on the loop, or in af_task_release() if never started. */
    void (*drop)(void *context);
    /**
     * An af_task_wake() has reached the loop; what was put off comes after this. Several calls may
     * be one event. From inside on_body, af_task_wake() asks for this behind all that is there to
     * be read now, up to some MiB.
     */
    void (*on_wake)(void *context);
    /**
     * A 401 or 407 with a challenge that this library knows how to answer, after whatever was sent of our own
     * accord. USE: `credentials`, at first those that are proposed or AF_CREDENTIALS_INIT, are copied when the
     * callback has returned. LATER: the task waits; its total time limit runs on. At most ten times for
     * the server and as often for the proxy.
     */
    af_challenge_answer (*on_challenge)(void *context, const af_challenge *challenge,
                                        af_credentials *credentials);
    /**
     * A challenge is answered: the same hop goes out once more as `proposed`, in the way of `scheme`, whoever decided
     * that. Told after on_challenge and for what nobody was asked about: credentials of the request or of its proxy's
     * URL, and a nonce of Digest that was too old. The rounds of NTLM and Negotiate that follow are not told.
     */
    void (*on_challenge_answered)(void *context, const af_challenge *challenge);
    /**
     * What goes over the wire, at any time before on_done. `trace` and what it points to live until the callback
     * returns. Costs nothing when NULL; otherwise libcurl reports each line, and each is copied once.
     */
    void (*on_trace)(void *context, const af_trace *trace);
} af_task_events;

#define AF_TASK_EVENTS_INIT                                                                        \
    {                                                                                              \
        sizeof(af_task_events), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
            NULL                                                                                   \
    }

/* ---- The task ------------------------------------------------------------------------------ */

/**
 * Make a task; nothing happens before af_task_start(). Takes `events->context` and what the
 * request's body borrows, also when it fails (release and drop are then called before it returns).
 * A structure that wasn't made with its AF_…_INIT is AF_EINVAL: nothing else in it is read, and no
 * callback of it is called.
 *
 * Thread: any.    Owns: `*out` is yours, af_task_release().
 * Fails: AF_EINVAL (failure says what was wrong), AF_EUNSUPPORTED, AF_ECLOSED, AF_ENOMEM; `*out` is
 * then NULL.
 * `failure` may be NULL.
 */
AF_API af_status af_task_new(af_task **out, af_session *session, const af_request *request,
                             const af_task_events *events, af_failure *failure);

/**
 * af_task_new() and af_task_start() in one call.
 *
 * Thread: any.    Owns: `*out` is yours, af_task_release(); `out` may be NULL.
 * Fails: as af_task_new(); no event is then delivered but drop.
 */
AF_API af_status af_task_begin(af_task **out, af_session *session, const af_request *request,
                               const af_task_events *events, af_failure *failure);

/**
 * Start, once; a second call does nothing.
 *
 * Thread: any.    Owns: nothing.    Fails: never; what goes wrong comes with on_done.
 */
AF_API void af_task_start(af_task *task);

/**
 * Stop moving bytes until af_task_resume(). The connection stays open and the total time limit
 * runs on. Suspends do not add up. Over HTTP/2 a body that is collected in memory goes on to come, up to its
 * limit, for its connection is others' too; the task ends when it is resumed.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_suspend(af_task *task);

/**
 * Go on after af_task_suspend().
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_resume(af_task *task);

/**
 * Ask a task to stop. Its on_done still arrives, with AF_ECANCELED unless it had already finished.
 * A task that was not started ends with AF_ECANCELED when it is.
 *
 * Thread: any.    Owns: nothing.    Fails: never; calling it twice is fine.
 */
AF_API void af_task_cancel(af_task *task);

/**
 * Call on_wake, then on_body again after AF_EAGAIN, or read again after AF_READ_AGAIN. Harmless
 * otherwise.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_task_wake(af_task *task);

/**
 * Answer a challenge after AF_CHALLENGE_LATER, from then on or already while on_challenge runs. With
 * AF_CHALLENGE_USE the credentials are copied; otherwise they may be NULL.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AF_EINVAL (no challenge of that number waits: it was answered already or the task is over; another LATER;
 * credentials that are none), AF_ENOMEM; nothing has changed then.
 */
AF_API af_status af_task_answer_challenge(af_task *task, uint32_t number,
                                          af_challenge_answer answer,
                                          const af_credentials *credentials);

/**
 * A further reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_task *af_task_retain(af_task *task);

/**
 * Give a reference back. A started task goes on without any. NULL is fine.
 *
 * Thread: any.    Owns: takes `task`.    Fails: never.
 */
AF_API void af_task_release(af_task *task);

/* ---- The result ---------------------------------------------------------------------------- */

/**
 * One exchange on the way to the answer: each redirect is a hop of its own. Times are microseconds
 * since the hop's start, -1 where the hop did not get there; on a reused connection dns, connect and
 * tls are 0.
 */
typedef struct af_hop {
    const char *url;      /**< Without userinfo. */
    const char *location; /**< The redirect's target, NULL if this hop was not redirected. */
    int status;           /**< 0: no head came. */
    af_http_version version;
    int64_t dns_us, connect_us, tls_us, request_sent_us, first_byte_us, total_us;
    int64_t sent, received; /**< Body bytes on the wire. */
    int64_t head_received;  /**< Bytes of the heads. */
    bool reused;            /**< The connection was taken from the pool. */
    bool retried;           /**< Sent again: its pooled connection was lost or refused it. */
    char local_address[46], remote_address[46]; /**< Empty if not connected. */
    uint16_t local_port, remote_port;
} af_hop;

/**
 * What went wrong; its status is AF_OK if nothing did.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_failure *af_result_get_failure(const af_result *result);

/**
 * The final answer's head; NULL if none came. Also there when the body failed.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_head *af_result_get_head(const af_result *result);

/**
 * Trailer fields, and their number in `*count`.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_header *af_result_get_trailers(const af_result *result, size_t *count);

/**
 * The URL that answered last, without userinfo and fragment.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const char *af_result_get_url(const af_result *result);

/**
 * Every hop in order, at least one if a hop was begun, and their number in `*count`.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_hop *af_result_get_hops(const af_result *result, size_t *count);

/**
 * The number of body bytes delivered to the sink, after decoding.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API uint64_t af_result_get_body_size(const af_result *result);

/**
 * The body collected in memory.
 *
 * Thread: owner.    Owns: borrowed, lives with `result` until it is taken.    Fails: never.
 */
AF_API af_slice af_result_get_body(const af_result *result);

/** Bytes of a body that need no memory of their own: one of at most so many lies in its result. */
enum { AF_BODY_SHORT = 2048 };

/**
 * The body collected in memory; one of more than AF_BODY_SHORT bytes without a copy.
 *
 * Thread: owner.    Owns: yours, af_free(bytes.bytes).
 * Fails: empty if there is none; also if there is no memory to copy a short one to, which then
 * stays in the result.
 */
AF_API af_bytes af_result_take_body(af_result *result);

/**
 * What the last hop's server has shown of itself, and the policy's verdict on it, also if the task
 * failed for that. On a connection that was there already: what it showed when it was made.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.
 * Fails: NULL if the last hop was not over TLS or didn't come to a chain, or when out of memory.
 */
AF_API const af_trust_report *af_result_get_trust(af_result *result);

/** What became of a partial file that was there. */
typedef enum af_resumption {
    AF_RESUMPTION_NONE = 0,      /**< There was none, or nothing was asked of it. */
    AF_RESUMPTION_CONTINUED = 1, /**< The body was appended to it. */
    AF_RESUMPTION_RESTARTED = 2, /**< It was void, and all came anew. */
    AF_RESUMPTION_COMPLETE = 3   /**< It was all there: the answer is a 416, the task a success. */
} af_resumption;

/** What a file sink has come to. */
typedef struct af_download {
    const char
        *path; /**< The destination: it is there if the task succeeded with a 2xx, or COMPLETE. */
    const char *resume_token; /**< As af_result_get_resume_token(). */
    af_resumption resumption;
    int64_t offset;     /**< Bytes that were there before and were kept. */
    int64_t size;       /**< Bytes in the file, also when only a part of it is kept. */
    const char *reason; /**< Why it was restarted or can't be resumed; NULL. Lives forever. */
} af_download;

/**
 * What a file sink has come to; NULL if the body didn't go to a file.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const af_download *af_result_get_download(const af_result *result);

/**
 * What is needed to go on, if something was kept (AF_SINK_KEEP_PARTIAL): text for af_sink.resume_token,
 * in this or another process; see af_resume_info_read(). Empty otherwise.
 *
 * Thread: owner.    Owns: borrowed, lives with `result`.    Fails: never.
 */
AF_API const char *af_result_get_resume_token(const af_result *result);

/**
 * Free a result. NULL is fine.
 *
 * Thread: any, one.    Owns: takes `result`.    Fails: never.
 */
AF_API void af_result_free(af_result *result);

AF_END_DECLS

#endif
