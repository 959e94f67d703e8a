/**
 * One task from its first hop to its result. Knows neither sockets nor libcurl: the driver passes it lines,
 * bytes and ends of hops, and asks what to send.
 */
#ifndef AFC_TRANSFER_TRANSFER_H
#define AFC_TRANSFER_TRANSFER_H

#include "base/failure.h"
#include "base/list.h"
#include "base/rate.h"
#include "body/sink.h"
#include "body/source.h"
#include "message/credentials.h"
#include "transfer/hop.h"
#include "transfer/result.h"

#include <afcore/cookie.h>
#include <afcore/hsts.h>
#include <afcore/http_cache.h>
#include <afcore/task.h>
#include <stdatomic.h>
#include <stddef.h>

/** How a hop ended, as the driver reports it. */
typedef struct afc__outcome {
    afc_failure failure;             /**< AFC_OK: the exchange was carried to its end. */
    afc_hop hop;                     /**< Times, bytes, addresses; the rest is the transfer's. */
    bool went_away;                  /**< AFC_ELOST: the connection ended with GOAWAY. */
    bool has_doubtful_end;           /**< AFC_OK: a body without a length may have been cut. */
    afc__verification *verification; /**< A reference, of what the server has shown over TLS. */
} afc__outcome;

typedef enum afc__next {
    AFC__NEXT_FINISH, /**< Nothing: the task has its response, or has failed. */
    AFC__NEXT_HOP,    /**< Send `request` once more or for the first time. */
    AFC__NEXT_WAIT, /**< The same once its host is reachable; else the task fails as the hop did. */
    AFC__NEXT_ASK   /**< Wait for the answer to a challenge, then afc__transfer_resume_hop(). */
} afc__next;

typedef enum afc__flow {
    AFC__CONSUMED,
    AFC__PAUSED, /**< Not consumed: stop reading, and pass the same bytes again later. */
    AFC__STOP    /**< End the exchange now. */
} afc__flow;

/** What happens to the encodings of a body that libcurl can decode. */
typedef enum afc__coding {
    AFC__CODING_DECODED, /**< They are asked for and decoded. */
    AFC__CODING_AVOIDED, /**< None is asked for, as an encoded download can't be resumed; decoded. */
    /**
     * None is asked for, as the caller wants a range (RFC 9110 14.2): it is one of the encoded body. A whole response
     * is decoded; with the status line of a part this becomes KEPT.
     */
    AFC__CODING_WHOLE,
    AFC__CODING_KEPT /**< None is asked for, and none is decoded. */
} afc__coding;

/** The longest read of a body that may have to wait after it was decoded, in bytes. */
#define AFC__DECODED_READ (32 * 1024)

/** What a session stores about its servers, and what it says to them. */
typedef struct afc__session_stores {
    afc_cookie_jar *cookies; /**< NULL: none are kept. */
    afc_cookie_policy cookie_policy;
    afc_hsts *hsts; /**< NULL: http stays http. */
    afc__to_ascii *to_ascii;
    afc_http_cache *http_cache;  /**< NULL: nothing is cached. */
    const char *cache_partition; /**< Partition of the cache keys; NULL: the empty one. */
    struct afc__fills *fills;    /**< Transfers whose responses may be stored. */
    /* The fields that the driver adds, as responses may depend on them. NULL: none. */
    const char *user_agent, *accept_encoding;
    const char *trust; /**< The fingerprint of the trust policy; empty: the default one. */
} afc__session_stores;

/** Holds the method of a request without fields, which then needs no memory of its own. */
enum { AFC__TRANSFER_STORAGE_SIZE = 16 };

/** Whether only the rest of a file was asked for. */
typedef enum afc__range {
    AFC__RANGE_UNDECIDED, /**< It wasn't looked yet for a partial file. */
    AFC__RANGE_NONE,      /**< The whole is asked for. */
    AFC__RANGE_ASKED,
    AFC__RANGE_REFUSED /**< It was, but the response was useless: now the whole is asked for. */
} afc__range;

