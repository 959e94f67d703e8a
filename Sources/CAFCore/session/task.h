/** A task on the loop thread: its steps from its start to its last callback. Not to be called inside libcurl. */
#ifndef AFC_SESSION_TASK_H
#define AFC_SESSION_TASK_H

#include "session/task_internal.h"

/** Handles the operations that were posted. */
void afc__task_handle(afc_task *task);

/** Sends the next hop of a task whose entry in the queue may run. */
void afc__task_run(afc_task *task);

/** Continues the task after its exchange has ended by itself. */
void afc__task_exchange_ended(afc_task *task);

/** Calls on_done of a completed task, and releases the loop's reference. */
void afc__task_complete(afc_task *task);

/** Returns whether the task was cancelled, by itself or by an afc_session_cancel_all() after its start. */
bool afc__task_is_cancelled(const afc_task *task);

/** Ends a task now as cancelled, in whatever state. */
void afc__task_cancel(afc_task *task);

#endif
