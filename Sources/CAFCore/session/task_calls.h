/** Making and waking tasks, for the library's own ones. Any thread. */
#ifndef AFC_SESSION_TASK_CALLS_H
#define AFC_SESSION_TASK_CALLS_H

#include "session/task_internal.h"

/** Does what afc_task_new() does, for callbacks of the library, which an executor doesn't run. */
afc_status afc__task_make(afc_task **out, afc_session *session, const afc_request *request,
                          const afc_task_events *events, afc_failure *failure);

/** Reads the request of a caller whose headers have another version; see afc__sized_read(). */
const afc_request *afc__task_read_request(afc_request *storage, const afc_request *given,
                                          afc_failure *failure);

/** The request body has bytes to send. Unlike after afc_task_wake(), what on_body has refused isn't passed on again. */
void afc__task_wake_sending(afc_task *task);

/** Releases what a request of any version gives to a task that isn't made. */
void afc__task_release_request(const afc_request *request);

#endif
