#include "script/gate.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "connection/connection.h"

#include <stdlib.h>
#include <string.h>

/** Lock held. */
static afts__gate *gate_named(afts_server *server, const char *name) {
    for (afts__gate *gate = server->gates; gate != NULL; gate = gate->next) {
        if (strcmp(gate->name, name) == 0) return gate;
    }
    afts__gate *gate = calloc(1, sizeof *gate);
    char *copy = afts__copy_text(name);
    if (gate == NULL || copy == NULL) {
        free(gate);
        free(copy);
        return NULL;
    }
    gate->name = copy;
    afts__condition_init(&gate->opened);
    gate->next = server->gates;
    server->gates = gate;
    return gate;
}

/** Counts the waiting scripts that no permit has released. Lock held. */
static size_t held_at(const afts__gate *gate) {
    return gate->waiting > gate->permits ? gate->waiting - gate->permits : 0;
}

afts_status afts__stall(afts_conn *conn, const char *name) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = gate_named(server, name);
    if (gate == NULL) {
        pthread_mutex_unlock(&server->lock);
        return AFTS_ENOMEM;
    }
    gate->waiting++;
    afts__server_changed(server);
    while (gate->permits == 0 && server->state < AFTS__SERVER_STOPPING) {
        pthread_cond_wait(&gate->opened, &server->lock);
    }
    gate->waiting--;
    bool passed = gate->permits > 0;
    if (passed && gate->permits != AFTS_OPEN) gate->permits--;
    pthread_mutex_unlock(&server->lock);
    return passed ? AFTS_OK : AFTS_ECANCELED;
}

afts_status afts_release(afts_server *server, const char *name, size_t permits) {
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = gate_named(server, name);
    if (gate != NULL) {
        bool forever = permits >= AFTS_OPEN - gate->permits;
        gate->permits = forever ? AFTS_OPEN : gate->permits + permits;
        pthread_cond_broadcast(&gate->opened);
    }
    pthread_mutex_unlock(&server->lock);
    return gate != NULL ? AFTS_OK : AFTS_ENOMEM;
}

typedef struct stalled {
    const afts__gate *gate;
    size_t count;
} stalled;

static bool is_stalled(const void *context) {
    const stalled *wanted = context;
    return held_at(wanted->gate) >= wanted->count;
}

bool afts_wait_stalled(afts_server *server, const char *name, size_t count, int timeout_ms) {
    pthread_mutex_lock(&server->lock);
    stalled wanted = {gate_named(server, name), count};
    bool holds = wanted.gate != NULL && afts__server_wait(server, is_stalled, &wanted, timeout_ms);
    pthread_mutex_unlock(&server->lock);
    return holds;
}

void afts__gates_wake(afts_server *server) {
    for (afts__gate *gate = server->gates; gate != NULL; gate = gate->next) {
        pthread_cond_broadcast(&gate->opened);
    }
}

void afts__gates_clear(afts_server *server) {
    while (server->gates != NULL) {
        afts__gate *gate = server->gates;
        server->gates = gate->next;
        pthread_cond_destroy(&gate->opened);
        free(gate->name);
        free(gate);
    }
}
