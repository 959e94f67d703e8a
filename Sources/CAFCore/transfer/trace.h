/**
 * Reports connections and heads to on_trace, as they were sent and received, without their secrets. Loop thread only.
 */
#ifndef AFC_TRANSFER_TRACE_H
#define AFC_TRANSFER_TRACE_H

#include "message/redact.h"
#include "transfer/transfer.h"

static inline bool afc__transfer_is_traced(const afc__transfer *transfer) {
    return transfer->events.on_trace != NULL;
}

/** Reports a connection. `is_tunnel`, here and below: it is to a proxy that hasn't made its tunnel yet (CONNECT). */
void afc__transfer_trace_connection(afc__transfer *transfer, const afc_trace_connection *connection,
                                    bool is_tunnel);

/** Reports a complete request head. Fails the task when out of memory. */
void afc__transfer_trace_request(afc__transfer *transfer, afc_slice head, bool is_tunnel);

/** Reports one or several lines of a response head. Pass the same `*state` for all lines of a hop. */
void afc__transfer_trace_response(afc__transfer *transfer, afc_slice lines, afc__redaction *state,
                                  bool is_tunnel);

#endif
