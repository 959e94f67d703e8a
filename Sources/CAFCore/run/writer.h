/**
 * A thread for what may take long, beside the loop: one after the other, started with the first job.
 */
#ifndef AF_RUN_WRITER_H
#define AF_RUN_WRITER_H

#include "base/list.h"

#include <stdbool.h>

/** Lives in its owner. */
typedef struct af__job {
    af__node node;
    /** On the writer's thread. true: once more, behind the others; else `job` may be gone. */
    bool (*run)(struct af__job *job);
} af__job;

typedef struct af__writer af__writer;

/** NULL: there is no memory or no thread to be had. `ended(context)` is the last thing it does. */
af__writer *af__writer_new(void (*ended)(void *context), void *context);

void af__writer_take(af__writer *writer, af__job *job);

/** No job is left: the thread ends by itself, and `writer` with it. */
void af__writer_end(af__writer *writer);

#endif
