/**
 * The HTTP of one task, from its first hop to its result. Knows neither sockets nor libcurl: the driver passes it
 * lines, bytes and ends of hops, and asks what to send. Loop thread only, unless stated otherwise.
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
    afc_failure failure;   /**< Status AFC_OK if the exchange came to its end. */
    afc_hop hop;           /**< Times, bytes, addresses; the transfer sets the other members. */
    bool went_away;        /**< With AFC_ELOST: the connection ended with GOAWAY. */
    bool has_doubtful_end; /**< With AFC_OK: a body without a length may have been cut. */
    /** A reference to what the server has shown over TLS, or NULL. */
    afc__verification *verification;
} afc__outcome;

typedef enum afc__next {
    AFC__NEXT_FINISH, /**< The task is complete: it has its response, or has failed. */
    AFC__NEXT_HOP,    /**< Start a hop with `request`, for the first time or again. */
    /** Start a hop once the network allows it; if it never does, the task fails with the failure of the last hop. */
    AFC__NEXT_WAIT,
    AFC__NEXT_ASK /**< Wait for the answer to a challenge, then afc__transfer_resume_hop(). */
} afc__next;

typedef enum afc__flow {
    AFC__CONSUMED,
    AFC__PAUSED, /**< Not consumed: stop reading, and pass the same bytes again later. */
    AFC__STOP    /**< End the exchange now. */
} afc__flow;

/** What is done about content codings (RFC 9110 section 8.4). */
typedef enum afc__coding {
    AFC__CODING_DECODED, /**< Requested (Accept-Encoding) and decoded. */
    /** Not requested, as an encoded download can't be resumed, but decoded. */
    AFC__CODING_AVOIDED,
    /**
     * Not requested, as the caller asks for a range (RFC 9110 section 14.2), which would be one of the encoded body. A
     * whole response is decoded; a 206 changes this to KEPT.
     */
    AFC__CODING_WHOLE,
    AFC__CODING_KEPT /**< Not requested, and not decoded. */
} afc__coding;

/** The stores of a session, and what its transfers need to know about it. */
typedef struct afc__session_stores {
    afc_cookie_jar *cookies; /**< NULL if cookies aren't stored. */
    afc_cookie_policy cookie_policy;
    afc_hsts *hsts; /**< NULL if http isn't upgraded to https. */
    afc__to_ascii *to_ascii;
    afc_http_cache *http_cache;  /**< NULL if the session has no cache. */
    const char *cache_partition; /**< Partition of the cache keys; NULL is the same as "". */
    struct afc__fills *fills;    /**< The transfers whose responses may be stored. */
    /* The values of fields that the driver adds, as responses may depend on them (Vary). NULL if not added. */
    const char *user_agent, *accept_encoding;
    const char *trust; /**< The fingerprint of the trust policy; empty for the default one. */
} afc__session_stores;

/**
 * The size of a transfer's storage: a method fits, so that the head of a request without fields needs no allocation.
 */
enum { AFC__TRANSFER_STORAGE_SIZE = 16 };

/** Whether the request asks only for the rest of a partly downloaded file. */
typedef enum afc__range {
    AFC__RANGE_UNDECIDED, /**< Whether there is a partial file isn't known yet. */
    AFC__RANGE_NONE,      /**< The whole file is requested. */
    AFC__RANGE_ASKED,
    /** The rest was requested, but the response was useless: now the whole file is requested. */
    AFC__RANGE_REFUSED
} afc__range;

/** What a request for an upgrade has in addition to the reader of its body, whose context the functions get. */
typedef struct afc__upgrade {
    /** Must be first: afc__source.lender points to it, and so to the whole struct. */
    afc__lender lender;
    /**
     * Called before each hop: changes the values that must differ between two requests (Sec-WebSocket-Key), in place.
     */
    afc_status (*renew)(void *context, afc_header *headers, size_t count, afc_failure *failure);
    size_t refusal_limit; /**< Maximum number of bytes that on_body accepts of a refusal's body. */
} afc__upgrade;

/** Counters that the transfers of a session share. Atomic: any thread. */
typedef struct afc__transfer_counters {
    atomic_uint_fast64_t events; /**< Calls of the program's functions. */
    atomic_uint cancellations;   /**< How often all transfers of the session were cancelled. */
    /** The session was released: validations in the background are cancelled. */
    atomic_bool ends_validations;
} afc__transfer_counters;

