/**
 * What a task reports of the wire: heads as they were sent and received, without their secrets.
 */
#ifndef AFC_TRANSFER_TRACE_H
#define AFC_TRANSFER_TRACE_H

#include "message/redact.h"
#include "transfer/transfer.h"

static inline bool afc__transfer_is_traced(const afc__transfer *transfer) {
    return transfer->events.on_trace != NULL;
}

void afc__transfer_trace_connection(afc__transfer *transfer, const afc_trace_connection *connection,
                                    bool is_tunnel);

/** Reports a whole head. Without memory for it the task fails. */
void afc__transfer_trace_request(afc__transfer *transfer, afc_slice head, bool is_tunnel);

/** Reports one line, or several. `*state` is the same for all lines of a hop. */
void afc__transfer_trace_response(afc__transfer *transfer, afc_slice lines, afc__redaction *state,
                                  bool is_tunnel);

#endif
