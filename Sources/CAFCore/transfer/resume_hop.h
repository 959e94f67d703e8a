/** Files that a transfer writes and resumes. */
#ifndef AF_TRANSFER_RESUME_HOP_H
#define AF_TRANSFER_RESUME_HOP_H

#include "transfer/transfer.h"

/** AF_EINVAL, AF_ENOMEM. */
af_status af__transfer_init_sink(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure);

/** Before a hop: once, look for what is there, and ask for the rest only. false: the task failed. */
bool af__transfer_ask_for_rest(af__transfer *transfer);

/**
 * At the final head, before on_head. `*is_refused`: the response is useless, and the next hop
 * will ask for the whole. false: the task failed.
 */
bool af__transfer_check_partial_response(af__transfer *transfer, bool *is_refused);

/** At the final head, which `response` was made of: open the sink. false: the task failed. */
bool af__transfer_open_sink(af__transfer *transfer, const af_response *response);

/** At the end: keep or remove what a failed task leaves, and report the file in the result. */
void af__transfer_report_file(af__transfer *transfer);

#endif
