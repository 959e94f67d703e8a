#include "example.h"

#include <stdio.h>

int perform(const afc_request *request, afc_task_events *events) {
    afc_failure failure;
    afc_session *session;
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    example_exchange exchange = {0};
    events->context = &exchange;
    if (afc_task_begin(NULL, session, request, events, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        exchange.code = 1;
    }
    /* A released session first completes its tasks. Joining waits for that. */
    afc_session_release(session);
    afc_join_closed_sessions();
    return exchange.code;
}

bool report_failure(example_exchange *exchange, const afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status == AFC_OK) return false;
    fprintf(stderr, "%s: %s\n", afc_status_name(failure->status), failure->text);
    exchange->code = 1;
    return true;
}

bool is_success(const afc_result *result) {
    const afc_head *head = afc_result_get_head(result);
    return head != NULL && head->status >= 200 && head->status <= 299;
}
