/**
 * One task from its first hop to its result. Knows neither sockets nor libcurl: the driver passes it lines,
 * bytes and ends of hops, and asks what to send.
 */
#ifndef AF_TRANSFER_TRANSFER_H
#define AF_TRANSFER_TRANSFER_H

#include "base/rate.h"
#include "body/sink.h"
#include "body/source.h"
#include "message/credentials.h"
#include "message/head.h"
#include "message/proxy.h"
#include "transfer/request_head.h"
#include "transfer/result.h"

#include <afcore/cookie.h>
#include <afcore/hsts.h>
#include <afcore/task.h>
#include <stdatomic.h>
#include <stddef.h>

/** How a hop ended, as the driver reports it. */
typedef struct af__outcome {
    af_failure failure;             /**< AF_OK: the exchange was carried to its end. */
    af_hop hop;                     /**< Times, bytes, addresses; the rest is the transfer's. */
    af__verification *verification; /**< A reference, of what the server has shown over TLS. */
} af__outcome;

typedef enum af__next {
    AF__NEXT_FINISH, /**< Nothing: the task has its response, or has failed. */
    AF__NEXT_HOP,    /**< Send `request` once more or for the first time. */
    AF__NEXT_WAIT, /**< The same once its host is reachable; else the task fails as the hop did. */
    AF__NEXT_ASK   /**< Wait for the answer to a challenge, then af__transfer_resume_hop(). */
} af__next;

typedef enum af__flow {
    AF__CONSUMED,
    AF__PAUSED, /**< Not consumed: stop reading, and pass the same bytes again later. */
    AF__STOP    /**< End the exchange now. */
} af__flow;

typedef enum af__phase {
    AF__PHASE_HEAD,         /**< Waiting for the final head of the hop. */
    AF__PHASE_HEAD_PENDING, /**< It is there, but may be one of several rounds of authentication. */
    AF__PHASE_BODY,         /**< The body goes to the sink. */
    AF__PHASE_DISCARDING, /**< A redirect, or a useless part: the body goes nowhere, `next` follows. */
    AF__PHASE_EXPECT_FAILED,   /**< 417: the same request again, without Expect. */
    AF__PHASE_AWAITING_ANSWER, /**< 401, 407: not known yet whether the body goes anywhere. */
    AF__PHASE_CHALLENGED /**< 401, 407: the body goes nowhere, then the same with credentials. */
} af__phase;

/** One hop. All of it begins anew with each: af__hop_clear() clears it as one. */
typedef struct af__hop {
    af__phase phase;
    bool shares_connection;  /**< With others, which a pause of this one would stop. */
    bool is_held;            /**< on_body returned AF_EAGAIN, and nothing has woken it since. */
    char *cookies;           /**< The value of Cookie; NULL: none. A secret. */
    const af__proxy *proxy;  /**< Chosen by the driver; NULL: directly. */
    af__head_reader *reader; /**< The result's; NULL before the first hop. */
    af__framing framing;     /**< Once the final head is there. */
    uint64_t decoded;        /**< Bytes of the body after decoding. */
    uint64_t discarded;      /**< Bytes of a body that goes nowhere. */
    /* Decoded bytes that couldn't be passed on yet; those before `kept_offset` have been. */
    af__buffer kept;
    size_t kept_offset;
    int64_t kept_received;  /**< Bytes on the wire when the last of them came. */
    af__request_head *next; /**< DISCARDING: what to send after this hop; else NULL. */
    char *location;         /**< DISCARDING: the target of a redirect, for the hop's record. */
} af__hop;

/** What happens to the encodings of a body that libcurl can decode. */
typedef enum af__coding {
    AF__CODING_DECODED, /**< They are asked for and decoded. */
    AF__CODING_AVOIDED, /**< None is asked for, as an encoded download can't be resumed; decoded. */
    AF__CODING_KEPT     /**< None is asked for, and none is decoded. */
} af__coding;

/** What a session remembers of its servers. */
typedef struct af__store {
    af_cookie_jar *cookies; /**< NULL: none are kept. */
    af_cookie_policy cookie_policy;
    af_hsts *hsts; /**< NULL: http stays http. */
    af__to_ascii *to_ascii;
} af__store;