/** What a transfer is for. */
typedef enum afc__purpose {
    AFC__PURPOSE_RESPONSE = 0, /**< The response to a request. */
    AFC__PURPOSE_CONNECTION,   /**< A connection in the pool: no request is sent. */
    /** An upgrade to another protocol, which uses the connection after a 101. */
    AFC__PURPOSE_UPGRADE,
    /** The validation of a stored response in the background: a body that isn't stored isn't needed. */
    AFC__PURPOSE_VALIDATION
} afc__purpose;

/**
 * Whether a task is suspended. RESUMING exists because the time until the loop continues the task must not count as the
 * peer's inactivity.
 */
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
    bool merges_cookies; /**< The jar's cookies are added to the Cookie field of the request. */
    uint8_t purpose;     /**< An afc__purpose. */
    afc__coding coding;
    afc_expect expect;
    /* Small members are adjacent, to save memory: a session may have many waiting transfers. */
    uint8_t priority;
    bool has_own_proxy;
    bool ignores_cookies;
    /** Waits for another transfer that may store the same response (AFC_REQUEST_COLLAPSE). */
    bool collapses;
    afc_http_cache_policy cache_policy;

    afc__proxy *own_proxy; /**< If has_own_proxy: the proxy, or NULL to connect directly. */
    char *unix_socket;     /**< NULL for the session's, "" for none. */

    const afc__session_stores *stores; /**< The session's; NULL without a session, as in tests. */
    /** Host of the main document, for cookies; NULL if unknown or not needed. */
    char *document_host;
    struct afc__hop_cache *hop_cache; /**< NULL without a cache, or if nothing was looked up yet. */

    afc__request_head request; /**< Head of the current or the next hop. */
    afc__hop hop;

    /* The members below belong to the whole task. */
    struct afc__auth *auth;      /**< NULL if the transfer answers no challenges. */
    unsigned connection_schemes; /**< Schemes (AFC_AUTH_…) that libcurl implements. */
    /** The number of the challenge that waits for the caller's answer, or 0. Any thread. */
    atomic_uint awaited;
    afc__source source;
    afc__sink sink;
    afc__range range;
    atomic_bool is_cancelled; /**< Set by any thread. */
    atomic_uchar suspension;  /**< An afc__suspension. Set by any thread. */
    bool is_retry; /**< The hop repeats one whose connection was lost, on a fresh connection. */
    uint8_t waits; /**< How often the task has waited for the network. */
    /** `range` ASKED or REFUSED: what the final response means for the file. */
    afc__resume_decision resume_decision;
    const char *refusal; /**< `range` REFUSED: why. */
    int redirects;
    unsigned cancellations; /**< counters->cancellations when the transfer was started. */
    afc_progress progress;
    int64_t progress_interval_us, progress_due_us;
    afc__rate send_rate, receive_rate;
    afc_result *result; /**< Its failure is the task's first one, which counts. */
    /** For the first hop's head. */
    _Alignas(max_align_t) char storage[AFC__TRANSFER_STORAGE_SIZE];
} afc__transfer;

/**
 * Checks and copies `request`. Takes ownership of what its body refers to, even on failure, but not of
 * `events->context`. Fails with AFC_EINVAL, AFC_EUNSUPPORTED or AFC_ENOMEM. Any thread.
 */
afc_status afc__transfer_init(afc__transfer *transfer, const afc_request *request,
                              const afc_task_events *events, afc__transfer_counters *counters,
                              afc_failure *failure);
void afc__transfer_clear(afc__transfer *transfer);

/**
 * Makes the request ask for an upgrade (RFC 9110 section 7.8), with fields that it has already. Call it before the
 * start. The body must be a reader of unknown length that can be rewound, and that has nothing to read before on_head
 * has got the 101.
 */
void afc__transfer_await_upgrade(afc__transfer *transfer, const afc__upgrade *upgrade);

/** Returns the argument of afc__transfer_await_upgrade(), or NULL if it wasn't called. */
static inline const afc__upgrade *afc__transfer_get_upgrade(const afc__transfer *transfer) {
    if (transfer->purpose != AFC__PURPOSE_UPGRADE) return NULL;
    return (const afc__upgrade *)transfer->source.lender;
}

/** Sets the failure of the task, unless it has failed already. Returns false, for callers to return. */
static inline bool afc__transfer_fail(afc__transfer *transfer, const afc_failure *failure) {
    if (transfer->result->failure.status == AFC_OK) transfer->result->failure = *failure;
    return false;
}

/** Does the same as afc__transfer_fail(), with a text. */
static inline bool afc__transfer_fail_text(afc__transfer *transfer, afc_status status,
                                           const char *text) {
    afc_failure failure = {0};
    afc__fail(&failure, status, "%s", text);
    return afc__transfer_fail(transfer, &failure);
}

