/* Response bodies: bytes are checked against the limits when they come, and passed on when the sink takes them. */
#include "base/clock.h"
#include "base/failure.h"
#include "transfer/auth.h"
#include "transfer/transfer_internal.h"

enum {
    DRAIN_LIMIT = 64 * 1024,
    RATIO_STARTS_AT = 1024 * 1024,
    /* Decoders pass on what one read gave before libcurl counts it as received. */
    RATIO_SLACK = 16 * 1024,
    /* What is kept is passed on in pieces as large as libcurl's longest. */
    PIECE = 16 * 1024,
    KEPT_STEP = 256 * 1024
};

/* gzip makes at most 16.1 MiB of the longest read, 16 KiB. */
static const uint64_t most_kept = 32 * 1024 * 1024;

/* ---- Limits -------------------------------------------------------------------------------- */

static size_t kept_size(const af__transfer *transfer) {
    return transfer->hop.kept.size - transfer->hop.kept_offset;
}

static af_status check_ratio(const af__transfer *transfer, size_t size, int64_t received,
                             af_failure *failure) {
    uint64_t decoded = transfer->hop.decoded + size;
    if (decoded <= RATIO_STARTS_AT) return AF_OK;
    uint64_t wire = (uint64_t)(received > 0 ? received : 0) + RATIO_SLACK;
    if (decoded / transfer->limits.decoding_ratio <= wire) return AF_OK;
    return af__fail(failure, AF_ETOOBIG, "the body exceeds %u times its size after decoding",
                    (unsigned)transfer->limits.decoding_ratio);
}

/** Brotli and Zstandard can make any number of bytes of one read. */
static af_status check_kept(const af__transfer *transfer, size_t size, af_failure *failure) {
    uint64_t limit = most_kept;
    /* While a challenge waits for its answer no sink is open that would check the limit. */
    if (transfer->hop.phase == AF__PHASE_AWAITING_ANSWER && transfer->sink.limit < limit) {
        limit = transfer->sink.limit > DRAIN_LIMIT ? transfer->sink.limit : DRAIN_LIMIT;
    }
    if (kept_size(transfer) + size <= limit) return AF_OK;
    return af__fail(failure, AF_ETOOBIG, "the paused body exceeds %llu bytes after decoding",
                    (unsigned long long)limit);
}

/**
 * Before any of it is passed on or kept: the limits of a body that waits are those of one that doesn't.
 * What is discarded has a limit of its own.
 */
static bool is_within_limits(af__transfer *transfer, size_t size, int64_t received) {
    if (transfer->hop.phase != AF__PHASE_BODY && transfer->hop.phase != AF__PHASE_AWAITING_ANSWER)
        return true;
    af_failure failure = {0};
    af_status status = check_ratio(transfer, size, received, &failure);
    if (status == AF_OK) status = check_kept(transfer, size, &failure);
    if (status == AF_OK && transfer->hop.phase == AF__PHASE_BODY) {
        status = af__sink_admit(&transfer->sink, kept_size(transfer) + size, &failure);
    }
    return status == AF_OK || af__transfer_fail(transfer, &failure);
}

/* ---- Passing on ---------------------------------------------------------------------------- */

static af_status call_on_body(af__transfer *transfer, af_slice bytes, af_failure *failure) {
    af_status status = af__sink_admit(&transfer->sink, bytes.size, failure);
    if (status != AF_OK) return status;
    if (transfer->events.on_body != NULL) {
        af__transfer_count_event(transfer);
        status = transfer->events.on_body(transfer->events.context, bytes);
    }
    transfer->hop.is_held = status == AF_EAGAIN;
    if (status != AF_OK) return af__fail(failure, status, "%s", af_status_text(status));
    transfer->sink.written += bytes.size;
    return AF_OK;
}

/** Must the body wait, whatever it is? */
static bool must_wait(af__transfer *transfer) {
    /* A connection that is shared can't be left unread; the body has a limit. */
    if (af__transfer_is_suspended(transfer) && !transfer->hop.shares_connection) return true;
    return transfer->hop.is_held || af__sink_is_full(&transfer->sink) ||
           af__rate_is_throttled(&transfer->receive_rate, af__now_us());
}

void af__transfer_report_progress(af__transfer *transfer) {
    if (transfer->events.on_progress == NULL || af__transfer_is_suspended(transfer)) return;
    int64_t now = af__now_us();
    if (now < transfer->progress_due_us) return;
    transfer->progress_due_us = now + transfer->progress_interval_us;
    af__transfer_count_event(transfer);
    transfer->events.on_progress(transfer->events.context, &transfer->progress);
}