/** Holds the method of a request without fields, which then needs no memory of its own. */
enum { AF__TRANSFER_ROOM = 16 };

/** Was only the rest of a file asked for? */
typedef enum af__range {
    AF__RANGE_UNSOUGHT, /**< It wasn't looked yet for a partial file. */
    AF__RANGE_NONE,     /**< The whole is asked for. */
    AF__RANGE_ASKED,
    AF__RANGE_REFUSED /**< It was, but the response was useless: now the whole is asked for. */
} af__range;

typedef struct af__transfer {
    af_task_events events;
    atomic_uint_fast64_t *event_counter; /**< The session's. */
    af_limits limits;                    /**< With the defaults filled in. */
    af_timeouts timeouts;
    af_http_version_preference version;
    bool allow_downgrade, waits_for_network;
    af__coding coding;
    af_expect expect;
    uint8_t priority;

    bool has_own_proxy;
    af__proxy *own_proxy; /**< With has_own_proxy: NULL is none at all. */
    char *unix_socket;    /**< NULL: the session's; "": none. */

    const af__store *store; /**< The session's; NULL: there is none. */
    bool ignores_cookies;
    char *document_host; /**< Of the main document; NULL: unknown, or not needed. */

    af__request_head request; /**< Of the hop that is or will be under way. */
    bool is_retry; /**< It repeats one whose pooled connection was lost, on a fresh one. */
    af__hop hop;

    /* The whole task. */
    struct af__auth *auth;       /**< NULL: it answers no challenge. */
    unsigned connection_schemes; /**< AF_AUTH_…, that libcurl can do. */
    atomic_uint awaited; /**< The number of the challenge that waits for its answer; 0: none. */
    af__source source;
    af__sink sink;
    af__range range;
    af__resume_answer resume_answer; /**< ASKED and REFUSED: what the final answer means. */
    const char *refusal;             /**< REFUSED: why. */
    int redirects;
    unsigned waits; /**< For the network. */
    af_progress progress;
    int64_t progress_interval_us, progress_due_us;
    af__rate send_rate, receive_rate;
    atomic_bool is_cancelled, is_suspended;
    af_result *result; /**< Its failure is the first one, and decides. */
    _Alignas(max_align_t) char room[AF__TRANSFER_ROOM]; /**< For the first hop's head. */
} af__transfer;

/**
 * Check and copy `request`; takes what its body borrows, also when it fails. Does not take
 * `events->context`. AF_EINVAL, AF_UNSUPPORTED, AF_ENOMEM.
 */
af_status af__transfer_init(af__transfer *transfer, const af_request *request,
                            const af_task_events *events, atomic_uint_fast64_t *event_counter,
                            af_failure *failure);
void af__transfer_clear(af__transfer *transfer);

/** The first failure is the reason of the end. false, for callers to return. */
static inline bool af__transfer_fail(af__transfer *transfer, const af_failure *failure) {
    if (transfer->result->failure.status == AF_OK) transfer->result->failure = *failure;
    return false;
}

static inline bool af__transfer_has_failed(const af__transfer *transfer) {
    return transfer->result->failure.status != AF_OK;
}

/* ---- Questions about the hop --------------------------------------------------------------- */

static inline bool af__hop_in_head(const af__transfer *transfer) {
    return transfer->hop.phase <= AF__PHASE_HEAD_PENDING;
}

/** The body is one that the task wants. */
static inline bool af__hop_in_body(const af__transfer *transfer) {
    return transfer->hop.phase == AF__PHASE_BODY;
}

/** Has nothing of a response come? */
static inline bool af__hop_is_unanswered(const af__transfer *transfer) {
    return transfer->hop.reader->bytes == 0;
}

/** Can the next line only be a status line? */
static inline bool af__hop_expects_status(const af__transfer *transfer) {
    return transfer->hop.phase == AF__PHASE_HEAD &&
           transfer->hop.reader->state == AF__HEAD_AT_STATUS;
}

/** By the status line that came last. */
static inline bool af__hop_is_http_2(const af__transfer *transfer) {
    return transfer->hop.reader->head.version >= AF_HTTP_2;
}

