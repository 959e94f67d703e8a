/**
 * Response bodies: bytes are checked against the limits when they are received, and passed on when the sink takes them.
 */
#ifndef AFC_TRANSFER_RESPONSE_BODY_H
#define AFC_TRANSFER_RESPONSE_BODY_H

#include "transfer/transfer.h"

/** Does what afc__transfer_on_body() does, once it is decided what the head means. */
afc__flow afc__transfer_pass_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/**
 * Checks decoded bytes that were paused against the limits, and keeps them if `keeps`. AFC__CONSUMED if they
 * are kept, AFC__PAUSED if they are within the limits, AFC__STOP.
 */
afc__flow afc__transfer_keep(afc__transfer *transfer, afc_slice bytes, int64_t received,
                             bool keeps);

/** Returns whether there are bytes that afc__transfer_deliver() must pass on before others. */
static inline bool afc__transfer_has_kept(const afc__transfer *transfer) {
    return transfer->hop.kept.size > transfer->hop.kept_offset;
}

/** Passes on the next piece of what is kept: AFC__CONSUMED, AFC__PAUSED if it is still too early, AFC__STOP. */
afc__flow afc__transfer_deliver(afc__transfer *transfer);

/**
 * Passes on the body that was kept while a challenge waited, all at once, if its response is accepted: after the head.
 */
void afc__transfer_pass_kept_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Reports the progress, unless the last report is too recent. */
void afc__transfer_report_progress(afc__transfer *transfer);

#endif