/** Does the same with AFC_ENOMEM. */
static inline bool afc__transfer_fail_memory(afc__transfer *transfer) {
    afc_failure failure;
    afc__fail_memory(&failure);
    return afc__transfer_fail(transfer, &failure);
}

/*
 * The flags that any thread sets are read with relaxed order: nothing else is read through them, and resuming and
 * cancelling post an operation to the loop afterwards.
 */
static inline bool afc__transfer_is_suspended(const afc__transfer *transfer) {
    return atomic_load_explicit(&transfer->suspension, memory_order_relaxed) == AFC__SUSPENDED;
}

/** Returns whether the task is suspended, or was and the loop hasn't noticed yet that it is resumed. */
static inline bool afc__transfer_was_suspended(const afc__transfer *transfer) {
    return atomic_load_explicit(&transfer->suspension, memory_order_relaxed) != AFC__RUNNING;
}

static inline void afc__transfer_suspend(afc__transfer *transfer) {
    atomic_store(&transfer->suspension, AFC__SUSPENDED);
}

/** Resumes the task; any thread. Returns false if it isn't suspended. */
static inline bool afc__transfer_resume(afc__transfer *transfer) {
    unsigned char before = AFC__SUSPENDED;
    return atomic_compare_exchange_strong(&transfer->suspension, &before, AFC__RESUMING);
}

/** Completes a resume; called when the loop continues the transfer. */
static inline void afc__transfer_end_resuming(afc__transfer *transfer) {
    unsigned char before = AFC__RESUMING;
    (void)atomic_compare_exchange_strong(&transfer->suspension, &before, AFC__RUNNING);
}

/**
 * Returns whether this transfer was cancelled, or all of its session since its start, or is a validation that isn't
 * needed any more.
 */
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

/** Returns whether HTTP/2 is used from the first byte (prior knowledge), without asking the server. */
static inline bool afc__transfer_forces_http_2(const afc__transfer *transfer) {
    return transfer->version == AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
}

/** Returns whether the next hop uses HTTP/2 without TLS. */
static inline bool afc__transfer_is_clear_http_2(const afc__transfer *transfer) {
    return afc__transfer_forces_http_2(transfer) && !transfer->request.url.is_https;
}

/* ---- Questions about the response ----------------------------------------------------------- */

/** Returns whether the body is decoded before it gets here. It may then be much longer than what was received. */
static inline bool afc__transfer_decodes_body(const afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    return framing->is_encoded && framing->kind != AFC__FRAMING_NONE &&
           transfer->coding != AFC__CODING_KEPT;
}

/**
 * Returns whether the bytes of the body are passed on as they are on the wire: neither decoded nor with chunks removed.
 */
static inline bool afc__transfer_has_plain_body(const afc__transfer *transfer) {
    return transfer->hop.framing.kind != AFC__FRAMING_CHUNKED &&
           !afc__transfer_decodes_body(transfer);
}

/** Returns whether a 101 was received: the connection has left HTTP, and both bodies are bytes of the new protocol. */
static inline bool afc__transfer_is_upgraded(const afc__transfer *transfer) {
    return transfer->purpose == AFC__PURPOSE_UPGRADE &&
           transfer->hop.reader->state == AFC__HEAD_DONE &&
           transfer->hop.reader->head.status == 101;
}

/**
 * Returns whether the response is one that refuses the upgrade, and is passed to the caller. HTTP then frames its body
 * as that of any other.
 */
static inline bool afc__transfer_refuses_upgrade(const afc__transfer *transfer) {
    return transfer->purpose == AFC__PURPOSE_UPGRADE && afc__hop_in_body(&transfer->hop) &&
           !afc__transfer_is_upgraded(transfer);
}

/** Returns whether an HTTP proxy must make a tunnel (CONNECT). Otherwise it forwards the request. */
static inline bool afc__transfer_needs_tunnel(const afc__transfer *transfer) {
    return transfer->request.url.is_https || transfer->purpose == AFC__PURPOSE_UPGRADE;
}

/* ---- Steps --------------------------------------------------------------------------------- */

/**
 * Prepares a hop, before it is sent: resets the hop's state, opens or rewinds the source, adds fields. Returns false if
 * the transfer has failed.
 */
bool afc__transfer_begin_hop(afc__transfer *transfer);

/** Returns whether this hop sends Expect: 100-continue, if its version of HTTP has that. */
bool afc__transfer_expects(const afc__transfer *transfer);

