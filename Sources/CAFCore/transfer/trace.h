/**
 * What a task reports of the wire: heads as they were sent and received, without their secrets.
 */
#ifndef AF_TRANSFER_TRACE_H
#define AF_TRANSFER_TRACE_H

#include "message/redact.h"
#include "transfer/transfer.h"

static inline bool af__transfer_is_traced(const af__transfer *transfer) {
    return transfer->events.on_trace != NULL;
}

void af__transfer_trace_connection(af__transfer *transfer, const af_trace_connection *connection,
                                   bool is_tunnel);

/** A whole head. Without memory for it the task fails. */
void af__transfer_trace_request(af__transfer *transfer, af_slice head, bool is_tunnel);

/** One line, or several. `*state` is the same for all lines of a hop. */
void af__transfer_trace_response(af__transfer *transfer, af_slice lines, af__redaction *state,
                                 bool is_tunnel);

#endif
