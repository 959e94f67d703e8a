/** Gates: named semaphores that scripts wait at and tests release. */
#ifndef AFTS_SCRIPT_GATE_H
#define AFTS_SCRIPT_GATE_H

#include "caftestserver.h"

#include <pthread.h>

/** Scripts pass in the order in which they arrived: each takes a ticket, and each permit admits the next one. */
typedef struct afts__gate {
    struct afts__gate *next;
    char *name;
    uint64_t tickets;  /**< How many scripts have arrived. */
    uint64_t admitted; /**< Tickets below this pass; UINT64_MAX: the gate is open. */
    uint64_t canceled; /**< Tickets that weren't admitted before the server was stopped. */
    pthread_cond_t opened;
} afts__gate;

afts_status afts__stall(afts_conn *conn, const char *name);
/** Finds a gate, or makes it; NULL when out of memory. Lock held. */
afts__gate *afts__gate_named(afts_server *server, const char *name);
/** Counts the scripts that wait and that no permit has admitted. Lock held. */
uint64_t afts__gate_held(const afts__gate *gate);
/** Wakes every script that waits at a gate. Lock held. */
void afts__gates_wake(afts_server *server);
void afts__gates_clear(afts_server *server);

#endif
