/*
 * sd_event URL: fetches a URL inside a program with the event loop of systemd.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <time.h>

static afc_session *session;
static sd_event *event;
static sd_event_source *input, *timer;

/** The session closes its descriptor afterwards; until then sd-event can remove it from epoll. */
static void on_closed(void *context) {
    (void)context;
    input = sd_event_source_disable_unref(input);
    timer = sd_event_source_disable_unref(timer);
    sd_event_exit(event, 0);
}

static int dispatch(void) {
    if (afc_session_dispatch(session) != AFC_OK) return 0;
    int timeout = afc_session_get_timeout_ms(session);
    if (timeout < 0) return sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    int error = sd_event_source_set_time_relative(timer, (uint64_t)timeout * 1000);
    return error < 0 ? error : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *context) {
    (void)source, (void)fd, (void)events, (void)context;
    return dispatch();
}

static int on_timer(sd_event_source *source, uint64_t time, void *context) {
    (void)source, (void)time, (void)context;
    return dispatch();
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
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    options.on_closed = on_closed;
    if (argc != 2 || afc_session_new(&session, &options, NULL) != AFC_OK) return 2;
    if (sd_event_new(&event) < 0 ||
        sd_event_add_io(event, &input, afc_session_get_fd(session), EPOLLIN, on_readable, NULL) <
            0 ||
        sd_event_add_time_relative(event, &timer, CLOCK_MONOTONIC, 0, 1000, on_timer, NULL) < 0) {
        return 1;
    }
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = argv[1];
    events.context = &code;
    events.on_done = on_done;
    afc_task_begin(NULL, session, &request, &events, NULL);
    afc_session_release(session); /* Closes when the task is done. */
    sd_event_loop(event);
    sd_event_unref(event);
    return code;
}
