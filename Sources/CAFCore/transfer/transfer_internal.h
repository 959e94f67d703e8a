/** Shared by the files of the transfer. */
#ifndef AF_TRANSFER_TRANSFER_INTERNAL_H
#define AF_TRANSFER_TRANSFER_INTERNAL_H

#include "base/failure.h"
#include "message/redirect.h"
#include "transfer/transfer.h"

/** Before a callback is called. */
static inline void af__transfer_count_event(af__transfer *transfer) {
    atomic_fetch_add_explicit(transfer->event_counter, 1, memory_order_relaxed);
}

/** As af__transfer_fail(). */
static inline bool af__transfer_fail_text(af__transfer *transfer, af_status status,
                                          const char *text) {
    af_failure failure = {0};
    af__fail(&failure, status, "%s", text);
    return af__transfer_fail(transfer, &failure);
}

static inline bool af__transfer_fail_memory(af__transfer *transfer) {
    return af__transfer_fail_text(transfer, AF_ENOMEM, "out of memory");
}

static inline bool af__transfer_is_suspended(const af__transfer *transfer) {
    return atomic_load_explicit(&transfer->is_suspended, memory_order_relaxed);
}

static inline bool af__transfer_is_cancelled(const af__transfer *transfer) {
    return atomic_load_explicit(&transfer->is_cancelled, memory_order_relaxed);
}

/** Report the progress, unless the last report is too recent. */
void af__transfer_report_progress(af__transfer *transfer);

/** Frees what it has; the next one may begin. */
void af__hop_clear(af__hop *hop);

/** An empty head for the hop after this one, in `next`; NULL when out of memory. */
af__request_head *af__hop_make_next(af__hop *hop);

/** af__transfer_on_body() once the head is judged. */
af__flow af__transfer_pass_body(af__transfer *transfer, af_slice bytes, int64_t received);

/** The head of the first hop, checked and copied. */
af_status af__transfer_init_request(af__transfer *transfer, const af_request *request,
                                    af_failure *failure);

/**
 * Call on_redirect, and make the next request if the plan's `follow` is still set then. false: the task has
 * failed.
 */
bool af__transfer_follow(af__transfer *transfer, af__redirect_plan *plan);

#endif
