/**
 * A worker thread for blocking jobs, run one at a time. It starts with the first job.
 */
#ifndef AF_RUN_WRITER_H
#define AF_RUN_WRITER_H

#include "base/list.h"

#include <stdbool.h>

/** A job, a member of its owner. */
typedef struct af__job {
    af__node node;
    /**
     * Runs on the writer's thread. Returns true to run again after the other jobs; otherwise `job` may already be
     * freed.
     */
    bool (*run)(struct af__job *job);
} af__job;

typedef struct af__writer af__writer;

/** Creates a writer; NULL: no memory or no thread. It calls `ended(context)` last. */
af__writer *af__writer_new(void (*ended)(void *context), void *context);

void af__writer_take(af__writer *writer, af__job *job);

/** Ends a writer without jobs: its thread ends, which frees `writer`. */
void af__writer_end(af__writer *writer);

#endif
