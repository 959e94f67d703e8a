/** Threads that wait for a task. */
#ifndef AFC_SESSION_TASK_WAIT_H
#define AFC_SESSION_TASK_WAIT_H

#include "session/task_internal.h"

/** Wakes those who wait. The caller has a reference. */
void afc__task_set_complete(afc_task *task);

#endif
