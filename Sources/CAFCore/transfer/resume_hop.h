/** Files that a transfer writes and resumes. */
#ifndef AFC_TRANSFER_RESUME_HOP_H
#define AFC_TRANSFER_RESUME_HOP_H

#include "transfer/transfer.h"

/** Initialises the sink of a transfer. AFC_EINVAL, AFC_ENOMEM. */
afc_status afc__transfer_init_sink(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure);

/** Before a hop: looks once for a partial file, and asks for the rest only. false: the task failed. */
bool afc__transfer_ask_for_rest(afc__transfer *transfer);

/**
 * Decides at the final head, before on_head, what the response means for a partial file. `*is_refused`: it is useless,
 * and the next hop will ask for the whole. false: the task failed.
 */
bool afc__transfer_check_partial_response(afc__transfer *transfer, bool *is_refused);

/** Opens the sink at the final head, which `response` was made of. false: the task failed. */
bool afc__transfer_open_sink(afc__transfer *transfer, const afc_response *response);

/** At the end: keeps or removes what a failed task leaves, and reports the file in the result. */
void afc__transfer_report_file(afc__transfer *transfer);

#endif