/** Is the body decoded on its way here? Then it may be much longer than what was received. */
static inline bool af__hop_is_decoded(const af__transfer *transfer) {
    const af__framing *framing = &transfer->hop.framing;
    bool is_decoded = framing->is_encoded && transfer->coding != AF__CODING_KEPT;
    return is_decoded || framing->has_coding;
}

/** Do the bytes of the body come as they are, without chunks around them? */
static inline bool af__hop_has_plain_body(const af__transfer *transfer) {
    return transfer->hop.framing.kind != AF__FRAMING_CHUNKED && !af__hop_is_decoded(transfer);
}

/** Does only the end of the connection, or of its stream, end the body? */
static inline bool af__hop_ends_with_connection(const af__transfer *transfer) {
    return af__hop_in_body(transfer) && transfer->hop.framing.kind == AF__FRAMING_CLOSE;
}

/** Has the body a transfer coding, which no request asks for? */
static inline bool af__hop_has_coded_body(const af__transfer *transfer) {
    const af__framing *framing = &transfer->hop.framing;
    return !af__hop_in_head(transfer) && framing->kind != AF__FRAMING_NONE && framing->has_coding;
}

/** Of a body of which so many bytes have come. INT64_MAX: its head doesn't say. */
int64_t af__hop_bytes_missing(const af__transfer *transfer, int64_t received);

/** Have all bytes of the body come, as far as its head says how many there are? */
bool af__hop_is_whole(const af__transfer *transfer);

/* ---- Steps --------------------------------------------------------------------------------- */

/** Before a hop is sent: opens or rewinds the source. false: the transfer has failed. */
bool af__transfer_begin_hop(af__transfer *transfer);

/** Does this hop send Expect: 100-continue, if its version of HTTP has that? */
bool af__transfer_expects(const af__transfer *transfer);

/**
 * Was a final response sent instead of 100 (Continue), so that the request body will not be sent? A server
 * that still expects it would take the next request on the connection for that body.
 */
bool af__transfer_expects_unsent_body(const af__transfer *transfer);

/** One header line. false: end the exchange. */
bool af__transfer_on_line(af__transfer *transfer, af_slice line);

/**
 * Check decoded bytes that were paused against the limits, and keep them if `keeps`. AF__CONSUMED if they
 * are kept, AF__PAUSED if they are within the limits, AF__STOP.
 */
af__flow af__transfer_keep(af__transfer *transfer, af_slice bytes, int64_t received, bool keeps);

/** Are there bytes that af__transfer_deliver() has to pass on before others come? */
static inline bool af__transfer_has_kept(const af__transfer *transfer) {
    return transfer->hop.kept.size > transfer->hop.kept_offset;
}

/** Pass on the next piece of what is kept: AF__CONSUMED, AF__PAUSED if it is still too early, AF__STOP. */
af__flow af__transfer_deliver(af__transfer *transfer);

/** Body bytes after decoding; `received` counts those of this hop on the wire. */
af__flow af__transfer_on_body(af__transfer *transfer, af_slice bytes, int64_t received);

/** Retry what was paused, in either direction. */
void af__transfer_wake(af__transfer *transfer);

/** The next bytes of the request body, or AF_READ_…. */
ptrdiff_t af__transfer_read_body(af__transfer *transfer, void *buffer, size_t size);

/** libcurl needs the request body from the start, for a retry of its own. */
bool af__transfer_rewind_body(af__transfer *transfer);

/** A request is sent now, perhaps again: what was read of its body went with an earlier one. */
bool af__transfer_begin_body(af__transfer *transfer);

/** The hop has ended. Takes the outcome's verification. */
af__next af__transfer_end_hop(af__transfer *transfer, const af__outcome *outcome);

/**
 * A challenge was answered. Takes `identity`, which may be NULL. False: none of that number waits for an
 * answer. After AF__NEXT_ASK call af__transfer_resume_hop() then.
 */
bool af__transfer_on_answer(af__transfer *transfer, uint32_t number, af_challenge_answer answer,
                            af__identity *identity);
af__next af__transfer_resume_hop(af__transfer *transfer);

/** Complete the result and call on_done, the last callback. */
void af__transfer_finish(af__transfer *transfer);

#endif
