#include "internal.h"

typedef bool (*condition)(const afts_stats *stats, uint64_t wanted);

static bool enough_requests(const afts_stats *stats, uint64_t wanted) {
    return stats->requests >= wanted;
}

static bool enough_accepted(const afts_stats *stats, uint64_t wanted) {
    return stats->accepted >= wanted;
}

static bool enough_closed(const afts_stats *stats, uint64_t wanted) {
    return stats->closed >= wanted;
}

static bool few_open(const afts_stats *stats, uint64_t wanted) {
    return stats->open <= wanted;
}

static bool enough_received(const afts_stats *stats, uint64_t wanted) {
    return stats->received >= wanted;
}

static bool enough_failed(const afts_stats *stats, uint64_t wanted) {
    return stats->handshakes_failed >= wanted;
}

static bool wait_until(afts_server *server, condition holds, uint64_t wanted, int timeout_ms) {
    struct timespec deadline = afts__deadline(timeout_ms < 0 ? 0 : (unsigned)timeout_ms);
    int waited = 0;
    pthread_mutex_lock(&server->lock);
    server->watchers++;
    while (waited == 0 && !holds(&server->stats, wanted) && server->state != AFTS__STOPPED) {
        waited = timeout_ms < 0
                     ? pthread_cond_wait(&server->changed, &server->lock)
                     : pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    server->watchers--;
    bool reached = holds(&server->stats, wanted);
    pthread_mutex_unlock(&server->lock);
    return reached;
}

bool afts_wait_requests(afts_server *server, size_t count, int timeout_ms) {
    return wait_until(server, enough_requests, count, timeout_ms);
}

bool afts_wait_accepted(afts_server *server, size_t count, int timeout_ms) {
    return wait_until(server, enough_accepted, count, timeout_ms);
}

bool afts_wait_closed(afts_server *server, size_t count, int timeout_ms) {
    return wait_until(server, enough_closed, count, timeout_ms);
}

bool afts_wait_open_at_most(afts_server *server, size_t count, int timeout_ms) {
    return wait_until(server, few_open, count, timeout_ms);
}

bool afts_wait_received(afts_server *server, uint64_t bytes, int timeout_ms) {
    return wait_until(server, enough_received, bytes, timeout_ms);
}

bool afts_wait_handshakes_failed(afts_server *server, size_t count, int timeout_ms) {
    return wait_until(server, enough_failed, count, timeout_ms);
}
