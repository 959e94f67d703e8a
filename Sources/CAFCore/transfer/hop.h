/** The state of one hop: one request and its response. */
#ifndef AFC_TRANSFER_HOP_H
#define AFC_TRANSFER_HOP_H

#include "base/buffer.h"
#include "message/head.h"
#include "message/proxy.h"
#include "transfer/phase.h"
#include "transfer/request_head.h"

typedef struct afc__transfer afc__transfer;

/** The state of a hop. afc__hop_clear() clears all of it before the next one. */
typedef struct afc__hop {
    afc__phase phase : 8;
    /** Other hops use the connection, too, which a pause of this one would stop. */
    bool shares_connection;
    bool has_invalid_head; /**< The head was invalid, and a stale response is used instead. */
    /** on_body returned AFC_EAGAIN, and afc__transfer_wake() wasn't called since. */
    bool is_held;
    uint32_t discarded;       /**< Bytes of the body that were discarded. */
    char *cookies;            /**< The value of Cookie, or NULL. A secret. */
    const afc__proxy *proxy;  /**< Chosen by the driver; NULL to connect directly. */
    afc__head_reader *reader; /**< In the result's block; NULL before the first hop. */
    afc__framing framing;     /**< Set once the final head was received. */
    uint64_t decoded;         /**< Bytes of the body after decoding. */
    /* Decoded bytes that couldn't be passed on yet, from `kept_offset` on. */
    afc__buffer kept;
    uint32_t kept_offset;
    uint32_t refused; /**< Size of the bytes that on_body refused and gets again; 0 if none. */
    /** Bytes at the start of the next piece that on_body has consumed already. */
    uint32_t taken;
    /** Bytes at the start of the body that are from the cache, not from the server. */
    uint32_t from_cache;
    /** The `received` of afc__transfer_on_body() for the last byte in `kept`. */
    int64_t kept_received;
    afc__request_head *next; /**< DISCARDING: the request of the next hop; else NULL. */
    char *location;          /**< DISCARDING: the target of a redirect, for the hop's record. */
} afc__hop;

/** Enters a phase, which the one before must allow; see transfer/phase.h. */
void afc__hop_enter(afc__hop *hop, afc__phase phase);

/** Frees what the hop owns and zeroes it. */
void afc__hop_clear(afc__hop *hop);

/** Makes an empty request head in `hop->next`, and returns it; NULL when out of memory. */
afc__request_head *afc__hop_make_next(afc__hop *hop);

/**
 * Begins a hop: clears the state, renews an upgrade's fields, applies HSTS and cookies. Returns false if the transfer
 * has failed.
 */
bool afc__transfer_reset_hop(afc__transfer *transfer);

/** Returns whether all bytes of the body were received. False if only libcurl or the end of the connection knows. */
bool afc__transfer_has_whole_body(const afc__transfer *transfer);

/* ---- Questions ------------------------------------------------------------------------------- */

/** Returns how many bytes of the body are missing after `received` bytes; INT64_MAX if the head has no length. */
int64_t afc__hop_bytes_missing(const afc__hop *hop, int64_t received);

/** Returns whether the hop's final head wasn't received yet, or may be followed by another one. */
static inline bool afc__hop_in_head(const afc__hop *hop) {
    return hop->phase <= AFC__PHASE_HEAD_PENDING;
}

/** Returns whether the response was accepted, so that its body goes to the sink. */
static inline bool afc__hop_in_body(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_BODY;
}

/** Returns whether the body goes to the sink now, or when a challenge is answered so that its response is accepted. */
static inline bool afc__hop_needs_body(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_BODY || hop->phase == AFC__PHASE_AWAITING_ANSWER;
}

/** Returns whether no byte of a response was received. */
static inline bool afc__hop_has_no_response(const afc__hop *hop) {
    return hop->reader->bytes == 0;
}

/** Returns whether the next line can only be a status line. */
static inline bool afc__hop_expects_status(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_HEAD && hop->reader->state == AFC__HEAD_AT_STATUS;
}

/** Returns whether the version of the status line received last is HTTP/2 or later. */
static inline bool afc__hop_is_http_2(const afc__hop *hop) {
    return hop->reader->head.version >= AFC_HTTP_2;
}

/** Returns whether only the end of the connection, or of its stream, ends the body. */
static inline bool afc__hop_ends_with_connection(const afc__hop *hop) {
    return afc__hop_needs_body(hop) && hop->framing.kind == AFC__FRAMING_CLOSE;
}

/** Returns whether a body isn't needed: it is only read so that the connection can be used again. */
static inline bool afc__hop_discards_body(const afc__hop *hop) {
    return hop->phase == AFC__PHASE_DISCARDING || hop->phase == AFC__PHASE_SUPERSEDED ||
           hop->phase == AFC__PHASE_CHALLENGED;
}

#endif
