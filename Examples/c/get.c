/*
 * get URL: streams the body to standard output as it arrives. The memory use doesn't depend on the size.
 */
#include <afcore/afcore.h>
#include <stdio.h>

/** Decides before the body is received whether it is wanted. */
static afc_status on_head(void *context, afc_response *response) {
    (void)context;
    int status = response->head->status;
    if (status >= 200 && status <= 299) return AFC_OK;
    fprintf(stderr, "status %d\n", status);
    return AFC_ECANCELED;
}

/** A status other than AFC_OK ends the task; AFC_EAGAIN would pause it until afc_task_wake(). */
static afc_status on_body(void *context, afc_slice chunk) {
    (void)context;
    fwrite(chunk.bytes, 1, chunk.size, stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? AFC_OK : AFC_EFILE;
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    *(afc_status *)context = failure->status;
    if (failure->status != AFC_OK) fprintf(stderr, "%s\n", failure->text);
    afc_result_free(result);
}

int main(int argc, char **argv) {
    afc_session *session;
    afc_failure failure;
    afc_status result = AFC_OK;
    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.sink.kind = AFC_SINK_CALLBACK;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &result;
    events.on_head = on_head;
    events.on_body = on_body;
    events.on_done = on_done;
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) {
        status = afc_task_begin(NULL, session, &request, &events, &failure);
        /* A released session first completes its tasks; joining waits for that. */
        afc_session_release(session);
        afc_join_closed_sessions();
    }
    if (status != AFC_OK) fprintf(stderr, "%s\n", failure.text);
    return status == AFC_OK && result == AFC_OK ? 0 : 1;
}
