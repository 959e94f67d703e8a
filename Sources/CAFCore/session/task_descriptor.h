/** Waits for the descriptors of a request body and of a sink. Loop thread. */
#ifndef AFC_SESSION_TASK_DESCRIPTOR_H
#define AFC_SESSION_TASK_DESCRIPTOR_H

#include "session/task_internal.h"

/** Watches the descriptor if the body waits for it; called whenever a body has no bytes. */
void afc__task_watch_body(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness));

/** Stops watching; called when there is input, and when nothing is sent any more. */
void afc__task_unwatch_body(afc_task *task);

/** Watches the descriptor of a polled sink until it has room. false: it can't be watched. */
bool afc__task_watch_sink(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness));

void afc__task_unwatch_sink(afc_task *task);

#endif
