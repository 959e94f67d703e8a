#include "support/origin.h"

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
static int64_t wanted_start(const origin *origin) {
    int64_t first = 0;
    char mark = '\0';
    if (origin->ignores_ranges) return 0;
    if (sscanf(origin->range, "bytes=%" SCNd64 "%c", &first, &mark) != 2 || mark != '-') return 0;
    bool is_same = origin->etag != NULL && strcmp(origin->condition, origin->etag) == 0;
    return is_same || origin->ignores_condition || origin->condition[0] == '\0' ? first : 0;
}

static void describe_body(const origin *origin, plan *plan, char *out, size_t size) {
    int64_t total = (int64_t)plan->content.size;
    out[0] = '\0';
    if (plan->status == 416) {
        snprintf(out, size, "Content-Length: 0\r\nContent-Range: bytes */%" PRId64 "\r\n", total);
        return;
    }
    int used = 0;
    if (origin->chunks) {
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

static void make_plan(origin *origin, plan *plan) {
    int64_t total = (int64_t)origin->content.size;
    char body[256];
    *plan = (struct plan){.status = 200, .end = total, .content = origin->content};
    plan->first = wanted_start(origin);
    if (plan->first > 0) plan->status = plan->first < total ? 206 : 416;
    if (plan->status == 416) plan->first = plan->end = 0;
    plan->stop = plan->end;
    if (origin->stops_after >= 0 && plan->first + origin->stops_after < plan->end) {
        plan->stop = plan->first + origin->stops_after;
    }
    plan->waits = origin->waits;
    plan->chunks = origin->chunks && plan->status != 416;
    describe_body(origin, plan, body, sizeof body);
    const char *fields = origin->fields;
    snprintf(plan->head, sizeof plan->head, "HTTP/1.1 %d X\r\n%s%s%s%s%s\r\n", plan->status, body,
             origin->etag != NULL ? "ETag: " : "", origin->etag != NULL ? origin->etag : "",
             origin->etag != NULL ? "\r\n" : "", fields != NULL ? fields : "");
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
    origin *origin = payload;
    plan plan;
    pthread_mutex_lock(&origin->lock);
    origin->requests++;
    remember(origin->range, sizeof origin->range, afts_request_header(request, "Range"));
    remember(origin->condition, sizeof origin->condition, afts_request_header(request, "If-Range"));
    make_plan(origin, &plan);
    pthread_mutex_unlock(&origin->lock);
    if (afts_conn_send(conn, plan.head, strlen(plan.head)) != 0) return;
    if (send_body(conn, &plan) != 0 || plan.stop == plan.end) return;
    pthread_mutex_lock(&origin->lock);
    origin->stops++;
    pthread_cond_broadcast(&origin->changed);
    pthread_mutex_unlock(&origin->lock);
    char ignored[64];
    size_t count = plan.waits ? 1 : 0;
    while (count > 0) afts_conn_read(conn, ignored, sizeof ignored, &count);
    afts_script *close = afts_script_new();
    afts_close(close);
    afts_conn_run(conn, close);
    afts_script_release(close);
}

void origin_serve(origin *origin, world *world, const char *path, afc_slice content,
                  const char *etag) {
    memset(origin, 0, sizeof *origin);
    origin->content = content;
    origin->etag = etag;
    origin->stops_after = WHOLE;
    pthread_mutex_init(&origin->lock, NULL);
    pthread_cond_init(&origin->changed, NULL);
    afts_script *script = afts_script_new();
    afts_handle(script, answer_request, origin, NULL);
    serve(world, path, script);
}

void origin_change(origin *origin, afc_slice content, const char *etag) {
    pthread_mutex_lock(&origin->lock);
    origin->content = content;
    origin->etag = etag;
    pthread_mutex_unlock(&origin->lock);
}

static const char *copy_locked(origin *origin, const char *text, char out[64]) {
    pthread_mutex_lock(&origin->lock);
    memcpy(out, text, 64);
    pthread_mutex_unlock(&origin->lock);
    return out;
}

const char *origin_range(origin *origin) {
    static char text[64];
    return copy_locked(origin, origin->range, text);
}

const char *origin_condition(origin *origin) {
    static char text[64];
    return copy_locked(origin, origin->condition, text);
}

void origin_wait_stopped(origin *origin, unsigned count) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&origin->lock);
    while (origin->stops < count && error == 0) {
        error = pthread_cond_timedwait(&origin->changed, &origin->lock, &deadline);
    }
    pthread_mutex_unlock(&origin->lock);
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
