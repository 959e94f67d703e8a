/** Gates: named semaphores that scripts wait at and tests release. */
#ifndef AFTS_SCRIPT_GATE_H
#define AFTS_SCRIPT_GATE_H

#include "caftestserver.h"

#include <pthread.h>

typedef struct afts__gate {
    struct afts__gate *next;
    char *name;
    size_t permits;
    size_t waiting;
    pthread_cond_t opened;
} afts__gate;

afts_status afts__stall(afts_conn *conn, const char *name);
/** Wakes every script that waits at a gate. Lock held. */
void afts__gates_wake(afts_server *server);
void afts__gates_clear(afts_server *server);

#endif