/** What a request for an upgrade has beside its reader, called with its context. */
typedef struct afc__upgrade {
    /** First: the source points to it, so that no task needs another pointer. */
    afc__lender lender;
    /** Before each hop: changes what its fields must not share with those of another, in place. */
    afc_status (*renew)(void *context, afc_header *headers, size_t count, afc_failure *failure);
    size_t refusal_limit; /**< Bytes that on_body takes of a response that refuses. */
} afc__upgrade;

/** Counters that the transfers of a session share. Any thread. */
typedef struct afc__transfer_counters {
    atomic_uint_fast64_t events; /**< Calls of the program's functions. */
    atomic_uint cancellations;   /**< How often all transfers were cancelled. */
    /** The session was released: validations in the background are cancelled. */
    atomic_bool ends_validations;
} afc__transfer_counters;

/** What a transfer is for. */
typedef enum afc__purpose {
    AFC__PURPOSE_RESPONSE = 0, /**< The response to a request. */
    AFC__PURPOSE_CONNECTION,   /**< A connection: no request is sent. */
    AFC__PURPOSE_UPGRADE,      /**< Another protocol: after a 101 bytes go both ways. */
    AFC__PURPOSE_VALIDATION /**< What a cache stores, in the background: no body that isn't stored is needed. */
} afc__purpose;

/** Whether a task is suspended. Silence between a resume and the loop's next look isn't the peer's. */
typedef enum afc__suspension {
    AFC__RUNNING,
    AFC__SUSPENDED,
    AFC__RESUMING /**< Resumed; the loop hasn't noticed yet. */
} afc__suspension;

typedef struct afc__transfer {
    afc_task_events events;
    afc__transfer_counters *counters;
    afc_limits limits; /**< With the defaults filled in. */
    afc_timeouts timeouts;
    afc_http_version_preference version;
    bool allow_downgrade, waits_for_network;
    bool merges_cookies; /**< Those of the jar join the Cookie field of the request. */
    uint8_t purpose;     /**< An afc__purpose. */
    afc__coding coding;
    afc_expect expect;
    /* Small fields stand together: a session may have many waiting transfers. */
    uint8_t priority;
    bool has_own_proxy;
    bool ignores_cookies;
    bool collapses; /**< Waits for another transfer that may store what it wants. */
    afc_http_cache_policy cache_policy;

    afc__proxy *own_proxy; /**< With has_own_proxy: NULL connects directly. */
    char *unix_socket;     /**< NULL: the session's; "": none. */

    const afc__session_stores *stores; /**< The session's; NULL without a cache. */
    char *document_host; /**< Host of the main document; NULL: unknown, or not needed. */
    struct afc__hop_cache *hop_cache; /**< NULL: no cache, or nothing was looked up yet. */

    afc__request_head request; /**< Head of the hop that is or will be under way. */
    afc__hop hop;

    /* The whole task. */
    struct afc__auth *auth;      /**< NULL: it answers no challenge. */
    unsigned connection_schemes; /**< AFC_AUTH_…, that libcurl can do. */
    atomic_uint awaited; /**< The number of the challenge that waits for its answer; 0: none. */
    afc__source source;
    afc__sink sink;
    afc__range range;
    atomic_bool is_cancelled; /**< Set by any thread. */
    atomic_uchar suspension;  /**< afc__suspension. Set by any thread. */
    bool is_retry; /**< It repeats one whose pooled connection was lost, on a fresh one. */
    uint8_t waits; /**< For the network. */
    afc__resume_decision resume_decision; /**< ASKED and REFUSED: what the final response means. */
    const char *refusal;                  /**< REFUSED: why. */
    int redirects;
    unsigned cancellations; /**< The session's when this one was started. */
    afc_progress progress;
    int64_t progress_interval_us, progress_due_us;
    afc__rate send_rate, receive_rate;
    afc_result *result; /**< Its failure is the first one, and decides. */
    _Alignas(
        max_align_t) char storage[AFC__TRANSFER_STORAGE_SIZE]; /**< For the first hop's head. */
} afc__transfer;

