/**
 * How a task uses its session's HTTP cache: for a response, and for validations in the background. Loop thread only.
 */
#ifndef AFC_SESSION_TASK_CACHE_H
#define AFC_SESSION_TASK_CACHE_H

#include "session/task_internal.h"
#include "transfer/caching/hop_cache.h"

/**
 * Asks the cache before a hop. After AFC__CACHE_NEXT_WAIT, AFC__TASK_CACHED is posted once the cache can continue. With
 * AFC__CACHE_NEXT_REPLAY, a validation in the background was started if the response needs one.
 */
afc__cache_next afc__task_ask_cache(afc_task *task);

/** Passes on some of the stored response. After MORE and PENDING, AFC__TASK_CACHED is posted for the next piece. */
afc__replay afc__task_replay(afc_task *task);

#endif
