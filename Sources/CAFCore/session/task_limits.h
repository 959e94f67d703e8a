/** When a time limit of a task is reached, and when its alarm rings next. Loop thread. */
#ifndef AF_SESSION_TASK_LIMITS_H
#define AF_SESSION_TASK_LIMITS_H

#include "session/session_internal.h"

/** What has to happen now. */
typedef enum af__due {
    AF__DUE_NOTHING,
    AF__DUE_BYTES, /**< A rate, or a reader, lets a direction move on. */
    AF__DUE_HOP,   /**< The same hop once more, as the network may be back. */
    AF__DUE_END    /**< A limit is reached. */
} af__due;

/** Suspended by the caller, whatever its state? */
bool af__task_is_suspended(const af_task *task);

/** What is due at `now`; for END, `failure` is about the limit that passed. */
af__due af__task_due(const af_task *task, int64_t now, af_failure *failure);

/** The failure of a task whose total limit is reached. */
void af__task_say_incomplete(const af_task *task, af_failure *failure);

/** Forget the moments that have passed; a direction that must still wait sets its own again. */
void af__task_stop_waiting(af_task *task, int64_t now);

/** Let the alarm ring for whatever is due next. */
void af__task_arm(af_task *task);

#endif
