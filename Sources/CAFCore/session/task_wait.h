/** Lets threads wait for a task. */
#ifndef AFC_SESSION_TASK_WAIT_H
#define AFC_SESSION_TASK_WAIT_H

#include "session/task_internal.h"

/** Wakes all threads that wait for the task. The caller has a reference. Any thread. */
void afc__task_set_complete(afc_task *task);

#endif
