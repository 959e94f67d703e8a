/** The members of a task, for the files of session/ and their tests. */
#ifndef AFC_SESSION_TASK_INTERNAL_H
#define AFC_SESSION_TASK_INTERNAL_H

#include "session/session_internal.h"
#include "session/task_state.h"

/*
 * Operations of a task, as bits of `requests`. Setting the first bit posts the task to the loop, with a reference; the
 * loop takes all bits at once. FINISHED is set by the loop itself, so that later bits don't post the task.
 */
enum {
    AFC__TASK_START = 1u,
    /** The task was suspended, resumed or cancelled; its flags tell which. */
    AFC__TASK_CHECK = 2u,
    AFC__TASK_WAKE = 4u, /**< Both directions, if paused, are tried again (afc_task_wake()). */
    AFC__TASK_FINISHED = 8u,
    AFC__TASK_NETWORK = 16u,  /**< The reachability monitor has reported a change. */
    AFC__TASK_WORKED = 32u,   /**< The job on the writer is done. */
    AFC__TASK_ANSWERED = 64u, /**< A challenge was answered: see `reply`. */
    /** The cache has what the task waits for, or another slice of a stored response is due. */
    AFC__TASK_CACHED = 128u,
    /** The sink collects bytes until the turn of the loop ends, to write them at once. */
    AFC__TASK_GATHERED = 256u,
    /** The request body has bytes; what on_body has refused stays paused. */
    AFC__TASK_SEND = 512u,
    AFC__TASK_WAKE_SOON =
        1024u /**< Like WAKE, but asked for by a callback: see wake_soon() in task.c. */
};

/** An answer to a challenge, from any thread to the loop. */
typedef struct afc__reply {
    uint32_t number;
    afc_challenge_decision answer;
    afc__identity *identity;
} afc__reply;

/** The state of a task that waits for the network. Loop thread only. */
typedef struct afc__connectivity {
    struct afc__network_wait *wait; /**< Set while WAITING_FOR_NETWORK; else NULL. */
    /** When the hop is retried without a report (afc__now_us()); 0 for never. */
    int64_t retry_us;
    unsigned retries;  /**< Number of retries since the network came back. */
    bool has_returned; /**< The task has waited, and the network came back. */
} afc__connectivity;

struct afc_task {
    /* Any thread. */
    atomic_uint references;
    atomic_uint requests;
    atomic_bool was_started;
    atomic_bool completes_in_child; /**< Started after a fork, on the parent's session. */
    /** Another on_wake is due: see wake_time(). Loop thread only; here as it needs no extra memory. */
    bool is_wake_delayed;
    atomic_uint completion; /**< A futex for threads that wait for the task; see task_wait.c. */
    afc__post post;
    afc_session *session;
    /** The last answer to a challenge, until the loop takes it; or NULL. */
    _Atomic(afc__reply *) reply;
    /* Loop thread only. */
    afc__task_state state;
    afc__next next;   /**< SUSPENDED: what follows when the task is resumed. */
    afc__node node;   /**< In session->active, then in session->completed. */
    afc__entry entry; /**< In session->queue. */
    afc__alarm alarm;
    afc__exchange *exchange;
    union {
        /** The job of the writer thread for the sink. */
        afc__job job;
        /** The watch of the sink's descriptor, if that is polled; `ready` is NULL unless it is watched. */
        afc__watch sink_watch;
    };
    /** The watch of the body's descriptor; `ready` is NULL unless it is watched. */
    afc__watch body_watch;
    int64_t started_us, connecting_since_us;
    afc__connectivity network;
    int64_t woken_us; /**< When on_wake was last called; 0 if never. */
    /* Used by the creating thread until the start, then by the loop thread; its flags by any thread. */
    afc__transfer transfer;
};

#endif
