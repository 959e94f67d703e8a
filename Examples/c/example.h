/** What the examples have in common: one request on a session of its own, and an exit code. */
#ifndef AF_EXAMPLE_H
#define AF_EXAMPLE_H

#include <afcore/afcore.h>

/** The context of every callback here. */
typedef struct example_exchange {
    int code; /**< The program's exit code, 0 at first. */
} example_exchange;

/** Make a session, perform one request on it and end it. `events->context` is filled in. */
int perform(const af_request *request, af_task_events *events);

/** Say on standard error why a task failed, and make that the exit code; false if it did not fail. */
bool report_failure(example_exchange *exchange, const af_result *result);

/** Whether the answer's status is 200 to 299. */
bool is_success(const af_result *result);

#endif