/** To the sink, once the head was accepted. */
static af__flow pass_on(af__transfer *transfer, af_slice bytes, int64_t received) {
    af_failure failure = {0};
    if (must_wait(transfer)) return AF__PAUSED;
    transfer->progress.received = received;
    af_status status = transfer->sink.kind == AF_SINK_CALLBACK
                           ? call_on_body(transfer, bytes, &failure)
                           : af__sink_write(&transfer->sink, bytes, &failure);
    if (transfer->hop.is_held) return AF__PAUSED;
    if (status != AF_OK) {
        af__transfer_fail(transfer, &failure);
        return AF__STOP;
    }
    af__rate_spend_count(&transfer->receive_rate, received, af__now_us());
    af__transfer_report_progress(transfer);
    return AF__CONSUMED;
}

/** To where bytes of this phase go. */
static af__flow dispose(af__transfer *transfer, af_slice bytes, int64_t received) {
    switch (transfer->hop.phase) {
    case AF__PHASE_AWAITING_ANSWER:
        return af__auth_keep_body(transfer, bytes, received);
    case AF__PHASE_DISCARDING:
    case AF__PHASE_CHALLENGED:
        transfer->hop.discarded += bytes.size;
        return transfer->hop.discarded <= DRAIN_LIMIT ? AF__CONSUMED : AF__STOP;
    case AF__PHASE_BODY:
        return pass_on(transfer, bytes, received);
    case AF__PHASE_HEAD:
    case AF__PHASE_HEAD_PENDING:
    case AF__PHASE_EXPECT_FAILED:
        break;
    }
    af__transfer_fail_text(transfer, AF_EPROTOCOL, "received a body before the end of the head");
    return AF__STOP;
}

/* ---- Keeping ------------------------------------------------------------------------------- */

af__flow af__transfer_keep(af__transfer *transfer, af_slice bytes, int64_t received, bool keeps) {
    if (!is_within_limits(transfer, bytes.size, received)) return AF__STOP;
    if (!keeps) return AF__PAUSED;
    transfer->hop.decoded += bytes.size;
    transfer->hop.kept_received = received;
    transfer->hop.kept.limit = UINT64_MAX;
    /* Not doubled: there may be many of them, and a large block grows in its place. */
    uint64_t needed = transfer->hop.kept.size + bytes.size;
    af_status status = af__buffer_reserve(&transfer->hop.kept,
                                          (needed / KEPT_STEP + 1) * KEPT_STEP);
    if (status == AF_OK) status = af__buffer_append(&transfer->hop.kept, bytes.bytes, bytes.size);
    if (status == AF_OK) return AF__CONSUMED;
    af__transfer_fail_memory(transfer);
    return AF__STOP;
}

af__flow af__transfer_deliver(af__transfer *transfer) {
    if (!af__transfer_has_kept(transfer)) return AF__CONSUMED;
    if (af__transfer_has_failed(transfer) || af__transfer_is_cancelled(transfer)) return AF__STOP;
    size_t left = kept_size(transfer);
    af_slice piece = {transfer->hop.kept.bytes + transfer->hop.kept_offset,
                      left < PIECE ? left : PIECE};
    af__flow flow = dispose(transfer, piece, transfer->hop.kept_received);
    if (flow != AF__CONSUMED) return flow;
    transfer->hop.kept_offset += piece.size;
    if (!af__transfer_has_kept(transfer)) {
        af__buffer_clear(&transfer->hop.kept);
        transfer->hop.kept_offset = 0;
    }
    return AF__CONSUMED;
}

/* ---- From the wire ------------------------------------------------------------------------- */

af__flow af__transfer_pass_body(af__transfer *transfer, af_slice bytes, int64_t received) {
    bool is_decoded = af__hop_is_decoded(transfer);
    if (is_decoded && !is_within_limits(transfer, bytes.size, received)) return AF__STOP;
    if (af__transfer_has_kept(transfer)) return AF__PAUSED;
    af__flow flow = dispose(transfer, bytes, received);
    bool counts = transfer->hop.phase == AF__PHASE_BODY ||
                  transfer->hop.phase == AF__PHASE_AWAITING_ANSWER;
    if (flow == AF__CONSUMED && counts) transfer->hop.decoded += bytes.size;
    return flow;
}
