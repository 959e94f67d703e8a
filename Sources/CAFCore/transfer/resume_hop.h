/**
 * The files that a transfer writes, and the resuming of partial ones. Loop thread only, except
 * afc__transfer_init_sink().
 */
#ifndef AFC_TRANSFER_RESUME_HOP_H
#define AFC_TRANSFER_RESUME_HOP_H

#include "transfer/transfer.h"

/** Initialises the sink of a transfer. Fails with AFC_EINVAL or AFC_ENOMEM. Any thread. */
afc_status afc__transfer_init_sink(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure);

/**
 * Looks for a partial file, before the first hop only, and then makes the request ask for the rest (Range, If-Range).
 * Returns false if the task has failed.
 */
bool afc__transfer_ask_for_rest(afc__transfer *transfer);

/**
 * Decides what the response means for a partial file. Call it at the final head, before on_head. Sets `*is_refused` if
 * the response is useless, so that the next hop will ask for the whole. Returns false if the task has failed.
 */
bool afc__transfer_check_partial_response(afc__transfer *transfer, bool *is_refused);

/** Opens the sink at the final head, from which `response` was made. Returns false if the task has failed. */
bool afc__transfer_open_sink(afc__transfer *transfer, const afc_response *response);

/**
 * Keeps or removes the partial file of a failed task, and reports the file in the result. Call it when the task ends.
 */
void afc__transfer_report_file(afc__transfer *transfer);

#endif
