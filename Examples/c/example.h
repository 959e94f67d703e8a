/** Shared by the examples: performs one request on a new session, and returns an exit code. */
#ifndef AFC_EXAMPLE_H
#define AFC_EXAMPLE_H

#include <afcore/afcore.h>

/** The context of all callbacks. */
typedef struct example_exchange {
    int code; /**< The program's exit code; initially 0. */
} example_exchange;

/** Creates a session, performs one request on it and closes it. Sets `events->context`. */
int perform(const afc_request *request, afc_task_events *events);

/** Prints a failure on standard error and sets the exit code. Returns false without a failure. */
bool report_failure(example_exchange *exchange, const afc_result *result);

/** Whether the response status is 200 to 299. */
bool is_success(const afc_result *result);

#endif
