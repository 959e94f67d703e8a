/** Waits for the descriptors of a request body and of a sink. Loop thread only. */
#ifndef AFC_SESSION_TASK_DESCRIPTOR_H
#define AFC_SESSION_TASK_DESCRIPTOR_H

#include "session/task_internal.h"

/** Watches the body's descriptor, if the body waits for it. Call it whenever the body has no bytes. */
void afc__task_watch_body(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness));

/** Stops watching the body's descriptor. Call it when there is input, and when nothing is sent any more. */
void afc__task_unwatch_body(afc_task *task);

/** Watches the descriptor of a polled sink until it is writable. Returns false if it can't be watched. */
bool afc__task_watch_sink(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness));

void afc__task_unwatch_sink(afc_task *task);

#endif
