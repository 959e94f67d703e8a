/**
 * The lifetimes of sessions and tasks, and how work gets to their threads. The counters are explained in
 * session_internal.h.
 */
#ifndef AFC_SESSION_LIFETIME_H
#define AFC_SESSION_LIFETIME_H

#include "run/writer.h"
#include "session/task_internal.h"

/**
 * Changes `references`, which counts what may still use the memory of a session; the last release frees it. Any thread.
 */
void afc__session_reference(afc_session *session);
void afc__session_unreference(afc_session *session);

/**
 * Changes `holders`, which counts what needs a running session; the last release asks the loop to close. Any thread.
 */
void afc__session_keep_alive(afc_session *session);
void afc__session_drop_keep_alive(afc_session *session);

/** Posts an operation, AFC__SESSION_…, to the loop. Any thread that keeps the session alive. */
void afc__session_post(afc_session *session, unsigned what);

/** Does a job on the writer thread, or at once on this thread if there can be no writer. Loop thread only. */
void afc__session_work(afc_session *session, afc__job *job);

/** Returns memory for a task, not zeroed; NULL when out of memory. Any thread. */
afc_task *afc__task_alloc(void);

/** Takes back the memory of a task that couldn't be made. Any thread. */
void afc__task_recycle(afc_task *task);

/** Posts an operation, AFC__TASK_…, to the loop. Any thread that has a reference to the task. */
void afc__task_post(afc_task *task, unsigned what);

/** Frees an answer to a challenge. NULL is allowed. */
void afc__reply_free(afc__reply *reply);

#endif
