/*
 * Response bodies: bytes are checked against the limits when they are received, and passed on when the sink accepts
 * them.
 */
#include "transfer/response_body.h"

#include "base/clock.h"
#include "base/failure.h"
#include "body/sink_write.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache.h"
#include "transfer/transfer.h"

#include <assert.h>

enum {
    MAX_DRAIN = 64 * 1024,
    RATIO_STARTS_AT = 1024 * 1024,
    /* Is added to what was received, so that small bodies of any ratio pass. */
    RATIO_SLACK = 32 * 1024,
    /* Kept bytes are passed on in pieces as large as libcurl's largest (CURL_MAX_WRITE_SIZE). */
    PIECE = 16 * 1024,
    KEPT_STEP = 256 * 1024
};

/* ---- Limits -------------------------------------------------------------------------------- */

static afc_status check_ratio(const afc__transfer *transfer, uint64_t decoded, int64_t received,
                              afc_failure *failure) {
    if (decoded <= RATIO_STARTS_AT) return AFC_OK;
    uint64_t wire = (uint64_t)(received > 0 ? received : 0) + RATIO_SLACK;
    if (decoded / transfer->limits.decoding_ratio <= wire) return AFC_OK;
    return afc__give_reason(failure, AFC_REASON_DECODED_LIMIT,
                            afc__fail(failure, AFC_ETOOBIG,
                                      "the body exceeds %u times its size after decoding: "
                                      "%llu bytes became at least %llu",
                                      (unsigned)transfer->limits.decoding_ratio,
                                      (unsigned long long)(received > 0 ? received : 0),
                                      (unsigned long long)decoded));
}

bool afc__transfer_admits_decoded(afc__transfer *transfer, uint64_t decoded, int64_t received) {
    afc_failure failure;
    return check_ratio(transfer, decoded, received, &failure) == AFC_OK ||
           afc__transfer_fail(transfer, &failure);
}

/**
 * Checks bytes of a body against the limits before any of them is passed on or kept, so that the limits don't depend on
 * pauses. Discarded bodies have a limit of their own.
 */
static bool is_within_limits(afc__transfer *transfer, size_t size, int64_t received) {
    if (!afc__hop_needs_body(&transfer->hop)) return true;
    afc_failure failure = {0};
    afc_status status = check_ratio(transfer, transfer->hop.decoded + size, received, &failure);
    if (status == AFC_OK && transfer->hop.phase == AFC__PHASE_BODY)
        status = afc__sink_admit(&transfer->sink, size, &failure);
    return status == AFC_OK || afc__transfer_fail(transfer, &failure);
}

/* ---- Passing on ---------------------------------------------------------------------------- */

static afc_status refused_body(afc_status status, afc_failure *failure) {
    if (!afc__is_status(status)) {
        return afc__fail_returned(failure, "on_body", status, "AFC_OK, AFC_EAGAIN or an error");
    }
    return afc__fail(failure, status, "%s", afc_status_text(status));
}

static afc_status offer(afc__transfer *transfer, afc_slice bytes, afc_failure *failure) {
    afc_status status = afc__sink_admit(&transfer->sink, bytes.size, failure);
    if (status != AFC_OK) return status;
    if (transfer->events.on_body != NULL) {
        afc__transfer_count_event(transfer);
        status = transfer->events.on_body(transfer->events.context, bytes);
    }
    transfer->hop.is_held = status == AFC_EAGAIN;
    if (status != AFC_OK) return refused_body(status, failure);
    transfer->sink.written += bytes.size;
    return AFC_OK;
}

/**
 * Passes the bytes to on_body. Those that it has refused (AFC_EAGAIN) are passed again with the same size. libcurl
 * joins them with what it has read behind them, and repeats all from the beginning until all are consumed. `taken`
 * counts those that are already consumed.
 */
static afc_status call_on_body(afc__transfer *transfer, afc_slice bytes, afc_failure *failure) {
    afc__hop *hop = &transfer->hop;
    afc_slice rest = {bytes.bytes + hop->taken, bytes.size - hop->taken};
    if (hop->refused != 0 && hop->refused < rest.size) {
        afc_slice first = {rest.bytes, hop->refused};
        afc_status status = offer(transfer, first, failure);
        if (status != AFC_OK) return status;
        hop->taken += hop->refused;
        rest = (afc_slice){rest.bytes + first.size, rest.size - first.size};
    }
    afc_status status = offer(transfer, rest, failure);
    hop->refused = hop->is_held ? (uint32_t)rest.size : 0;
    if (status == AFC_OK) hop->taken = 0;
    return status;
}

