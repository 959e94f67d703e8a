/** Files that a transfer writes and resumes. */
#ifndef AFC_TRANSFER_RESUME_HOP_H
#define AFC_TRANSFER_RESUME_HOP_H

#include "transfer/transfer.h"

/** AFC_EINVAL, AFC_ENOMEM. */
afc_status afc__transfer_init_sink(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure);

/** Before a hop: once, look for what is there, and ask for the rest only. false: the task failed. */
bool afc__transfer_ask_for_rest(afc__transfer *transfer);

/**
 * At the final head, before on_head. `*is_refused`: the response is useless, and the next hop
 * will ask for the whole. false: the task failed.
 */
bool afc__transfer_check_partial_response(afc__transfer *transfer, bool *is_refused);

/** At the final head, which `response` was made of: open the sink. false: the task failed. */
bool afc__transfer_open_sink(afc__transfer *transfer, const afc_response *response);

/** At the end: keep or remove what a failed task leaves, and report the file in the result. */
void afc__transfer_report_file(afc__transfer *transfer);

#endif
