#include "support/range_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct plan {
    int status;
    int64_t first, end, stop;
    bool waits, chunks;
    afc_slice content;
    char head[2048];
} plan;

static void remember(char *out, size_t size, const char *value) {
    snprintf(out, size, "%s", value != NULL ? value : "");
}

/** "bytes=N-" only: nothing else is asked for. */
static int64_t wanted_start(const range_server *range_server) {
    int64_t first = 0;
    char mark = '\0';
    if (range_server->ignores_ranges) return 0;
    if (sscanf(range_server->range, "bytes=%" SCNd64 "%c", &first, &mark) != 2 || mark != '-')
        return 0;
    bool is_same = range_server->etag != NULL &&
                   strcmp(range_server->condition, range_server->etag) == 0;
    return is_same || range_server->ignores_condition || range_server->condition[0] == '\0' ? first
                                                                                            : 0;
}

static void describe_body(const range_server *range_server, plan *plan, char *out, size_t size) {
    int64_t total = (int64_t)plan->content.size;
    out[0] = '\0';
    if (plan->status == 416) {
        snprintf(out, size, "Content-Length: 0\r\nContent-Range: bytes */%" PRId64 "\r\n", total);
        return;
    }
    int used = 0;
    if (range_server->chunks) {
        used = snprintf(out, size, "Transfer-Encoding: chunked\r\n");
    } else {
        used = snprintf(out, size, "Content-Length: %" PRId64 "\r\n", plan->end - plan->first);
    }
    if (plan->status == 206) {
        snprintf(out + used, size - (size_t)used,
                 "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n", plan->first,
                 plan->end - 1, total);
    }
}

static void make_plan(range_server *range_server, plan *plan) {
    int64_t total = (int64_t)range_server->content.size;
    char body[256];
    *plan = (struct plan){.status = 200, .end = total, .content = range_server->content};
    plan->first = wanted_start(range_server);
    if (plan->first > 0) plan->status = plan->first < total ? 206 : 416;
    if (plan->status == 416) plan->first = plan->end = 0;
    plan->stop = plan->end;
    if (range_server->stops_after >= 0 && plan->first + range_server->stops_after < plan->end) {
        plan->stop = plan->first + range_server->stops_after;
    }
    plan->waits = range_server->waits;
    plan->chunks = range_server->chunks && plan->status != 416;
    describe_body(range_server, plan, body, sizeof body);
    const char *fields = range_server->fields;
    snprintf(plan->head, sizeof plan->head, "HTTP/1.1 %d X\r\n%s%s%s%s%s\r\n", plan->status, body,
             range_server->etag != NULL ? "ETag: " : "",
             range_server->etag != NULL ? range_server->etag : "",
             range_server->etag != NULL ? "\r\n" : "", fields != NULL ? fields : "");
}

static afts_status send_body(afts_conn *conn, const plan *plan) {
    const char *at = plan->content.bytes + plan->first;
    int64_t rest = plan->stop - plan->first;
    while (rest > 0) {
        size_t piece = rest < 16384 ? (size_t)rest : 16384;
        afts_status status = plan->chunks ? afts_conn_chunk(conn, at, piece)
                                          : afts_conn_send(conn, at, piece);
        if (status != AFTS_OK) return status;
        at += piece;
        rest -= (int64_t)piece;
    }
    bool is_whole = plan->stop == plan->end;
    return plan->chunks && is_whole ? afts_conn_send(conn, "0\r\n\r\n", 5) : AFTS_OK;
}

static void answer_request(afts_conn *conn, const afts_request *request, void *payload) {
    range_server *range_server = payload;
    plan plan;
    pthread_mutex_lock(&range_server->lock);
    range_server->requests++;
    remember(range_server->range, sizeof range_server->range,
             afts_request_header(request, "Range"));
    remember(range_server->condition, sizeof range_server->condition,
             afts_request_header(request, "If-Range"));
    make_plan(range_server, &plan);
    pthread_mutex_unlock(&range_server->lock);
    if (afts_conn_send(conn, plan.head, strlen(plan.head)) != 0) return;
    if (send_body(conn, &plan) != 0 || plan.stop == plan.end) return;
    pthread_mutex_lock(&range_server->lock);
    range_server->stops++;
    pthread_cond_broadcast(&range_server->changed);
    pthread_mutex_unlock(&range_server->lock);
    char ignored[64];
    size_t count = plan.waits ? 1 : 0;
    while (count > 0) afts_conn_read(conn, ignored, sizeof ignored, &count);
    afts_script *close = afts_script_new();
    afts_close(close);
    afts_conn_run(conn, close);
    afts_script_release(close);
}

void range_server_serve(range_server *range_server, fixture *fixture, const char *path,
                        afc_slice content, const char *etag) {
    memset(range_server, 0, sizeof *range_server);
    range_server->content = content;
    range_server->etag = etag;
    range_server->stops_after = WHOLE;
    pthread_mutex_init(&range_server->lock, NULL);
    pthread_cond_init(&range_server->changed, NULL);
    afts_script *script = afts_script_new();
    afts_handle(script, answer_request, range_server, NULL);
    serve(fixture, path, script);
}

void range_server_change(range_server *range_server, afc_slice content, const char *etag) {
    pthread_mutex_lock(&range_server->lock);
    range_server->content = content;
    range_server->etag = etag;
    pthread_mutex_unlock(&range_server->lock);
}

static const char *copy_locked(range_server *range_server, const char *text, char out[64]) {
    pthread_mutex_lock(&range_server->lock);
    memcpy(out, text, 64);
    pthread_mutex_unlock(&range_server->lock);
    return out;
}

const char *range_server_range(range_server *range_server) {
    static char text[64];
    return copy_locked(range_server, range_server->range, text);
}

const char *range_server_condition(range_server *range_server) {
    static char text[64];
    return copy_locked(range_server, range_server->condition, text);
}

void range_server_wait_stopped(range_server *range_server, unsigned count) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&range_server->lock);
    while (range_server->stops < count && error == 0) {
        error = pthread_cond_timedwait(&range_server->changed, &range_server->lock, &deadline);
    }
    pthread_mutex_unlock(&range_server->lock);
    assert_int_equal(error, 0);
}

char *make_content(size_t size, uint64_t seed) {
    char *bytes = malloc(size + 8);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t random = next_random(&seed);
        memcpy(bytes + i, &random, 8);
    }
    return bytes;
}
