/*
 * Our C core through its public header alone. Every further request is started from on_done of an
 * earlier one, so that as many as were asked for stay in flight without a thread switch.
 */
#include <afcore/afcore.h>
#include <inttypes.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "echo.h"

static bench_options options;
static afc_session *session;
static afc_request request;
static afc_task_events events;
static sem_t finished;

/* Written by main before a run's first request starts, then only by the loop thread. */
static int64_t unstarted;
static int64_t unfinished;
static bool has_warmed_up;

static _Noreturn void fail(const afc_failure *failure) {
    bench_fail(afc_status_name(failure->status), failure->text);
}

static void start_request(void) {
    afc_failure failure;
    if (afc_task_begin(NULL, session, &request, &events, &failure) != AFC_OK) fail(&failure);
}

static afc_status on_body(void *context, afc_slice chunk) {
    (void)context;
    (void)chunk;
    return AFC_OK; /* The library counts: afc_result_get_body_size(). */
}

/** A request that asked the server would not be what is measured. */
static void check_hit(const afc_result *result) {
    size_t count;
    const afc_hop *hops = afc_result_get_hops(result, &count);
    if (count == 0 || hops[count - 1].cache != AFC_CACHE_USE_HIT) {
        bench_fail("cache", "a request was not answered from the cache");
    }
}

static void on_done(void *context, afc_result *result) {
    (void)context;
    const afc_failure *failure = afc_result_get_failure(result);
    const afc_head *head = afc_result_get_head(result);
    if (failure->status != AFC_OK || head == NULL) fail(failure);
    bench_check(&options, head->status, (int64_t)afc_result_get_body_size(result));
    if (has_warmed_up && options.kind == BENCH_CACHED) check_hit(result);
    afc_result_free(result);
    if (unstarted > 0) {
        unstarted--;
        start_request();
    }
    if (--unfinished == 0 && options.loop != BENCH_LOOP_EXTERNAL) sem_post(&finished);
}

static afc_status take_turn(void) {
    struct pollfd polled = {.fd = afc_session_get_fd(session), .events = POLLIN};
    poll(&polled, 1, afc_session_get_timeout_ms(session));
    return afc_session_dispatch(session);
}

static void run(int64_t count) {
    int64_t first = count < options.in_flight ? count : options.in_flight;
    unfinished = count;
    unstarted = count - first;
    for (int64_t i = 0; i < first; i++) start_request();
    if (options.loop == BENCH_LOOP_EXTERNAL) {
        while (unfinished > 0) take_turn();
        return;
    }
    while (sem_wait(&finished) != 0) continue;
}

static void open_session(void) {
    afc_failure failure;
    afc_session_options session_options = AFC_SESSION_OPTIONS_INIT;
    session_options.max_connections_per_host = (uint32_t)options.connections;
    session_options.max_idle_connections = (uint32_t)options.in_flight;
    if (options.loop == BENCH_LOOP_EXTERNAL) session_options.loop = AFC_LOOP_EXTERNAL;
    if (options.ca != NULL) {
        int64_t size;
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        char *anchors = bench_read_file(options.ca, &size);
        trust.anchors = (afc_slice){anchors, (size_t)size};
        if (afc_trust_policy_new(&session_options.trust, &trust, &failure) != AFC_OK)
            fail(&failure);
        free(anchors);
    }
    bool has_cache = options.kind == BENCH_CACHED || options.kind == BENCH_STORED;
    afc_http_cache *cache = NULL;
    if (has_cache && afc_http_cache_open(&cache, NULL, &failure) != AFC_OK) fail(&failure);
    session_options.http_cache = cache;
    if (afc_session_new(&session, &session_options, &failure) != AFC_OK) fail(&failure);
    afc_http_cache_release(cache);
    afc_trust_policy_release(session_options.trust);
}

static void describe_request(void) {
    static const afc_header fields[] = {
        {{"User-Agent", 10}, {BENCH_USER_AGENT, sizeof BENCH_USER_AGENT - 1}, 0},
        {{"Accept-Language", 15}, {BENCH_ACCEPT_LANGUAGE, sizeof BENCH_ACCEPT_LANGUAGE - 1}, 0},
    };
    static const afc_sink_kind sinks[] = {
        [BENCH_MEMORY] = AFC_SINK_MEMORY,   [BENCH_FILE] = AFC_SINK_FILE,
        [BENCH_EVENTS] = AFC_SINK_CALLBACK, [BENCH_UPLOAD] = AFC_SINK_MEMORY,
        [BENCH_JSON] = AFC_SINK_MEMORY,     [BENCH_CLOSURES] = AFC_SINK_MEMORY,
        [BENCH_ECHO] = AFC_SINK_MEMORY,     [BENCH_SOCKETS] = AFC_SINK_MEMORY,
        [BENCH_CACHED] = AFC_SINK_MEMORY,   [BENCH_STORED] = AFC_SINK_MEMORY,
    };
    request = (afc_request)AFC_REQUEST_INIT;
    request.url = options.url;
    request.headers = fields;
    request.header_count = sizeof fields / sizeof *fields;
    request.sink.kind = sinks[options.kind];
    request.limits.body_bytes = (uint64_t)options.bytes;
    if (options.kind == BENCH_STORED) request.cache_policy = AFC_HTTP_CACHE_RELOAD;
    if (options.kind == BENCH_FILE) request.sink.path = options.path;
    if (options.kind == BENCH_UPLOAD) {
        request.method = "PUT";
        request.body.kind = AFC_BODY_FILE;
        request.body.path = options.path;
    }
    events = (afc_task_events)AFC_TASK_EVENTS_INIT;
    events.on_body = on_body;
    events.on_done = on_done;
}

int main(int argc, char **argv) {
    options = bench_parse(argc, argv);
    sem_init(&finished, 0, 0);
    describe_request();
    open_session();
    if (options.kind == BENCH_ECHO || options.kind == BENCH_SOCKETS) {
        echo_run(&options, session);
    } else {
        if (options.warmup > 0) run(options.warmup);
        has_warmed_up = true;
        bench_begin();
        run(options.count);
        bench_end(&options, "core");
    }
    afc_session_release(session);
    if (options.loop == BENCH_LOOP_EXTERNAL) {
        while (take_turn() == AFC_OK) continue;
    }
    afc_join_closed_sessions();
    return 0;
}
