/** Shared by the files of the transfer. */
#ifndef AFC_TRANSFER_TRANSFER_INTERNAL_H
#define AFC_TRANSFER_TRANSFER_INTERNAL_H

#include "base/failure.h"
#include "message/redirect.h"
#include "transfer/transfer.h"

/** Before a callback is called. */
static inline void afc__transfer_count_event(afc__transfer *transfer) {
    atomic_fetch_add_explicit(transfer->event_counter, 1, memory_order_relaxed);
}

/** As afc__transfer_fail(). */
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

/** Report the progress, unless the last report is too recent. */
void afc__transfer_report_progress(afc__transfer *transfer);

/** Frees what it has; the next one may begin. */
void afc__hop_clear(afc__hop *hop);

/** Begin a hop: with nothing of the one before, and with its cookies. false: the transfer has failed. */
bool afc__transfer_reset_hop(afc__transfer *transfer);

/** An empty head for the hop after this one, in `next`; NULL when out of memory. */
afc__request_head *afc__hop_make_next(afc__hop *hop);

/** afc__transfer_on_body() once the head is judged. */
afc__flow afc__transfer_pass_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** The body that was kept while a challenge waited, all at once, if its response is accepted: after the head. */
void afc__transfer_pass_kept_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** The head of the first hop, checked and copied. */
afc_status afc__transfer_init_request(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure);

/**
 * Call on_redirect, and make the next request if the plan's `follow` is still set then. false: the task has
 * failed.
 */
bool afc__transfer_follow(afc__transfer *transfer, afc__redirect_plan *plan);

#endif
