/**
 * One task from its first hop to its result: which event may follow which, and what comes next.
 * Knows neither sockets nor curl; it is fed with lines, bytes and ends of hops.
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

/** How a hop ended, told by whoever carried it. */
typedef struct af__outcome {
    af_failure failure;     /**< AF_OK: the exchange was carried to its end. */
    af_hop hop;             /**< Times, bytes, addresses; the rest is the transfer's. */
    af__evidence *evidence; /**< A reference, of what the server has shown over TLS. */
} af__outcome;

typedef enum af__next {
    AF__NEXT_FINISH, /**< Nothing more: the sink has all. */
    AF__NEXT_HOP,    /**< Send `outgoing` once more or for the first time. */
    AF__NEXT_WAIT,   /**< Once there is a way to its host, the same; if not, its outcome counts. */
    AF__NEXT_ASK /**< Nothing, before a challenge is answered; then af__transfer_resume_hop(). */
} af__next;

typedef enum af__taken {
    AF__TAKEN,
    AF__HELD, /**< Not taken: stop reading, and give the same bytes again later. */
    AF__STOP  /**< End the exchange now. */
} af__taken;

typedef enum af__phase {
    AF__PHASE_HEAD,      /**< Waiting for the final head of the hop. */
    AF__PHASE_BODY,      /**< Its body goes to the sink. */
    AF__PHASE_DRAINING,  /**< A redirect, or a part of no use: its body goes nowhere. */
    AF__PHASE_REFUSED,   /**< 417: the same again without asking first. */
    AF__PHASE_ASKED,     /**< 401, 407: it is not known yet whether its body goes anywhere. */
    AF__PHASE_CHALLENGED /**< 401, 407: its body goes nowhere, then the same with credentials. */
} af__phase;

/** What a session remembers of its servers. */
typedef struct af__store {
    af_cookie_jar *cookies; /**< NULL: none are kept. */
    af_cookie_policy cookie_policy;
    af_hsts *hsts; /**< NULL: http stays http. */
    /** A host in A-labels, that ends in NUL and in no dot. false: it can't be told. */
    bool (*to_ascii)(char *out, size_t size, af_slice host);
} af__store;

/** For the method of a request without fields, which then needs no memory of its own; many tasks may wait. */
enum { AF__TRANSFER_ROOM = 16 };

/** Was only the rest of a file asked for? */
typedef enum af__range {
    AF__RANGE_UNSOUGHT, /**< Nobody looked yet for what is there. */
    AF__RANGE_NONE,     /**< The whole is asked for. */
    AF__RANGE_ASKED,
    AF__RANGE_REFUSED /**< It was, but the answer was of no use: now the whole. */
} af__range;

