#include "script/gate.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "connection/connection.h"
#include "connection/hangup.h"

#include <stdlib.h>
#include <string.h>

afts__gate *afts__gate_named(afts_server *server, const char *name) {
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

uint64_t afts__gate_held(const afts__gate *gate) {
    uint64_t gone = gate->admitted > UINT64_MAX - gate->canceled ? UINT64_MAX
                                                                 : gate->admitted + gate->canceled;
    return gate->tickets > gone ? gate->tickets - gone : 0;
}

afts_status afts__stall(afts_conn *conn, const char *name) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = afts__gate_named(server, name);
    if (gate == NULL) {
        pthread_mutex_unlock(&server->lock);
        return AFTS_ENOMEM;
    }
    uint64_t ticket = gate->tickets++;
    afts__server_changed(server);
    bool waits = ticket >= gate->admitted;
    if (waits) afts__hangup_watch(conn);
    while (ticket >= gate->admitted && server->state < AFTS__SERVER_STOPPING) {
        pthread_cond_wait(&gate->opened, &server->lock);
    }
    if (waits) afts__hangup_unwatch(conn);
    bool passed = ticket < gate->admitted;
    if (!passed) gate->canceled++;
    pthread_mutex_unlock(&server->lock);
    return passed ? AFTS_OK : AFTS_ECANCELED;
}

afts_status afts_release(afts_server *server, const char *name, size_t permits) {
    pthread_mutex_lock(&server->lock);
    afts__gate *gate = afts__gate_named(server, name);
    if (gate != NULL) {
        bool forever = permits == AFTS_OPEN || permits > UINT64_MAX - gate->admitted;
        gate->admitted = forever ? UINT64_MAX : gate->admitted + permits;
        pthread_cond_broadcast(&gate->opened);
    }
    pthread_mutex_unlock(&server->lock);
    return gate != NULL ? AFTS_OK : AFTS_ENOMEM;
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