/** Returns whether no byte of the body was sent because this hop waits for 100 (Continue). */
bool afc__transfer_awaits_continue(const afc__transfer *transfer);

/**
 * Returns whether a final response was received instead of 100 (Continue), so that the request body won't be sent. A
 * server that still expects the body would mistake the next request on the connection for it.
 */
bool afc__transfer_expects_unsent_body(const afc__transfer *transfer);

/** Handles a line of a head or of trailers. Returns false if the exchange must end. */
bool afc__transfer_on_line(afc__transfer *transfer, afc_slice line);

/**
 * Handles a final head that was parsed before, such as a stored one, and copies it. Returns false if the hop must end.
 */
bool afc__transfer_on_head(afc__transfer *transfer, const afc_head *head);

/** Handles decoded bytes of the body. `received` is the number of the hop's body bytes on the wire so far. */
afc__flow afc__transfer_on_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Starts the transfer: a cancellation of all transfers before this call has no effect on it. Any thread. */
void afc__transfer_begin(afc__transfer *transfer);

/**
 * Makes the transfer a validation in the background, which ends once its body isn't stored. Call it before the start.
 * Cookies are sent as for a document of `document_host`; NULL if that is unknown. Returns false when out of memory.
 */
bool afc__transfer_set_validation_only(afc__transfer *transfer, const char *document_host);

/** Removes the limit of the total time, as what follows may take any time. */
static inline void afc__transfer_end_total_limit(afc__transfer *transfer) {
    transfer->timeouts.total_ms = 0;
}

/** Records that the reader of the request body may have bytes again. */
static inline void afc__transfer_body_is_ready(afc__transfer *transfer) {
    transfer->source.is_waiting = false;
}

/**
 * Returns when a direction that waits for a rate limit or a reader may continue (afc__now_us()); INT64_MAX if unknown.
 */
int64_t afc__transfer_wakeup(const afc__transfer *transfer);

/**
 * Forgets the moments of afc__transfer_wakeup() that have passed; a direction that must still wait sets its own again.
 */
void afc__transfer_stop_waiting(afc__transfer *transfer, int64_t now);

/** Returns whether a direction is paused until afc__transfer_wake(). */
bool afc__transfer_waits_for_wake(const afc__transfer *transfer);

/** Allows both directions to continue, and calls on_wake. */
void afc__transfer_wake(afc__transfer *transfer);

/** Allows the request body to continue, and calls on_wake. What on_body has refused stays paused. */
void afc__transfer_wake_sending(afc__transfer *transfer);

/** Reads the next bytes of the request body. Returns their number, or AFC_READ_…. */
ptrdiff_t afc__transfer_read_body(afc__transfer *transfer, void *buffer, size_t size);

/**
 * Lends bytes to send that needn't be copied; see afc__source_lend(). Afterwards call afc__transfer_took_body() with
 * the number that was sent.
 */
afc_slice afc__transfer_lend_body(const afc__transfer *transfer);
void afc__transfer_took_body(afc__transfer *transfer, size_t count);

/** Sets the number of bytes sent of a body that isn't read here, because libcurl has all of it. */
void afc__transfer_set_sent(afc__transfer *transfer, int64_t sent);

/** Rewinds the request body, for a repetition by libcurl. Returns false if the transfer has failed. */
bool afc__transfer_rewind_body(afc__transfer *transfer);

/**
 * Begins the body of a request that is about to be sent. Rewinds it if bytes were read for an earlier attempt. Returns
 * false if the transfer has failed.
 */
bool afc__transfer_begin_body(afc__transfer *transfer);

/** Ends the hop and returns what follows. Takes the reference `outcome->verification`. */
afc__next afc__transfer_end_hop(afc__transfer *transfer, const afc__outcome *outcome);

/**
 * Applies the caller's answer to the challenge with this number. Takes `identity`, which may be NULL. Returns false if
 * no such challenge waits. If afc__transfer_end_hop() had returned AFC__NEXT_ASK, call afc__transfer_resume_hop() then.
 */
bool afc__transfer_on_answer(afc__transfer *transfer, uint32_t number,
                             afc_challenge_decision answer, afc__identity *identity);
afc__next afc__transfer_resume_hop(afc__transfer *transfer);

/** Completes the result, frees what the task doesn't need any more, and calls on_done, the last callback. */
void afc__transfer_finish(afc__transfer *transfer);

/** Counts an event. Call it before each callback of the program. */
static inline void afc__transfer_count_event(afc__transfer *transfer) {
    atomic_fetch_add_explicit(&transfer->counters->events, 1, memory_order_relaxed);
}

#endif
