/** When a time limit of a task is reached, and when its alarm rings next. Loop thread. */
#ifndef AFC_SESSION_TASK_LIMITS_H
#define AFC_SESSION_TASK_LIMITS_H

#include "session/task_internal.h"

/** What has to happen now. */
typedef enum afc__due {
    AFC__DUE_NOTHING,
    AFC__DUE_BYTES,   /**< A rate, or a reader, lets a direction move on. */
    AFC__DUE_WAKE,    /**< A delayed on_wake. */
    AFC__DUE_BODY,    /**< The body has waited for 100 (Continue) long enough. */
    AFC__DUE_HOP,     /**< The same hop once more, as the network may be back. */
    AFC__DUE_HOP_END, /**< A limit of the hop is reached. */
    AFC__DUE_END      /**< The total limit is reached. */
} afc__due;

/** Returns what is due at `now`; for HOP_END and END, `failure` is about the limit that passed. */
afc__due afc__task_due(const afc_task *task, int64_t now, afc_failure *failure);

/** Whether on_wake was called so recently that another one can wait. */
bool afc__task_was_just_woken(const afc_task *task);

/** Fills in the failure of a task whose total limit is reached. */
void afc__task_say_incomplete(const afc_task *task, afc_failure *failure);

/** Limits what is left of the task to a time from now on, unless its total limit is earlier. */
void afc__task_limit_rest(afc_task *task, uint32_t limit_ms);

/** Sets the alarm for whatever is due next. */
void afc__task_arm(afc_task *task);

#endif
