/* afc_perform(): a request and its result in one call. */
#include "base/failure.h"
#include "session/task_calls.h"

static void keep_result(void *context, afc_result *result) {
    *(afc_result **)context = result;
}

afc_status afc_perform(afc_result **out, afc_session *session, const afc_request *request,
                       afc_failure *failure) {
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    afc_task *task;
    afc_result *result = NULL;
    if (out != NULL) *out = NULL;
    if (session->is_driven || afc__loop_is_any_current()) {
        if (request != NULL) afc__task_release_request(request);
        return afc__fail(failure, AFC_EINVAL,
                         session->is_driven
                             ? "a session without a thread can't be waited for: dispatch instead"
                             : "a callback on a loop thread must not wait: begin a task instead");
    }
    events.context = &result;
    events.on_done = keep_result;
    afc_status status = afc__task_make(&task, session, request, &events, failure);
    if (status != AFC_OK) return status;
    afc_task_start(task);
    afc_task_wait(task, -1);
    afc_task_release(task);
    const afc_failure *found = afc_result_get_failure(result);
    if (failure != NULL) *failure = *found;
    status = found->status;
    if (out != NULL)
        *out = result;
    else
        afc_result_free(result);
    return status;
}