/**
 * Checks and copies `request`; takes what its body borrows, also when it fails. Does not take
 * `events->context`. AFC_EINVAL, AFC_EUNSUPPORTED, AFC_ENOMEM.
 */
afc_status afc__transfer_init(afc__transfer *transfer, const afc_request *request,
                              const afc_task_events *events, afc__transfer_counters *counters,
                              afc_failure *failure);
void afc__transfer_clear(afc__transfer *transfer);

/**
 * Before the start: makes the request ask for an upgrade (RFC 9110 7.8), by its own fields. Its body must be a reader
 * of unknown length that can be rewound; it has nothing to read before on_head has seen the 101.
 */
void afc__transfer_await_upgrade(afc__transfer *transfer, const afc__upgrade *upgrade);

/** Returns what afc__transfer_await_upgrade() was given; NULL without a call. */
static inline const afc__upgrade *afc__transfer_get_upgrade(const afc__transfer *transfer) {
    if (transfer->purpose != AFC__PURPOSE_UPGRADE) return NULL;
    return (const afc__upgrade *)transfer->source.lender;
}

/** Sets the failure of the task, if it is the first. Returns false, for callers to return. */
static inline bool afc__transfer_fail(afc__transfer *transfer, const afc_failure *failure) {
    if (transfer->result->failure.status == AFC_OK) transfer->result->failure = *failure;
    return false;
}

/** Fails as afc__transfer_fail() does. */
static inline bool afc__transfer_fail_text(afc__transfer *transfer, afc_status status,
                                           const char *text) {
    afc_failure failure = {0};
    afc__fail(&failure, status, "%s", text);
    return afc__transfer_fail(transfer, &failure);
}

static inline bool afc__transfer_fail_memory(afc__transfer *transfer) {
    afc_failure failure;
    afc__fail_memory(&failure);
    return afc__transfer_fail(transfer, &failure);
}

/*
 * Reads one of the flags that any thread sets. Relaxed: nothing else is read through them, and resuming and cancelling
 * post an operation to the loop afterwards.
 */
static inline bool afc__transfer_is_suspended(const afc__transfer *transfer) {
    return atomic_load_explicit(&transfer->suspension, memory_order_relaxed) == AFC__SUSPENDED;
}

/** Returns whether it is suspended, or was until the loop notices that it is resumed. */
static inline bool afc__transfer_was_suspended(const afc__transfer *transfer) {
    return atomic_load_explicit(&transfer->suspension, memory_order_relaxed) != AFC__RUNNING;
}

static inline void afc__transfer_suspend(afc__transfer *transfer) {
    atomic_store(&transfer->suspension, AFC__SUSPENDED);
}

/** Returns false if it isn't suspended. */
static inline bool afc__transfer_resume(afc__transfer *transfer) {
    unsigned char before = AFC__SUSPENDED;
    return atomic_compare_exchange_strong(&transfer->suspension, &before, AFC__RESUMING);
}

/** Called by the loop when it continues the transfer. */
static inline void afc__transfer_end_resuming(afc__transfer *transfer) {
    unsigned char before = AFC__RESUMING;
    (void)atomic_compare_exchange_strong(&transfer->suspension, &before, AFC__RUNNING);
}

static inline bool afc__transfer_is_cancelled(const afc__transfer *transfer) {
    if (atomic_load_explicit(&transfer->is_cancelled, memory_order_relaxed)) return true;
    if (transfer->purpose == AFC__PURPOSE_VALIDATION &&
        atomic_load_explicit(&transfer->counters->ends_validations, memory_order_relaxed))
        return true;
    return transfer->cancellations !=
           atomic_load_explicit(&transfer->counters->cancellations, memory_order_relaxed);
}

static inline bool afc__transfer_has_failed(const afc__transfer *transfer) {
    return transfer->result->failure.status != AFC_OK;
}

/* ---- Questions about the protocol --------------------------------------------------------- */

/** Returns whether HTTP/2 is spoken from the first byte, without asking the server. */
static inline bool afc__transfer_forces_http_2(const afc__transfer *transfer) {
    return transfer->version == AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
}

