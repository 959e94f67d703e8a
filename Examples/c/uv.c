/*
 * uv URL: fetches a URL inside a libuv program.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <uv.h>

static afc_session *session;
static uv_poll_t poller;
static uv_timer_t timer;

static void dispatch(void);

static void on_readable(uv_poll_t *handle, int status, int events) {
    (void)handle, (void)status, (void)events;
    dispatch();
}

static void on_timer(uv_timer_t *handle) {
    (void)handle;
    dispatch();
}

/** Asks for the next timeout after each dispatch. */
static void dispatch(void) {
    if (afc_session_dispatch(session) != AFC_OK) return;
    int timeout = afc_session_get_timeout_ms(session);
    if (timeout < 0) uv_timer_stop(&timer);
    if (timeout >= 0) uv_timer_start(&timer, on_timer, (uint64_t)timeout, 0);
}

/** The session closes its descriptor afterwards: libuv must not poll it any longer. */
static void on_closed(void *context) {
    (void)context;
    uv_close((uv_handle_t *)&poller, NULL);
    uv_close((uv_handle_t *)&timer, NULL);
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status != AFC_OK) fprintf(stderr, "%s\n", failure->text);
    if (failure->status == AFC_OK) printf("%d\n", afc_result_get_head(result)->status);
    *(int *)context = failure->status == AFC_OK ? 0 : 1;
    afc_result_free(result);
}

int main(int argc, char **argv) {
    int code = 1;
    uv_loop_t *loop = uv_default_loop();
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    options.on_closed = on_closed;
    if (argc != 2 || afc_session_new(&session, &options, NULL) != AFC_OK) return 2;
    uv_poll_init(loop, &poller, afc_session_get_fd(session));
    uv_timer_init(loop, &timer);
    uv_poll_start(&poller, UV_READABLE, on_readable);
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = argv[1];
    events.context = &code;
    events.on_done = on_done;
    afc_failure failure;
    if (afc_task_begin(NULL, session, &request, &events, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
    }
    afc_session_release(session); /* Closes when the task is done. */
    uv_run(loop, UV_RUN_DEFAULT);
    return code;
}
