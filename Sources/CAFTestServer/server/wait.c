#include "server/server.h"

typedef struct goal {
    const afts_stats *stats;
    uint64_t count;
} goal;

static bool enough_requests(const void *context) {
    const goal *wanted = context;
    return wanted->stats->requests >= wanted->count;
}

static bool enough_accepted(const void *context) {
    const goal *wanted = context;
    return wanted->stats->accepted >= wanted->count;
}

static bool enough_closed(const void *context) {
    const goal *wanted = context;
    return wanted->stats->closed >= wanted->count;
}

static bool few_open(const void *context) {
    const goal *wanted = context;
    return wanted->stats->open <= wanted->count;
}

static bool enough_received(const void *context) {
    const goal *wanted = context;
    return wanted->stats->received >= wanted->count;
}

static bool enough_failed(const void *context) {
    const goal *wanted = context;
    return wanted->stats->handshakes_failed >= wanted->count;
}

static bool wait_for(afts_server *server, bool (*holds)(const void *context), uint64_t count,
                     int timeout_ms) {
    goal wanted = {&server->stats, count};
    pthread_mutex_lock(&server->lock);
    bool is_reached = afts__server_wait(server, holds, &wanted, timeout_ms);
    pthread_mutex_unlock(&server->lock);
    return is_reached;
}

bool afts_wait_requests(afts_server *server, size_t count, int timeout_ms) {
    return wait_for(server, enough_requests, count, timeout_ms);
}

bool afts_wait_accepted(afts_server *server, size_t count, int timeout_ms) {
    return wait_for(server, enough_accepted, count, timeout_ms);
}

bool afts_wait_closed(afts_server *server, size_t count, int timeout_ms) {
    return wait_for(server, enough_closed, count, timeout_ms);
}

bool afts_wait_open_at_most(afts_server *server, size_t count, int timeout_ms) {
    return wait_for(server, few_open, count, timeout_ms);
}

bool afts_wait_received(afts_server *server, uint64_t bytes, int timeout_ms) {
    return wait_for(server, enough_received, bytes, timeout_ms);
}

bool afts_wait_handshakes_failed(afts_server *server, size_t count, int timeout_ms) {
    return wait_for(server, enough_failed, count, timeout_ms);
}