/** Returns whether the next hop speaks HTTP/2 without TLS. */
static inline bool afc__transfer_is_clear_http_2(const afc__transfer *transfer) {
    return afc__transfer_forces_http_2(transfer) && !transfer->request.url.is_https;
}

/* ---- Questions about the response ----------------------------------------------------------- */

/** Returns whether the status line received last is that of a part whose encoding is to be kept, but isn't yet. */
static inline bool afc__transfer_begins_part(const afc__transfer *transfer) {
    return transfer->coding == AFC__CODING_WHOLE && transfer->hop.reader->head.status == 206;
}

/** Returns whether the body is decoded on its way here. Then it may be much longer than what was received. */
static inline bool afc__transfer_decodes_body(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    bool is_decoded = framing->is_encoded && transfer->coding != AFC__CODING_KEPT;
    return is_decoded || framing->has_coding;
}

/**
 * Returns whether a body may be decoded here, piece by piece: it has one coding, and its sink may make it wait, or
 * libcurl would reserve as much memory as the body asks for.
 */
static inline bool afc__transfer_may_decode(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    bool saves_memory = transfer->sink.kind != AFC_SINK_MEMORY ||
                        framing->content_coding == AFC__CONTENT_ZSTD;
    return afc__hop_in_body(&transfer->hop) && saves_memory &&
           framing->content_coding != AFC__CONTENT_OTHER && !framing->has_coding &&
           framing->kind != AFC__FRAMING_NONE && transfer->coding != AFC__CODING_KEPT;
}

/** Returns whether the bytes of the body are passed as they are received, without chunks around them. */
static inline bool afc__transfer_has_plain_body(const afc__transfer *transfer) {
    return transfer->hop.framing.kind != AFC__FRAMING_CHUNKED &&
           !afc__transfer_decodes_body(transfer);
}

/** Returns whether the connection has left HTTP, so that both bodies are what the new protocol sends. */
static inline bool afc__transfer_is_upgraded(const afc__transfer *transfer) {
    return transfer->purpose == AFC__PURPOSE_UPGRADE &&
           transfer->hop.reader->state == AFC__HEAD_DONE &&
           transfer->hop.reader->head.status == 101;
}

/**
 * Returns whether the caller gets a response that refuses the upgrade. HTTP then frames its body as that of any other.
 */
static inline bool afc__transfer_refuses_upgrade(const afc__transfer *transfer) {
    return transfer->purpose == AFC__PURPOSE_UPGRADE && afc__hop_in_body(&transfer->hop) &&
           !afc__transfer_is_upgraded(transfer);
}

/** Returns whether an HTTP proxy gets a CONNECT. For what else it forwards, it gets the request itself. */
static inline bool afc__transfer_needs_tunnel(const afc__transfer *transfer) {
    return transfer->request.url.is_https || transfer->purpose == AFC__PURPOSE_UPGRADE;
}

/** Returns whether the end of the body is known by its decoder only, as the connection may also be cut. */
static inline bool afc__transfer_ends_with_gzip(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    return framing->kind == AFC__FRAMING_CLOSE && framing->content_coding == AFC__CONTENT_GZIP &&
           !framing->has_coding && transfer->coding != AFC__CODING_KEPT &&
           !afc__hop_is_http_2(&transfer->hop);
}

/** Returns whether a cut connection would look like the end of the decoded body. TLS says that it ends. */
static inline bool afc__transfer_has_unknown_end(const afc__transfer *transfer) {
    return transfer->hop.framing.kind == AFC__FRAMING_CLOSE &&
           afc__transfer_decodes_body(transfer) && !afc__transfer_ends_with_gzip(transfer) &&
           !transfer->request.url.is_https && !afc__hop_is_http_2(&transfer->hop);
}

/* ---- Steps --------------------------------------------------------------------------------- */

/** Before a hop is sent: opens or rewinds the source. false: the transfer has failed. */
bool afc__transfer_begin_hop(afc__transfer *transfer);

/** Returns whether this hop sends Expect: 100-continue, if its version of HTTP has that. */
bool afc__transfer_expects(const afc__transfer *transfer);

