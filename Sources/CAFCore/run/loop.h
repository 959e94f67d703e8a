/**
 * One thread that waits for sockets, deadlines and posts: epoll, an eventfd, a heap of alarms and
 * an inbox that never allocates.
 */
#ifndef AF_RUN_LOOP_H
#define AF_RUN_LOOP_H

#include "base/fork_gate.h"
#include "base/timers.h"

#include <afcore/error.h>
#include <stdatomic.h>

/** A node of the inbox; lives in what is posted. */
typedef struct af__post {
    struct af__post *next;
} af__post;

enum { AF__READABLE = 1u, AF__WRITABLE = 2u, AF__BROKEN = 4u };

/** A descriptor being watched; lives in its owner, at a fixed address while watched. */
typedef struct af__watch {
    int descriptor;
    void (*ready)(struct af__watch *watch, unsigned readiness);
} af__watch;

/** A deadline; lives in its owner. Disarmed when it rings. */
typedef struct af__alarm {
    af__timer timer;
    void (*callback)(struct af__alarm *alarm);
} af__alarm;

/** What comes after a turn. */
typedef enum af__turn {
    AF__TURN_SLEEP, /**< Wait for sockets, alarms and posts. */
    AF__TURN_LOOK,  /**< Take what there is by now, and come back at once. */
    AF__TURN_END    /**< End the loop. */
} af__turn;

/** What the owner of a loop does. All are called on the loop thread. */
typedef struct af__loop_owner {
    void *context;
    /** Everything posted since the last call, oldest first, linked through `next`. */
    void (*take_posts)(void *context, af__post *first);
    /** After each socket that was ready; may be NULL. What it frees is still in the processor's caches. */
    void (*after_socket)(void *context);
    /** After each turn's sockets, posts and alarms; `was_idle` if no socket or post was there. */
    af__turn (*finish_turn)(void *context, bool was_idle);
    /** Last of all on the loop thread; the loop's memory may be freed here. */
    void (*ended)(void *context);
    /** Of the thread, at most 15 bytes; a literal. */
    const char *name;
} af__loop_owner;

typedef struct af__loop {
    /* Any thread. */
    _Atomic(af__post *) inbox;
    atomic_bool is_asleep;
    atomic_uint_fast64_t wakeups, turns;
    int event_descriptor;
    /* Loop thread only. */
    int epoll_descriptor;
    af__loop_owner owner;
    af__timers timers;
    int64_t now_us;       /**< When the loop last woke. */
    uint64_t wakeups_due; /**< Writes to the eventfd, made or about to be made, and never read. */
    struct epoll_event *batch;
    int batch_next, batch_count;
    af__fork_section *section; /**< A fork waits for the end of a turn. */
} af__loop;

/** Descriptors and memory; the thread starts with af__loop_start(). AF_EINTERNAL, AF_ENOMEM. */
af_status af__loop_init(af__loop *loop, af__loop_owner owner, af_failure *failure);

/**
 * Close the descriptors, while others may keep the memory. On the loop thread, in its owner's `ended`; nothing may
 * be posted any more.
 */
void af__loop_close(af__loop *loop);

/** What af__loop_init() made; the thread must have ended or never been started. */
void af__loop_clear(af__loop *loop);

/** AF_EINTERNAL if there is no thread to be had. */
af_status af__loop_start(af__loop *loop, af_failure *failure);

/** Any thread. A burst of posts wakes the loop once, and not at all while it is awake. */
void af__loop_post(af__loop *loop, af__post *post);

/** Is this the loop's own thread? */
bool af__loop_is_current(const af__loop *loop);

/** When the loop last woke: cheaper than the clock, and early by no more than a turn. */
int64_t af__loop_now(const af__loop *loop);

/** Watch for readiness; `is_new` tells whether it is watched already. */
af_status af__loop_watch(af__loop *loop, af__watch *watch, unsigned readiness, bool is_new);
void af__loop_unwatch(af__loop *loop, af__watch *watch);

/** Room for `count` alarms, so that arming can't fail. */
af_status af__loop_reserve_alarms(af__loop *loop, size_t count);
/** Give back room beyond that for `count` alarms. */
void af__loop_release_alarms(af__loop *loop, size_t count);
void af__loop_arm(af__loop *loop, af__alarm *alarm, int64_t deadline_us);
void af__loop_disarm(af__loop *loop, af__alarm *alarm);

#endif
