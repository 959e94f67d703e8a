#include "session/task_descriptor.h"

#include "base/clock.h"

/* The interval in which a descriptor is read if it can't be watched. */
enum { LOOK_AGAIN_US = 20000 };

void afc__task_watch_body(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness)) {
    afc__source *source = &task->transfer.source;
    if (source->body.kind != AFC_BODY_FD || !source->is_waiting || task->body_watch.ready != NULL) {
        return;
    }
    task->body_watch = (afc__watch){.descriptor = source->descriptor, .ready = ready};
    afc__loop *loop = &task->session->loop;
    if (afc__loop_watch(loop, &task->body_watch, AFC__READABLE) != AFC_OK) {
        task->body_watch.ready = NULL;
        source->ready_us = afc__now_us() + LOOK_AGAIN_US;
    }
}

void afc__task_unwatch_body(afc_task *task) {
    if (task->body_watch.ready == NULL) return;
    afc__loop_unwatch(&task->session->loop, &task->body_watch);
    task->body_watch.ready = NULL;
}

bool afc__task_watch_sink(afc_task *task, void (*ready)(afc__watch *watch, unsigned readiness)) {
    if (task->sink_watch.ready != NULL) return true;
    task->sink_watch = (afc__watch){.descriptor = task->transfer.sink.output.descriptor,
                                    .ready = ready};
    afc__loop *loop = &task->session->loop;
    if (afc__loop_watch(loop, &task->sink_watch, AFC__WRITABLE) == AFC_OK) return true;
    task->sink_watch.ready = NULL;
    return false;
}

void afc__task_unwatch_sink(afc_task *task) {
    if (task->sink_watch.ready == NULL) return;
    afc__loop_unwatch(&task->session->loop, &task->sink_watch);
    task->sink_watch.ready = NULL;
}