/** Returns whether nothing of the body was sent because this hop waits for 100 (Continue). */
bool afc__transfer_awaits_continue(const afc__transfer *transfer);

/**
 * Returns whether a final response was received instead of 100 (Continue), so that the request body won't be sent. A
 * server that still expects it would take the next request on the connection for that body.
 */
bool afc__transfer_expects_unsent_body(const afc__transfer *transfer);

/** Takes a header line. false: end the exchange. */
bool afc__transfer_on_line(afc__transfer *transfer, afc_slice line);

/** Takes the final head, parsed before and not received as lines; it is copied. false: end the exchange. */
bool afc__transfer_on_head(afc__transfer *transfer, const afc_head *head);

/** Takes bytes of the body, decoded; `received` counts those of this hop on the wire. */
afc__flow afc__transfer_on_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Starts it: what was cancelled before, together with all others, doesn't count. Any thread. */
void afc__transfer_begin(afc__transfer *transfer);

/**
 * Before the start: makes it a validation in the background, which ends once its body isn't stored. Its cookies are
 * those of a document of `document_host`; NULL: unknown. false: out of memory.
 */
bool afc__transfer_set_validation_only(afc__transfer *transfer, const char *document_host);

/** Ends the limit of the total time, as what follows may take any time. */
static inline void afc__transfer_end_total_limit(afc__transfer *transfer) {
    transfer->timeouts.total_ms = 0;
}

/** Records that the request body can be read again. */
static inline void afc__transfer_body_is_ready(afc__transfer *transfer) {
    transfer->source.is_waiting = false;
}

/** Returns when a direction that waits for a rate or a reader may move on. INT64_MAX: no moment is known. */
int64_t afc__transfer_wakeup(const afc__transfer *transfer);

/** Forgets those moments that have passed; a direction that must still wait sets its own again. */
void afc__transfer_stop_waiting(afc__transfer *transfer, int64_t now);

/** Whether something has paused until afc__transfer_wake(), in either direction. */
bool afc__transfer_waits_for_wake(const afc__transfer *transfer);

/** Retries what was paused, in either direction. */
void afc__transfer_wake(afc__transfer *transfer);

/** Asks for the request body again, and calls on_wake. What on_body has refused still waits. */
void afc__transfer_wake_sending(afc__transfer *transfer);

/** Reads the next bytes of the request body. Returns their number, or AFC_READ_…. */
ptrdiff_t afc__transfer_read_body(afc__transfer *transfer, void *buffer, size_t size);

/** Lends bytes that needn't be copied, and takes them back; see afc__source_lend(). */
afc_slice afc__transfer_lend_body(const afc__transfer *transfer);
void afc__transfer_took_body(afc__transfer *transfer, size_t count);

/** Counts what was sent of a body that isn't read here, because libcurl has all of it. */
void afc__transfer_set_sent(afc__transfer *transfer, int64_t sent);

/** Rewinds the request body, which libcurl needs from the start for a retry of its own. */
bool afc__transfer_rewind_body(afc__transfer *transfer);

/** Begins the body of a request that is sent now, perhaps again: what was read of it went with an earlier one. */
bool afc__transfer_begin_body(afc__transfer *transfer);

/** Ends the hop. Takes the outcome's verification. */
afc__next afc__transfer_end_hop(afc__transfer *transfer, const afc__outcome *outcome);

/**
 * Applies the answer to a challenge. Takes `identity`, which may be NULL. false: none of that number waits for an
 * answer. After AFC__NEXT_ASK call afc__transfer_resume_hop() then.
 */
bool afc__transfer_on_answer(afc__transfer *transfer, uint32_t number,
                             afc_challenge_decision answer, afc__identity *identity);
afc__next afc__transfer_resume_hop(afc__transfer *transfer);

/** Completes the result and calls on_done, the last callback. */
void afc__transfer_finish(afc__transfer *transfer);

/** Counts an event; called before each callback. */
static inline void afc__transfer_count_event(afc__transfer *transfer) {
    atomic_fetch_add_explicit(&transfer->counters->events, 1, memory_order_relaxed);
}

#endif