typedef struct af__transfer {
    af_task_events events;
    atomic_uint_fast64_t *event_counter; /**< The session's. */
    af_limits limits;                    /**< With the defaults filled in. */
    af_timeouts timeouts;
    af_http_wish version;
    bool keep_encoding, allow_downgrade;
    bool wants_identity; /**< Encoded content couldn't be continued. */
    bool waits_for_network;
    af_expect expect;
    uint8_t priority;

    bool has_own_proxy;
    af__proxy *own_proxy; /**< With has_own_proxy: NULL is none at all. */
    char *unix_socket;    /**< NULL: the session's; "": none. */

    const af__store *store; /**< The session's; NULL: it remembers nothing. */
    bool ignores_cookies;
    char *document_host; /**< Of the main document, where that is known and asked for. */

    /* The hop that is or will be under way. */
    char *cookies;        /**< What Cookie says; NULL: nothing. A secret. */
    const af__proxy *via; /**< Chosen by the driver; NULL: directly. */
    af__outgoing outgoing;
    bool sends_body;
    bool needs_fresh_connection; /**< A pooled one had gone stale. */
    bool was_retried;
    af__phase phase;
    bool has_final_head;
    bool has_pending_head;   /**< The head may be one of several rounds of authentication. */
    af__head_reader *reader; /**< The result's; NULL before the first hop. */
    af__framing framing;
    af__outgoing *next; /**< DRAINING: what to send after this hop; else NULL. */
    bool next_sends_body;
    char *location; /**< DRAINING: the target, for the hop's record. */
    uint64_t drained;
    /* Decoded bytes that couldn't be passed on yet; those before `kept_offset` have been. */
    af__buffer kept;
    size_t kept_offset;
    int64_t kept_received; /**< Bytes on the wire when the last of them came. */

    /* The whole task. */
    struct af__auth *auth;       /**< NULL: it never answers a challenge. */
    unsigned connection_schemes; /**< AF_AUTH_…, that whoever carries the transfer can do. */
    atomic_uint awaited; /**< The number of the challenge that waits for its answer; 0: none. */
    af__source source;
    af__sink sink;
    af__range range;
    af__resume_answer resume_answer; /**< ASKED and REFUSED: what the final answer means. */
    const char *refusal;             /**< REFUSED: why. */
    int redirects;
    unsigned waits;   /**< For the network. */
    uint64_t decoded; /**< Bytes of this hop's body after decoding. */
    af_progress progress;
    int64_t progress_interval_us, progress_due_us;
    af__rate send_rate, receive_rate;
    atomic_bool is_cancelled, is_suspended;
    bool shares_connection; /**< With others, which a hold of this one would stop. */
    bool is_held;           /**< on_body said "not now". */
    af_result *result;      /**< Its failure is the first one, and decides. */
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

/** Before a hop is sent: opens or rewinds the source. A failure is the transfer's. */
bool af__transfer_begin_hop(af__transfer *transfer);

/** Does this hop ask before it sends its body, where the version of HTTP has words for it? */
bool af__transfer_expects(const af__transfer *transfer);

/**
 * Was a final answer given to a question, so that the body will not come? To a server that reads
 * on, the next request of the connection would be that body.
 */
bool af__transfer_owes_body(const af__transfer *transfer);

/** One header line. false: end the exchange. */
bool af__transfer_take_line(af__transfer *transfer, af_slice line);

/** Is the body decoded on its way here? Then it may be much longer than what was received. */
static inline bool af__transfer_is_decoded(const af__transfer *transfer) {
    return (transfer->framing.is_encoded && !transfer->keep_encoding) ||
           transfer->framing.has_coding;
}

/**
 * Decoded bytes that were held: the transfer keeps them, unless they are only to be judged. AF__TAKEN;
 * AF__HELD if they are within the limits but not to be kept; AF__STOP.
 */
af__taken af__transfer_keep(af__transfer *transfer, af_slice bytes, int64_t received, bool keeps);

/** Are there bytes that af__transfer_deliver() has to pass on before others come? */
static inline bool af__transfer_has_kept(const af__transfer *transfer) {
    return transfer->kept.size > transfer->kept_offset;
}

/** Pass on the next piece of what is kept: AF__TAKEN, AF__HELD if it is still too early, AF__STOP. */
af__taken af__transfer_deliver(af__transfer *transfer);

/** Body bytes after decoding; `received` counts those of this hop on the wire. */
af__taken af__transfer_take_body(af__transfer *transfer, af_slice bytes, int64_t received);

/** What was put off, in either direction, may be tried again. */
void af__transfer_wake(af__transfer *transfer);

/** The next bytes of the request body, or AF_READ_…. */
ptrdiff_t af__transfer_read_body(af__transfer *transfer, void *buffer, size_t size);

/** The carrier wants the request body from the start (a retry of its own). */
bool af__transfer_rewind_body(af__transfer *transfer);

/** A request goes out now, perhaps again: what was read of its body belonged to another one. */
bool af__transfer_begin_body(af__transfer *transfer);

/** Make `failure` the reason of the end, unless there is one already. */
void af__transfer_fail(af__transfer *transfer, const af_failure *failure);

/** The hop is over. Takes the outcome's evidence. */
af__next af__transfer_end_hop(af__transfer *transfer, const af__outcome *outcome);

/** AF__NEXT_ASK was the last word, and the challenge has been answered. */
af__next af__transfer_resume_hop(af__transfer *transfer);

/** Complete the result and tell on_done; nothing of the events is called afterwards. */
void af__transfer_finish(af__transfer *transfer);

#endif
