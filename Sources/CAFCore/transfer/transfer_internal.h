/** Shared by the files of the transfer. */
#ifndef AFC_TRANSFER_TRANSFER_INTERNAL_H
#define AFC_TRANSFER_TRANSFER_INTERNAL_H

#include "transfer/transfer.h"

/** Counts an event; called before each callback. */
static inline void afc__transfer_count_event(afc__transfer *transfer) {
    atomic_fetch_add_explicit(&transfer->counters->events, 1, memory_order_relaxed);
}

#endif