typedef enum body_wait { MAY_WAIT, NEVER_WAITS } body_wait;

/** Returns whether the body must be paused now. */
static bool must_wait(afc__transfer *transfer) {
    /* A shared connection can't be left unread while suspended. The body's size is limited. */
    if (afc__transfer_is_suspended(transfer) && !transfer->hop.shares_connection) return true;
    return transfer->hop.is_held || afc__sink_is_full(&transfer->sink) ||
           (afc__rate_is_limited(&transfer->receive_rate) &&
            afc__rate_is_throttled(&transfer->receive_rate, afc__now_us()));
}

void afc__transfer_report_progress(afc__transfer *transfer) {
    if (transfer->events.on_progress == NULL || afc__transfer_is_suspended(transfer)) return;
    int64_t now = afc__now_us();
    if (now < transfer->progress_due_us) return;
    transfer->progress_due_us = now + transfer->progress_interval_us;
    afc__transfer_count_event(transfer);
    transfer->events.on_progress(transfer->events.context, &transfer->progress);
}

/** Passes bytes of an accepted response to the sink. */
static afc__flow pass_on(afc__transfer *transfer, afc_slice bytes, int64_t received,
                         body_wait wait) {
    afc_failure failure = {0};
    if (wait == MAY_WAIT && must_wait(transfer)) return AFC__PAUSED;
    transfer->progress.received = received;
    afc_status status = transfer->sink.kind == AFC_SINK_CALLBACK
                            ? call_on_body(transfer, bytes, &failure)
                            : afc__sink_write(&transfer->sink, bytes, &failure);
    if (transfer->hop.is_held) return AFC__PAUSED;
    if (status != AFC_OK) {
        afc__transfer_fail(transfer, &failure);
        return AFC__STOP;
    }
    if (afc__rate_is_limited(&transfer->receive_rate)) {
        afc__rate_spend_count(&transfer->receive_rate, received, afc__now_us());
    }
    afc__transfer_report_progress(transfer);
    return AFC__CONSUMED;
}

/** Keeps, discards or passes on bytes, depending on the phase. */
static afc__flow dispose_by_phase(afc__transfer *transfer, afc_slice bytes, int64_t received,
                                  body_wait wait) {
    switch (transfer->hop.phase) {
    case AFC__PHASE_AWAITING_ANSWER:
        return afc__auth_keep_body(transfer, bytes, received);
    case AFC__PHASE_DISCARDING:
    case AFC__PHASE_SUPERSEDED:
    case AFC__PHASE_CHALLENGED:
        transfer->hop.discarded += (uint32_t)bytes.size;
        return transfer->hop.discarded <= MAX_DRAIN ? AFC__CONSUMED : AFC__STOP;
    case AFC__PHASE_BODY:
        return pass_on(transfer, bytes, received, wait);
    case AFC__PHASE_HEAD:
    case AFC__PHASE_HEAD_PENDING:
    case AFC__PHASE_EXPECT_FAILED:
        break;
    }
    afc__transfer_fail_text(transfer, AFC_EPROTOCOL, "received a body before the end of the head");
    return AFC__STOP;
}

/** Returns whether nothing needs the body: the task only stores it, and the body isn't stored, or no longer. */
static bool is_useless(const afc__transfer *transfer) {
    return transfer->purpose == AFC__PURPOSE_VALIDATION && afc__hop_in_body(&transfer->hop) &&
           !afc__transfer_stores_body(transfer);
}

/** Discards a short body like others that aren't needed, so that the connection can be reused. */
static afc__flow discard_useless(afc__transfer *transfer, size_t size) {
    transfer->hop.discarded += (uint32_t)size;
    if (transfer->hop.discarded <= MAX_DRAIN) return AFC__CONSUMED;
    afc__transfer_fail_text(transfer, AFC_ECANCELED, "the response isn't stored");
    return AFC__STOP;
}

