/** Makes and wakes tasks, for the library itself. Any thread. */
#ifndef AFC_SESSION_TASK_CALLS_H
#define AFC_SESSION_TASK_CALLS_H

#include "session/task_internal.h"

/** Does the same as afc_task_new(), but the callbacks, which are the library's, never run on the executor. */
afc_status afc__task_make(afc_task **out, afc_session *session, const afc_request *request,
                          const afc_task_events *events, afc_failure *failure);

/**
 * Reads the request of a caller whose headers may have another version, into `storage`; see afc__sized_read(). Returns
 * NULL on failure.
 */
const afc_request *afc__task_read_request(afc_request *storage, const afc_request *given,
                                          afc_failure *failure);

/**
 * Call it when the request body has bytes to send. Unlike after afc_task_wake(), what on_body has refused isn't passed
 * on again.
 */
void afc__task_wake_sending(afc_task *task);

/** Releases what a request, of any version, transfers to a task, if that couldn't be made. */
void afc__task_release_request(const afc_request *request);

#endif
