/*
 * A minimal complete program that uses libafcore: prints its version and, given a URL, requests it.
 * Exits with 0 if the response status is 2xx.
 */
#include <afcore/afcore.h>

#include <stdio.h>

/* Written on the loop thread; read after afc_join_closed_sessions() has waited for that thread. */
typedef struct received_body {
    afc_result *result;
} received_body;

static void keep_result(void *context, afc_result *result) {
    ((received_body *)context)->result = result;
}

static int report(const afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status != AFC_OK) {
        fprintf(stderr, "%s: %s\n", afc_status_name(failure->status), failure->text);
        return 1;
    }
    const afc_head *head = afc_result_get_head(result);
    printf("%d, %zu bytes\n", head->status, afc_result_get_body(result).size);
    return head->status >= 200 && head->status <= 299 ? 0 : 1;
}

static int get(afc_session *session, const char *url, received_body *out) {
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = out;
    events.on_done = keep_result;

    afc_failure failure;
    if (afc_task_begin(NULL, session, &request, &events, &failure) != AFC_OK) {
        fprintf(stderr, "%s: %s\n", afc_status_name(failure.status), failure.text);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    printf("libafcore %s\n", afc_version());

    afc_session *session = NULL;
    afc_failure failure;
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s: %s\n", afc_status_name(failure.status), failure.text);
        return 1;
    }
    received_body answer = {NULL};
    int code = argc > 1 ? get(session, argv[1], &answer) : 0;

    /* A released session completes its tasks and ends its thread. Joining waits for that. */
    afc_session_release(session);
    afc_join_closed_sessions();
    if (answer.result != NULL) {
        code = report(answer.result);
        afc_result_free(answer.result);
    }
    return code;
}
