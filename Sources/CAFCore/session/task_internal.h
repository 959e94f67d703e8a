/** What a task holds, for session/ and its tests. */
#ifndef AFC_SESSION_TASK_INTERNAL_H
#define AFC_SESSION_TASK_INTERNAL_H

#include "session/session_internal.h"
#include "session/task_state.h"

/*
 * Operations of a task, as bits of `requests`. The first bit posts the task, with a reference; the
 * loop takes all bits at once. FINISHED is set by the loop and keeps later ones from being posted.
 */
enum {
    AFC__TASK_START = 1u,
    AFC__TASK_CHECK = 2u, /**< Suspended, resumed, cancelled or woken: the flags say which. */
    AFC__TASK_WAKE = 4u,  /**< What was paused is tried again, in both directions. */
    AFC__TASK_FINISHED = 8u,
    AFC__TASK_NETWORK = 16u,  /**< A monitor has reported on the network. */
    AFC__TASK_WORKED = 32u,   /**< Its job on the writer is done. */
    AFC__TASK_ANSWERED = 64u, /**< A challenge has been answered. */
    AFC__TASK_CACHED = 128u, /**< The cache has what the task waits for, or it is its turn again. */
    AFC__TASK_GATHERED = 256u, /**< Its sink holds bytes back until the turn of the loop ends. */
    AFC__TASK_SEND = 512u, /**< The request body has bytes; what on_body has refused still waits. */
    AFC__TASK_WAKE_SOON =
        1024u /**< The same as WAKE, if a callback asks for it: see wake_soon() of task.c. */
};

/** An answer to a challenge, on its way to the loop. */
typedef struct afc__reply {
    uint32_t number;
    afc_challenge_decision answer;
    afc__identity *identity;
} afc__reply;

/** What a task that waits for the network knows about it. Loop thread. */
typedef struct afc__connectivity {
    struct afc__network_wait *wait; /**< WAITING_FOR_NETWORK; else NULL. */
    int64_t retry_us;               /**< When it tries again without a report; 0: never. */
    unsigned retries;               /**< Since the network came. */
    bool has_come;                  /**< It was waited for, and came. */
} afc__connectivity;

struct afc_task {
    /* Any thread. */
    atomic_uint references;
    atomic_uint requests;
    atomic_bool was_started;
    atomic_bool completes_in_child; /**< Started after a fork, on the parent's session. */
    bool
        is_wake_delayed; /**< Another on_wake follows: see wake_time(). Loop thread; takes no memory here. */
    atomic_uint completion; /**< For those who wait; see task_wait.c. */
    afc__post post;
    afc_session *session;
    _Atomic(afc__reply *) reply; /**< To a challenge; the loop takes it. */
    /* Loop thread only. */
    afc__task_state state;
    afc__next next;   /**< SUSPENDED: what follows when it is resumed. */
    afc__node node;   /**< In session->active, then in session->completed. */
    afc__entry entry; /**< In session->queue. */
    afc__alarm alarm;
    afc__exchange *exchange;
    union {
        /** What the writer does for the sink. */
        afc__job job;
        /** The sink's descriptor, if it is polled; `ready` is NULL unless it is watched. */
        afc__watch sink_watch;
    };
    afc__watch
        body_watch; /**< The watch of the body's descriptor; `ready` is NULL unless it is watched. */
    int64_t started_us, connecting_since_us;
    afc__connectivity network;
    int64_t woken_us; /**< The last on_wake; 0: none yet. */
    /* The creating thread until the start, then the loop thread; its flags are for any. */
    afc__transfer transfer;
};

#endif
