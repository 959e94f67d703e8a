/*
 * poll URL...: fetches URLs in a program with its own loop over poll(), without another thread.
 */
#include <afcore/afcore.h>
#include <poll.h>
#include <stdio.h>

typedef struct program {
    int running, failed;
} program;

static void on_done(void *context, afc_result *result) {
    program *state = context;
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status == AFC_OK) {
        printf("%d %s\n", afc_result_get_head(result)->status, afc_result_get_url(result));
    } else {
        fprintf(stderr, "%s\n", failure->text);
        state->failed++;
    }
    afc_result_free(result);
    state->running--;
}

int main(int argc, char **argv) {
    program state = {0};
    afc_session *session;
    afc_failure failure;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    if (afc_session_new(&session, &options, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &state;
    events.on_done = on_done;
    for (int i = 1; i < argc; i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = argv[i];
        if (afc_task_begin(NULL, session, &request, &events, &failure) == AFC_OK) {
            state.running++;
        } else {
            fprintf(stderr, "%s: %s\n", argv[i], failure.text);
            state.failed++;
        }
    }
    /* The session closes when its tasks are done. A real loop would wait for more descriptors. */
    afc_session_release(session);
    struct pollfd polled = {.fd = afc_session_get_fd(session), .events = POLLIN};
    do {
        poll(&polled, 1, afc_session_get_timeout_ms(session));
    } while (afc_session_dispatch(session) == AFC_OK);
    return state.running == 0 && state.failed == 0 ? 0 : 1;
}
