/**
 * One task of the soak: a random request, what its callbacks do, and whether its result is right.
 */
#ifndef AFC_SOAK_JOB_H
#define AFC_SOAK_JOB_H

#include "servers.h"

#include <afcore/session.h>
#include <afcore/task.h>
#include <pthread.h>
#include <stdatomic.h>

/** A session that all threads share. One that is replaced lives until its last user releases it. */
typedef struct session_slot {
    pthread_mutex_t lock;
    afc_session *session;
    /** Odd while afc_session_cancel_all() runs; a task that sees it change may have been cancelled. */
    atomic_uint cancellations;
} session_slot;

/** What may be done to a task at any time. */
typedef enum operation {
    DO_NOTHING,
    CANCEL,
    SUSPEND,
    SUSPEND_AND_RESUME,
    WAKE,
    RETAIN_AND_RELEASE,
    OPERATION_COUNT
} operation;

typedef enum upload {
    UPLOAD_NONE,
    UPLOAD_COPIED,
    UPLOAD_BORROWED,
    UPLOAD_READER,
    UPLOAD_FILE
} upload;

typedef enum destination { TO_MEMORY, TO_FILE, TO_EVENTS } destination;

typedef struct job {
    /* Chosen at random; constant once the task was made. */
    uint64_t random;
    soak_plan plan;
    protocol protocol;
    upload upload;
    destination destination;
    bool has_time_limit, is_started;
    operation at_head, at_body, at_done;
    session_slot *slot;
    afc_session *session;
    unsigned cancellations; /**< The slot's count before the start. */
    char url[192], path[96], upload_path[96];
    char *request_body; /**< COPIED and BORROWED. */
    size_t request_body_size;

    afc_task *task;
    /** Orders "suspend unless the end has begun" against "begin the end, then resume". */
    pthread_mutex_t lock;
    bool is_ending;
    atomic_bool is_cancelled;

    /* Loop thread only. */
    size_t read_at, body_at;
    bool is_body_wrong;

    /* Readable when it was dropped. */
    afc_result *result;
    atomic_uint done, dropped, released;
    atomic_bool is_done_after_drop;

    void (*on_drop)(void *context);
    void *context; /**< For on_drop. */
} job;

/** Chooses everything by `random`. `folder` is for the files of a download or upload. */
void job_init(job *job, uint64_t random, uint32_t id, const char *folder, const servers *servers,
              session_slot *slot);

/** Makes the task and perhaps starts it. */
void job_begin(job *job);

/** Does one random operation. */
void job_disturb(job *job, uint64_t *random);

/** Lets nothing hold the task up any more, and releases it. */
void job_end(job *job);

/** When it was dropped: prints what is wrong, if anything is. True if all is right. */
bool job_check(job *job);

/** Removes its files, frees what it owns. */
void job_clear(job *job);

/** One line about the job, for people. */
void job_print(const job *job);

#endif
