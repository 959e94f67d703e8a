/*
 * A minimal complete program that uses libafcore: prints its version and, given a URL, requests it.
 * Exits with 0 if the response status is 2xx.
 */
#include <afcore/afcore.h>

#include <stdio.h>

/* Written on the loop thread; read after af_join_closed_sessions() has waited for that thread. */
typedef struct received_body {
    af_result *result;
} received_body;

static void keep_result(void *context, af_result *result) {
    ((received_body *)context)->result = result;
}

static int report(const af_result *result) {
    const af_failure *failure = af_result_get_failure(result);
    if (failure->status != AF_OK) {
        fprintf(stderr, "%s: %s\n", af_status_name(failure->status), failure->text);
        return 1;
    }
    const af_head *head = af_result_get_head(result);
    printf("%d, %zu bytes\n", head->status, af_result_get_body(result).size);
    return head->status >= 200 && head->status <= 299 ? 0 : 1;
}

static int get(af_session *session, const char *url, received_body *out) {
    af_request request = AF_REQUEST_INIT;
    request.url = url;
    af_task_events events = AF_TASK_EVENTS_INIT;
    events.context = out;
    events.on_done = keep_result;

    af_failure failure;
    if (af_task_begin(NULL, session, &request, &events, &failure) != AF_OK) {
        fprintf(stderr, "%s: %s\n", af_status_name(failure.status), failure.text);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    printf("libafcore %s\n", af_version());

    af_session *session = NULL;
    af_failure failure;
    if (af_session_new(&session, NULL, &failure) != AF_OK) {
        fprintf(stderr, "%s: %s\n", af_status_name(failure.status), failure.text);
        return 1;
    }
    received_body answer = {NULL};
    int code = argc > 1 ? get(session, argv[1], &answer) : 0;

    /* A released session completes its tasks and ends its thread. Joining waits for that. */
    af_session_release(session);
    af_join_closed_sessions();
    if (answer.result != NULL) {
        code = report(answer.result);
        af_result_free(answer.result);
    }
    return code;
}
