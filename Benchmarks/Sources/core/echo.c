#include "echo.h"

#include <semaphore.h>
#include <stdlib.h>

static const bench_options *options;
static sem_t finished;
static afc_slice message;

typedef struct echo {
    afc_websocket *socket;
} echo;

/* Written by main while nothing is under way, otherwise only by the loop thread. */
static int64_t unsent, unfinished;

static void send_next(echo *self) {
    if (unsent == 0) return;
    unsent--;
    afc_status status = afc_websocket_send(self->socket, AFC_WEBSOCKET_BINARY, message, 0, NULL);
    if (status != AFC_OK) bench_fail("afc_websocket_send", afc_status_name(status));
}

static void finish_one(void) {
    if (--unfinished == 0) sem_post(&finished);
}

static void on_open(void *context, const afc_websocket_opening *opening) {
    (void)context;
    (void)opening;
    finish_one();
}

static afc_status on_message(void *context, const afc_websocket_message *received) {
    bench_check(options, 200, (int64_t)received->bytes.size);
    send_next(context);
    finish_one();
    return AFC_OK;
}

static void on_closed(void *context, const afc_websocket_end *end) {
    (void)context;
    if (end->failure.status != AFC_ECANCELED) bench_fail("closed", end->failure.text);
}

static void await(void) {
    while (sem_wait(&finished) != 0) continue;
}

static void open_sockets(echo *all, afc_session *session) {
    afc_failure failure;
    afc_request request = AFC_REQUEST_INIT;
    afc_websocket_events events = AFC_WEBSOCKET_EVENTS_INIT;
    request.url = options->url;
    events.on_open = on_open;
    events.on_message = on_message;
    events.on_closed = on_closed;
    for (int64_t first = 0; first < options->in_flight; first += BENCH_OPENING) {
        int64_t left = options->in_flight - first;
        int64_t end = first + (left < BENCH_OPENING ? left : BENCH_OPENING);
        unfinished = end - first;
        for (int64_t i = first; i < end; i++) {
            events.context = &all[i];
            if (afc_websocket_open(&all[i].socket, session, &request, NULL, &events, &failure) !=
                AFC_OK)
                bench_fail(afc_status_name(failure.status), failure.text);
        }
        await();
    }
}

/* The first messages are sent here, each further one when the echo of an earlier one has come. */
static void send_messages(echo *all, int64_t count) {
    unfinished = count;
    int64_t first = count < options->in_flight ? count : options->in_flight;
    unsent = count - first;
    for (int64_t i = 0; i < first; i++) {
        if (afc_websocket_send(all[i].socket, AFC_WEBSOCKET_BINARY, message, 0, NULL) != AFC_OK)
            bench_fail("afc_websocket_send", "refused");
    }
    await();
}

void echo_run(const bench_options *given, afc_session *session) {
    options = given;
    echo *all = calloc((size_t)options->in_flight, sizeof *all);
    char *bytes = calloc(1, (size_t)options->bytes + 1);
    if (all == NULL || bytes == NULL) bench_fail("echo", "out of memory");
    message = (afc_slice){bytes, (size_t)options->bytes};
    sem_init(&finished, 0, 0);
    if (options->kind == BENCH_SOCKETS) bench_begin();
    open_sockets(all, session);
    if (options->kind == BENCH_ECHO) {
        if (options->warmup > 0) send_messages(all, options->warmup);
        bench_begin();
        send_messages(all, options->count);
    }
    bench_end(options, "core");
    for (int64_t i = 0; i < options->in_flight; i++) {
        afc_websocket_cancel(all[i].socket);
        afc_websocket_release(all[i].socket);
    }
    /* `all` is a context until the last socket has ended, which the session's end waits for. */
    free(bytes);
}
