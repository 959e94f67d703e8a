/** Shared by the files of the transfer. */
#ifndef AF_TRANSFER_TRANSFER_INTERNAL_H
#define AF_TRANSFER_TRANSFER_INTERNAL_H

#include "base/failure.h"
#include "message/redirect.h"
#include "transfer/transfer.h"

/** One more event is about to be told. */
static inline void count_event(af__transfer *transfer) {
    atomic_fetch_add_explicit(transfer->event_counter, 1, memory_order_relaxed);
}

/** False, and the reason of the end, unless there is one already. */
static inline bool fail(af__transfer *transfer, const af_failure *failure) {
    af__transfer_fail(transfer, failure);
    return false;
}

static inline bool fail_text(af__transfer *transfer, af_status status, const char *text) {
    af_failure failure = {0};
    af__fail(&failure, status, "%s", text);
    return fail(transfer, &failure);
}

static inline bool af__transfer_is_suspended(const af__transfer *transfer) {
    return atomic_load_explicit(&transfer->is_suspended, memory_order_relaxed);
}

/** Report the progress, unless the last report is too recent. */
void af__transfer_tell_progress(af__transfer *transfer);

/** Frees what it has; the next one may begin. */
void af__hop_clear(af__hop *hop);

/** An empty head for the hop after this one, in `next`; NULL when out of memory. */
af__outgoing *af__hop_make_next(af__hop *hop);

/** A final head is complete. false: end the exchange. */
bool af__transfer_take_final_head(af__transfer *transfer);

/** The head of the first hop, checked and copied. */
af_status af__transfer_init_outgoing(af__transfer *transfer, const af_request *request,
                                     af_failure *failure);

/**
 * Ask whether to follow, and make the next hop. true: go on, the plan's `follow` says how; false:
 * the task has failed.
 */
bool af__transfer_follow(af__transfer *transfer, af__redirect_plan *plan);

/** The final head is that of the answer, whose body is still to come. false: nobody wants it. */
bool af__transfer_accept_head(af__transfer *transfer);

/** What follows after a hop. */
af__next af__transfer_judge_hop(af__transfer *transfer, const af__outcome *outcome);

#endif
