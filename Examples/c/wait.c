/*
 * wait URL MS: waits at most MS milliseconds for the response, then cancels the request.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <stdlib.h>

static void on_done(void *context, afc_result *result) {
    *(afc_result **)context = result;
}

int main(int argc, char **argv) {
    afc_session *session;
    afc_task *task;
    afc_result *result = NULL;
    afc_failure failure;
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL MS\n", argv[0]);
        return 2;
    }
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &result;
    events.on_done = on_done;
    afc_status status = afc_task_begin(&task, session, &request, &events, &failure);
    if (status == AFC_OK) {
        if (afc_task_wait(task, strtol(argv[2], NULL, 10)) == AFC_ETIMEOUT) {
            fprintf(stderr, "no response yet: cancelling\n");
            afc_task_cancel(task);
            afc_task_wait(task, -1); /* on_done is called in any case. */
        }
        failure = *afc_result_get_failure(result);
        status = failure.status;
    }
    printf("%s: %s\n", afc_status_name(status), status == AFC_OK ? "done" : failure.text);
    afc_result_free(result);
    afc_task_release(task);
    afc_session_release(session);
    return status == AFC_OK ? 0 : 1;
}
