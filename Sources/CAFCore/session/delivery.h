/**
 * Runs on_progress, on_done and release of a task where the session's executor wants them. Only tasks of a session with
 * an executor have a delivery: it stands between the task and the callbacks of its caller.
 */
#ifndef AFC_SESSION_DELIVERY_H
#define AFC_SESSION_DELIVERY_H

#include "session/task_internal.h"

typedef struct afc__delivery afc__delivery;

/** Returns whether a task with these callbacks needs a delivery. */
bool afc__delivery_is_needed(const afc_session *session, const afc_task_events *events);

/**
 * Puts itself between the task and `events`, which it copies, and keeps the session alive until the last callback has
 * returned. The task's call of `release` ends it. AFC_ENOMEM.
 */
afc_status afc__delivery_begin(afc_session *session, afc_task_events *events);

/** Tells the delivery of a new task, if these events are one's, which task it is for. */
void afc__delivery_set_task(const afc_task_events *events, afc_task *task);

/** Returns whether these events belong to a delivery, which completes the task once the callbacks have returned. */
bool afc__delivery_completes(const afc_task_events *events);

/** Calls `release`, the last callback of a task. Threads that wait for the task go on after it. */
void afc__task_release_events(afc_task *task);

#endif
