/** When a time limit of a task is reached, and when its alarm fires next. Loop thread only. */
#ifndef AFC_SESSION_TASK_LIMITS_H
#define AFC_SESSION_TASK_LIMITS_H

#include "session/task_internal.h"

/** What is due. */
typedef enum afc__due {
    AFC__DUE_NOTHING,
    /** A direction may continue after waiting for a rate limit, a reader or the next turn. */
    AFC__DUE_BYTES,
    AFC__DUE_WAKE,    /**< on_wake, which was delayed. */
    AFC__DUE_BODY,    /**< The request body has waited for 100 (Continue) long enough. */
    AFC__DUE_HOP,     /**< The same hop again, as the network may be back. */
    AFC__DUE_HOP_END, /**< The hop's connect or idle limit is reached. */
    AFC__DUE_END      /**< The total limit is reached. */
} afc__due;

/** Returns what is due at `now`. For HOP_END and END, sets `*failure` to the limit that was reached. */
afc__due afc__task_due(const afc_task *task, int64_t now, afc_failure *failure);

/** Returns whether on_wake was called so recently that another call should be delayed. */
bool afc__task_was_just_woken(const afc_task *task);

/** Sets `*failure` to that of a task whose total limit is reached. */
void afc__task_explain_incomplete(const afc_task *task, afc_failure *failure);

/** Sets the total limit of the task to `limit_ms` from now on, unless its total limit is earlier. */
void afc__task_limit_rest(afc_task *task, uint32_t limit_ms);

/** Arms the task's alarm for what is due next. */
void afc__task_arm(afc_task *task);

#endif
