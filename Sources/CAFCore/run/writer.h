/** A worker thread for blocking jobs, which it runs one at a time. */
#ifndef AFC_RUN_WRITER_H
#define AFC_RUN_WRITER_H

#include "base/list.h"

#include <stdbool.h>

/** A job: a member of its owner. */
typedef struct afc__job {
    afc__node node;
    /**
     * Called on the writer's thread. Returns true to be called again after the other jobs; otherwise `job` may already
     * be freed.
     */
    bool (*run)(struct afc__job *job);
} afc__job;

typedef struct afc__writer afc__writer;

/**
 * Makes a writer and its thread, which calls `ended(context)` last, after it has freed the writer. Returns NULL if
 * there is no memory or no thread.
 */
afc__writer *afc__writer_new(void (*ended)(void *context), void *context);

/** Adds a job, which must not be in the writer already. Any thread. */
void afc__writer_take(afc__writer *writer, afc__job *job);

/** Ends a writer that has no jobs: its thread ends, and frees `writer`. */
void afc__writer_end(afc__writer *writer);

#endif
