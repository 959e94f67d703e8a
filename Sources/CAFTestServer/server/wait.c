#include "base/bytes.h"
#include "base/clock.h"
#include "script/gate.h"
#include "server/records.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

struct afts_watch {
    afts_watch *previous;
    afts_watch *next;
    afts_condition condition;
    uint64_t count;
    const afts__gate *gate;
    char *subject;      /**< A copy of the pattern of the requests that count; NULL for all. */
    const char *method; /**< In `subject`, or NULL. */
    const char *path;   /**< In `subject`. */
    size_t seen;        /**< Kept requests that have been compared. */
    size_t matched;     /**< Compared requests that match. */
    void (*reached)(void *context, bool holds); /**< NULL once it was called. */
    void *context;
};

/** Compares the requests that are new. Lock held. */
static size_t count_matches(const afts_server *server, afts_watch *watch) {
    for (; watch->seen < server->requests_kept; watch->seen++) {
        const afts_request *request = &server->requests[watch->seen]->seen;
        bool matches = false;
        if (afts_request_matches(request, watch->method, watch->path, &matches) == AFTS_OK) {
            watch->matched += matches;
        }
    }
    return watch->matched;
}

/** Lock held. */
static bool holds(const afts_server *server, afts_watch *watch) {
    const afts_stats *stats = &server->stats;
    switch (watch->condition) {
    case AFTS_REQUESTS:
        return (watch->subject != NULL ? count_matches(server, watch) : stats->requests) >=
               watch->count;
    case AFTS_ACCEPTED:
        return stats->accepted >= watch->count;
    case AFTS_CLOSED:
        return stats->closed >= watch->count;
    case AFTS_OPEN_AT_MOST:
        return stats->open <= watch->count;
    case AFTS_RECEIVED:
        return stats->received >= watch->count;
    case AFTS_HANDSHAKES_FAILED:
        return stats->handshakes_failed >= watch->count;
    case AFTS_STALLED:
        return afts__gate_held(watch->gate) >= watch->count;
    }
    return false;
}

/** Splits "METHOD /path", or "/path"; false when out of memory. */
static bool copy_pattern(afts_watch *watch, const char *pattern) {
    watch->subject = afts__copy_text(pattern);
    if (watch->subject == NULL) return false;
    char *space = strchr(watch->subject, ' ');
    watch->path = space != NULL ? space + 1 : watch->subject;
    if (space != NULL) {
        *space = 0;
        watch->method = watch->subject;
    }
    return true;
}

/** Finds what the condition is about; false when out of memory. Lock held. */
static bool find_subject(afts_server *server, afts_watch *watch, const char *subject) {
    if (watch->condition == AFTS_REQUESTS && subject != NULL) return copy_pattern(watch, subject);
    if (watch->condition != AFTS_STALLED) return true;
    watch->gate = afts__gate_named(server, subject != NULL ? subject : "");
    return watch->gate != NULL;
}

/* ---- Threads that block -------------------------------------------------------------------- */

/** Lock held. */
static bool block(afts_server *server, afts_watch *watch, int timeout_ms) {
    struct timespec deadline = afts__deadline(timeout_ms < 0 ? 0 : (unsigned)timeout_ms);
    int error = 0;
    server->watchers++;
    while (error == 0 && !holds(server, watch) && server->state != AFTS__SERVER_STOPPED) {
        error = timeout_ms < 0 ? pthread_cond_wait(&server->changed, &server->lock)
                               : pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    server->watchers--;
    return holds(server, watch);
}

bool afts_wait(afts_server *server, afts_condition condition, uint64_t count, const char *subject,
               int timeout_ms) {
    afts_watch watch = {.condition = condition, .count = count};
    pthread_mutex_lock(&server->lock);
    bool is_reached = find_subject(server, &watch, subject) && block(server, &watch, timeout_ms);
    pthread_mutex_unlock(&server->lock);
    free(watch.subject);
    return is_reached;
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

/** Lock held. */
static void check(const afts_server *server, afts_watch *watch) {
    bool is_reached = holds(server, watch);
    if (watch->reached == NULL || (!is_reached && server->state != AFTS__SERVER_STOPPED)) return;
    watch->reached(watch->context, is_reached);
    watch->reached = NULL;
}

void afts__server_changed(afts_server *server) {
    if (server->watchers > 0) pthread_cond_broadcast(&server->changed);
    for (afts_watch *watch = server->watches; watch != NULL; watch = watch->next) {
        check(server, watch);
    }
}

afts_watch *afts_watch_new(afts_server *server, afts_condition condition, uint64_t count,
                           const char *subject, void (*reached)(void *context, bool holds),
                           void *context) {
    afts_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) return NULL;
    watch->condition = condition;
    watch->count = count;
    watch->reached = reached;
    watch->context = context;
    pthread_mutex_lock(&server->lock);
    bool found = find_subject(server, watch, subject);
    if (found) {
        watch->next = server->watches;
        if (server->watches != NULL) server->watches->previous = watch;
        server->watches = watch;
        check(server, watch);
    }
    pthread_mutex_unlock(&server->lock);
    if (found) return watch;
    free(watch->subject);
    free(watch);
    return NULL;
}

void afts_watch_free(afts_server *server, afts_watch *watch) {
    if (watch == NULL) return;
    pthread_mutex_lock(&server->lock);
    if (watch->previous != NULL) {
        watch->previous->next = watch->next;
    } else {
        server->watches = watch->next;
    }
    if (watch->next != NULL) watch->next->previous = watch->previous;
    pthread_mutex_unlock(&server->lock);
    free(watch->subject);
    free(watch);
}

/* ---- By name ------------------------------------------------------------------------------- */

bool afts_wait_requests(afts_server *server, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_REQUESTS, count, NULL, timeout_ms);
}

bool afts_wait_accepted(afts_server *server, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_ACCEPTED, count, NULL, timeout_ms);
}

bool afts_wait_closed(afts_server *server, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_CLOSED, count, NULL, timeout_ms);
}

bool afts_wait_open_at_most(afts_server *server, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_OPEN_AT_MOST, count, NULL, timeout_ms);
}

bool afts_wait_received(afts_server *server, uint64_t bytes, int timeout_ms) {
    return afts_wait(server, AFTS_RECEIVED, bytes, NULL, timeout_ms);
}

bool afts_wait_handshakes_failed(afts_server *server, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_HANDSHAKES_FAILED, count, NULL, timeout_ms);
}

bool afts_wait_stalled(afts_server *server, const char *gate, size_t count, int timeout_ms) {
    return afts_wait(server, AFTS_STALLED, count, gate, timeout_ms);
}
