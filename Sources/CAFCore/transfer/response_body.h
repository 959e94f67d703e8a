/**
 * Response bodies: bytes are checked against the limits when they are received, and passed on when the sink accepts
 * them. Kept bytes are those that were received, but not accepted yet. Loop thread only.
 */
#ifndef AFC_TRANSFER_RESPONSE_BODY_H
#define AFC_TRANSFER_RESPONSE_BODY_H

#include "transfer/transfer.h"

/**
 * Checks that a number of decoded bytes is within the ratio to what was received. Fails the transfer and returns false
 * if it isn't.
 */
bool afc__transfer_admits_decoded(afc__transfer *transfer, uint64_t decoded, int64_t received);

/** Implements afc__transfer_on_body(), once the final head was handled. */
afc__flow afc__transfer_pass_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/**
 * Keeps bytes that the transfer didn't consume and that can't stay where they were received. Returns AFC__STOP if it
 * has failed.
 */
afc__flow afc__transfer_keep(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Returns whether there are kept bytes, which afc__transfer_deliver() must pass on before others. */
static inline bool afc__transfer_has_kept(const afc__transfer *transfer) {
    return transfer->hop.kept.size > transfer->hop.kept_offset;
}

/** Passes on the next piece of the kept bytes. Returns AFC__PAUSED if the sink doesn't accept it yet. */
afc__flow afc__transfer_deliver(afc__transfer *transfer);

/**
 * Passes on the body that was kept while a challenge waited for its answer, all at once, because the response was
 * accepted. Call it after the head was reported.
 */
void afc__transfer_pass_kept_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Reports the progress, unless the last report is too recent. */
void afc__transfer_report_progress(afc__transfer *transfer);

#endif
