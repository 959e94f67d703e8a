/*
 * pipe URL: writes a body to standard output as it arrives, for another program: `pipe URL | tar x`. While that one is
 * busy, the server waits.
 */
#include <afcore/afcore.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

typedef struct ending {
    afc_status status;
    int system_error;
} ending;

static afc_status on_head(void *context, afc_response *response) {
    (void)context;
    int code = response->head->status;
    if (code >= 200 && code <= 299) return AFC_OK;
    fprintf(stderr, "status %d\n", code);
    return AFC_ECANCELED;
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    *(ending *)context = (ending){failure->status, failure->system_error};
    if (failure->status != AFC_OK) fprintf(stderr, "%s\n", failure->text);
    afc_result_free(result);
}

int main(int argc, char **argv) {
    ending outcome = {AFC_EINVAL, 0};
    afc_session *session;
    afc_failure failure;
    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.sink.kind = AFC_SINK_FD;
    request.sink.descriptor = STDOUT_FILENO;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &outcome;
    events.on_head = on_head;
    events.on_done = on_done;
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) {
        status = afc_task_begin(NULL, session, &request, &events, &failure);
        afc_session_release(session);
        afc_join_closed_sessions();
    }
    if (status != AFC_OK) fprintf(stderr, "%s\n", failure.text);
    if (outcome.status == AFC_EFILE && outcome.system_error == EPIPE)
        return 3; /* The reader has left. */
    return outcome.status == AFC_OK ? 0 : 1;
}
