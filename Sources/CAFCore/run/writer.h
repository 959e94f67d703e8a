/**
 * A worker thread for blocking jobs, run one at a time. It starts with the first job.
 */
#ifndef AFC_RUN_WRITER_H
#define AFC_RUN_WRITER_H

#include "base/list.h"

#include <stdbool.h>

/** A job, a member of its owner. */
typedef struct afc__job {
    afc__node node;
    /**
     * Runs on the writer's thread. Returns true to run again after the other jobs; otherwise `job` may already be
     * freed.
     */
    bool (*run)(struct afc__job *job);
} afc__job;

typedef struct afc__writer afc__writer;

/** Creates a writer; NULL: no memory or no thread. It calls `ended(context)` last. */
afc__writer *afc__writer_new(void (*ended)(void *context), void *context);

void afc__writer_take(afc__writer *writer, afc__job *job);

/** Ends a writer without jobs: its thread ends, which frees `writer`. */
void afc__writer_end(afc__writer *writer);

#endif
