/** The state of one hop: one request on the wire. */
#ifndef AFC_TRANSFER_HOP_H
#define AFC_TRANSFER_HOP_H

#include "base/buffer.h"
#include "message/head.h"
#include "message/proxy.h"
#include "transfer/phase.h"
#include "transfer/request_head.h"

typedef struct afc__transfer afc__transfer;

/** One hop. All of it begins anew with each: afc__hop_clear() clears it as one. */
typedef struct afc__hop {
    afc__phase phase : 8;
    bool shares_connection;   /**< With others, which a pause of this one would stop. */
    bool has_invalid_head;    /**< A stale response is used instead. */
    bool is_held;             /**< on_body returned AFC_EAGAIN, and nothing has woken it since. */
    uint32_t discarded;       /**< Bytes of a body that goes nowhere. */
    char *cookies;            /**< The value of Cookie; NULL: none. A secret. */
    const afc__proxy *proxy;  /**< Chosen by the driver; NULL: directly. */
    afc__head_reader *reader; /**< The result's; NULL before the first hop. */
    afc__framing framing;     /**< Once the final head is there. */
    uint64_t decoded;         /**< Bytes of the body after decoding. */
    /* Decoded bytes that couldn't be passed on yet; those before `kept_offset` have been. */
    afc__buffer kept;
    uint32_t kept_offset;
    uint32_t refused;        /**< Size of what on_body refused last, and gets again; 0: nothing. */
    uint32_t taken;          /**< Bytes at the start of the next piece that on_body has taken. */
    uint32_t from_cache;     /**< Bytes of the body that don't come from the server. */
    int64_t kept_received;   /**< Bytes on the wire when the last of them came. */
    afc__request_head *next; /**< DISCARDING: what to send after this hop; else NULL. */
    char *location;          /**< DISCARDING: the target of a redirect, for the hop's record. */
} afc__hop;

/** Enters a phase, which the one before must allow; see transfer/phase.h. */
void afc__hop_enter(afc__hop *hop, afc__phase phase);

/** Frees what a hop has; the next one may begin. */
void afc__hop_clear(afc__hop *hop);

/** Makes an empty head for the hop after this one, in `next`; NULL when out of memory. */
afc__request_head *afc__hop_make_next(afc__hop *hop);

/** Begins a hop: with nothing of the one before, and with its cookies. false: the transfer has failed. */
bool afc__transfer_reset_hop(afc__transfer *transfer);

/** Returns whether all bytes of the body were received, as far as its head says how many there are. */
bool afc__transfer_has_whole_body(const afc__transfer *transfer);

/* ---- Questions ------------------------------------------------------------------------------- */

/** Returns how many bytes are missing of a body of which `received` were received. INT64_MAX: its head doesn't say. */
int64_t afc__hop_bytes_missing(const afc__hop *hop, int64_t received);

/** Returns whether the final head wasn't received yet, or may be one of several. */
static inline bool afc__hop_in_head(const afc__hop *hop) {
    return hop->phase <= AFC__PHASE_HEAD_PENDING;
}

/** Returns whether a body is received that the task wants. */
static inline bool afc__hop_in_body(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_BODY;
}

/** Returns whether no byte of a response was received. */
static inline bool afc__hop_has_no_response(const afc__hop *hop) {
    return hop->reader->bytes == 0;
}

/** Returns whether the next line can only be a status line. */
static inline bool afc__hop_expects_status(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_HEAD && hop->reader->state == AFC__HEAD_AT_STATUS;
}

/** Returns whether the status line received last is one of HTTP/2 or later. */
static inline bool afc__hop_is_http_2(const afc__hop *hop) {
    return hop->reader->head.version >= AFC_HTTP_2;
}

/** Returns whether only the end of the connection, or of its stream, ends the body. */
static inline bool afc__hop_ends_with_connection(const afc__hop *hop) {
    return afc__hop_in_body(hop) && hop->framing.kind == AFC__FRAMING_CLOSE;
}

/** Returns whether the body has a transfer coding, which no request asks for. */
static inline bool afc__hop_has_coded_body(const afc__hop *hop) {
    const afc__framing *framing = &hop->framing;
    return !afc__hop_in_head(hop) && framing->kind != AFC__FRAMING_NONE && framing->has_coding;
}

#endif
