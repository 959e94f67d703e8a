#include "example.h"

#include <stdio.h>

int perform(const af_request *request, af_task_events *events) {
    af_failure failure;
    af_session *session;
    if (af_session_new(&session, NULL, &failure) != AF_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    example_exchange exchange = {0};
    events->context = &exchange;
    if (af_task_begin(NULL, session, request, events, &failure) != AF_OK) {
        fprintf(stderr, "%s\n", failure.text);
        exchange.code = 1;
    }
    /* A released session first completes its tasks. Joining waits for that. */
    af_session_release(session);
    af_join_closed_sessions();
    return exchange.code;
}

bool report_failure(example_exchange *exchange, const af_result *result) {
    const af_failure *failure = af_result_get_failure(result);
    if (failure->status == AF_OK) return false;
    fprintf(stderr, "%s: %s\n", af_status_name(failure->status), failure->text);
    exchange->code = 1;
    return true;
}

bool is_success(const af_result *result) {
    const af_head *head = af_result_get_head(result);
    return head != NULL && head->status >= 200 && head->status <= 299;
}
