/** What keeps sessions and tasks alive, and how work gets to their threads. The counts: session_internal.h. */
#ifndef AFC_SESSION_LIFETIME_H
#define AFC_SESSION_LIFETIME_H

#include "run/writer.h"
#include "session/task_internal.h"

/** Counts what may still use the memory of a session; the last one frees it. Any thread. */
void afc__session_reference(afc_session *session);
void afc__session_unreference(afc_session *session);

/** Counts what needs a running session; the last one asks the loop to close. Any thread. */
void afc__session_keep_alive(afc_session *session);
void afc__session_drop_keep_alive(afc_session *session);

/** Posts an operation, AFC__SESSION_…. Any thread that keeps it alive. */
void afc__session_post(afc_session *session, unsigned what);

/** Does a job on the writer, or here if there can be none. Loop thread. */
void afc__session_work(afc_session *session, afc__job *job);

/** Returns memory for a task, not cleared; NULL when out of memory. Any thread. */
afc_task *afc__task_alloc(void);

/** Takes that memory back from a task that couldn't be made. */
void afc__task_recycle(afc_task *task);

/** Posts an operation, AFC__TASK_…. Any thread that has a reference. */
void afc__task_post(afc_task *task, unsigned what);

/** Frees an answer to a challenge. NULL is allowed. */
void afc__reply_free(afc__reply *reply);

#endif