/** Disposes of bytes and stores those that were consumed: a slow reader also delays what is stored. */
static afc__flow dispose(afc__transfer *transfer, afc_slice bytes, int64_t received,
                         body_wait wait) {
    if (is_useless(transfer)) return discard_useless(transfer, bytes.size);
    afc__flow flow = dispose_by_phase(transfer, bytes, received, wait);
    if (flow == AFC__CONSUMED) afc__transfer_cache_body(transfer, bytes);
    if (flow == AFC__STOP) afc__transfer_cache_end(transfer, false);
    return flow;
}

void afc__transfer_pass_kept_body(afc__transfer *transfer, afc_slice bytes, int64_t received) {
    /*
     * The body is in memory already, and the exchange, which could be paused, may have ended. `decoded` was counted,
     * and the limits were checked, when the bytes were received.
     */
    afc__sink_reserve(&transfer->sink, bytes.size);
    afc__flow flow = dispose(transfer, bytes, received, NEVER_WAITS);
    assert(flow != AFC__PAUSED);
    (void)flow;
}

/* ---- Keeping ------------------------------------------------------------------------------- */

static size_t kept_size(const afc__transfer *transfer) {
    return transfer->hop.kept.size - transfer->hop.kept_offset;
}

afc__flow afc__transfer_keep(afc__transfer *transfer, afc_slice bytes, int64_t received) {
    transfer->hop.decoded += bytes.size;
    transfer->hop.kept_received = received;
    transfer->hop.kept.limit = UINT32_MAX;
    /* Not doubled: there may be many such buffers, and realloc() can extend a large block without copying. */
    uint64_t needed = transfer->hop.kept.size + bytes.size;
    afc_status status = afc__buffer_reserve(&transfer->hop.kept,
                                            (needed / KEPT_STEP + 1) * KEPT_STEP);
    if (status == AFC_OK) status = afc__buffer_append(&transfer->hop.kept, bytes.bytes, bytes.size);
    if (status == AFC_OK) return AFC__CONSUMED;
    afc__transfer_fail_memory(transfer);
    return AFC__STOP;
}

afc__flow afc__transfer_deliver(afc__transfer *transfer) {
    if (!afc__transfer_has_kept(transfer)) return AFC__CONSUMED;
    if (afc__transfer_has_failed(transfer) || afc__transfer_is_cancelled(transfer))
        return AFC__STOP;
    size_t left = kept_size(transfer);
    afc_slice piece = {transfer->hop.kept.bytes + transfer->hop.kept_offset,
                       left < PIECE ? left : PIECE};
    afc__flow flow = dispose(transfer, piece, transfer->hop.kept_received, MAY_WAIT);
    if (flow != AFC__CONSUMED) return flow;
    transfer->hop.kept_offset += (uint32_t)piece.size;
    if (!afc__transfer_has_kept(transfer)) {
        afc__buffer_clear(&transfer->hop.kept);
        transfer->hop.kept_offset = 0;
    }
    return AFC__CONSUMED;
}

/* ---- From the wire ------------------------------------------------------------------------- */

/**
 * Passes on the stored beginning of a body that is being completed (hop.from_cache), which comes before what is
 * received. What was kept while the body was paused is passed on by the driver instead.
 */
static afc__flow pass_stored(afc__transfer *transfer) {
    afc__flow flow = AFC__CONSUMED;
    if (transfer->hop.from_cache == 0 && afc__transfer_has_kept(transfer)) return AFC__PAUSED;
    while (flow == AFC__CONSUMED && afc__transfer_has_kept(transfer)) {
        flow = afc__transfer_deliver(transfer);
    }
    return flow;
}

afc__flow afc__transfer_pass_body(afc__transfer *transfer, afc_slice bytes, int64_t received) {
    bool is_decoded = afc__transfer_decodes_body(transfer);
    if (is_decoded && !is_within_limits(transfer, bytes.size, received)) return AFC__STOP;
    afc__flow flow = pass_stored(transfer);
    received += (int64_t)transfer->hop.from_cache;
    if (flow == AFC__CONSUMED) flow = dispose(transfer, bytes, received, MAY_WAIT);
    if (flow == AFC__CONSUMED && afc__hop_needs_body(&transfer->hop))
        transfer->hop.decoded += bytes.size;
    return flow;
}
