/**
 * Runs on_progress, on_done and release of a task on the session's executor (afc_executor). Only tasks of a session
 * with an executor have a delivery, which replaces the task's callbacks and calls those of its caller.
 */
#ifndef AFC_SESSION_DELIVERY_H
#define AFC_SESSION_DELIVERY_H

#include "session/task_internal.h"

typedef struct afc__delivery afc__delivery;

/** Returns whether a task with these callbacks needs a delivery. */
bool afc__delivery_is_needed(const afc_session *session, const afc_task_events *events);

/**
 * Makes a delivery, which copies `*events` and replaces them by its own functions. It keeps the session alive until the
 * last callback has returned, and ends when the task calls `release`. Fails with AFC_ENOMEM.
 */
afc_status afc__delivery_begin(afc_session *session, afc_task_events *events);

/** Sets the task of a delivery, if these events belong to one. */
void afc__delivery_set_task(const afc_task_events *events, afc_task *task);

/** Returns whether these events belong to a delivery, which completes the task once the callbacks have returned. */
bool afc__delivery_completes(const afc_task_events *events);

/** Calls `release`, the last callback of a task. Threads that wait for the task continue after it. */
void afc__task_release_events(afc_task *task);

#endif
