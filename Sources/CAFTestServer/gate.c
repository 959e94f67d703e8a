#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Lock held.
static afts__gate *gate_named(afts_server *server, const char *name) {
    for (afts__gate *gate = server->gates; gate; gate = gate->next) {
        if (strcmp(gate->name, name) == 0) {
            return gate;
        }
    }
    afts__gate *gate = calloc(1, sizeof *gate);
    char *copy = afts__copy(name, strlen(name));
    if (!gate || !copy) {
        free(gate);
        free(copy);
        return NULL;
    }
    gate->name = copy;
    afts__init_cond(&gate->opened);
    gate->next = server->gates;
    server->gates = gate;
    return gate;
}

// Scripts that wait and that no permit has released already. Lock held.
static size_t held_at(const afts__gate *gate) {
    return gate->waiting > gate->permits ? gate->waiting - gate->permits : 0;
}

int afts__stall(afts_conn *conn, const char *name) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = gate_named(server, name);
    if (!gate) {
        pthread_mutex_unlock(&server->lock);
        return -ENOMEM;
    }
    gate->waiting++;
    afts__changed(server);
    while (gate->permits == 0 && server->state < AFTS__STOPPING) {
        pthread_cond_wait(&gate->opened, &server->lock);
    }
    gate->waiting--;
    bool passed = gate->permits > 0;
    if (passed && gate->permits != AFTS_OPEN) {
        gate->permits--;
    }
    pthread_mutex_unlock(&server->lock);
    return passed ? 0 : -ECANCELED;
}

int afts_release(afts_server *server, const char *name, size_t permits) {
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = gate_named(server, name);
    if (gate) {
        bool forever = permits >= AFTS_OPEN - gate->permits;
        gate->permits = forever ? AFTS_OPEN : gate->permits + permits;
        pthread_cond_broadcast(&gate->opened);
    }
    pthread_mutex_unlock(&server->lock);
    return gate ? 0 : -ENOMEM;
}

bool afts_wait_stalled(afts_server *server, const char *name, size_t count, int timeout_ms) {
    struct timespec deadline = afts__deadline(timeout_ms < 0 ? 0 : (unsigned)timeout_ms);
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = gate_named(server, name);
    int waited = gate ? 0 : -1;
    server->watchers++;
    while (waited == 0 && held_at(gate) < count && server->state != AFTS__STOPPED) {
        waited = timeout_ms < 0
                     ? pthread_cond_wait(&server->changed, &server->lock)
                     : pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    server->watchers--;
    bool reached = gate && held_at(gate) >= count;
    pthread_mutex_unlock(&server->lock);
    return reached;
}

void afts__wake_gates(afts_server *server) {
    for (afts__gate *gate = server->gates; gate; gate = gate->next) {
        pthread_cond_broadcast(&gate->opened);
    }
}

void afts__free_gates(afts_server *server) {
    while (server->gates) {
        afts__gate *gate = server->gates;
        server->gates = gate->next;
        pthread_cond_destroy(&gate->opened);
        free(gate->name);
        free(gate);
    }
}
