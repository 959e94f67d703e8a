/** Shared by the files of the transfer. */
#ifndef AFC_TRANSFER_TRANSFER_INTERNAL_H
#define AFC_TRANSFER_TRANSFER_INTERNAL_H

#include "message/redirect.h"
#include "transfer/transfer.h"

/** Counts an event; called before each callback. */
static inline void afc__transfer_count_event(afc__transfer *transfer) {
    atomic_fetch_add_explicit(&transfer->counters->events, 1, memory_order_relaxed);
}

/** Reports the progress, unless the last report is too recent. */
void afc__transfer_report_progress(afc__transfer *transfer);

/** Frees what a hop has; the next one may begin. */
void afc__hop_clear(afc__hop *hop);

/** Enters a phase, which the one before must allow; see transfer/phase.h. */
void afc__hop_enter(afc__hop *hop, afc__phase phase);

/** Begins a hop: with nothing of the one before, and with its cookies. false: the transfer has failed. */
bool afc__transfer_reset_hop(afc__transfer *transfer);

/** Makes an empty head for the hop after this one, in `next`; NULL when out of memory. */
afc__request_head *afc__hop_make_next(afc__hop *hop);

/** Does what afc__transfer_on_body() does, once it is decided what the head means. */
afc__flow afc__transfer_pass_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Passes on the body that was kept while a challenge waited, all at once, if its response is accepted: after the head. */
void afc__transfer_pass_kept_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Makes the head of the first hop: checks and copies. */
afc_status afc__transfer_init_request(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure);

/**
 * Calls on_redirect, and makes the next request if the plan's `follow` is still set then. false: the task has
 * failed.
 */
bool afc__transfer_follow(afc__transfer *transfer, afc__redirect_plan *plan);

#endif
