/**
 * An event loop on a thread of its own: epoll for sockets, a heap of alarms, an eventfd and an inbox for posts,
 * which never allocates.
 */
#ifndef AF_RUN_LOOP_H
#define AF_RUN_LOOP_H

#include "base/fork_gate.h"
#include "base/timers.h"

#include <afcore/error.h>
#include <stdatomic.h>

/** A node of the inbox, a member of what is posted. */
typedef struct af__post {
    struct af__post *next;
} af__post;

enum { AF__READABLE = 1u, AF__WRITABLE = 2u, AF__BROKEN = 4u };

/** A watched descriptor, a member of its owner. Must not move while it is watched. */
typedef struct af__watch {
    int descriptor;
    void (*ready)(struct af__watch *watch, unsigned readiness);
} af__watch;

/** A deadline, a member of its owner. It is disarmed before its callback. */
typedef struct af__alarm {
    af__timer timer;
    void (*callback)(struct af__alarm *alarm);
} af__alarm;

/** What the loop does after a turn. */
typedef enum af__turn {
    AF__TURN_SLEEP, /**< Wait for sockets, alarms and posts. */
    AF__TURN_LOOK,  /**< Handle what is ready now, without waiting. */
    AF__TURN_END    /**< End the loop. */
} af__turn;

/** The callbacks of a loop's owner, on the loop thread. */
typedef struct af__loop_owner {
    void *context;
    /** Receives all posts since the previous call, oldest first, linked through `next`. */
    void (*take_posts)(void *context, af__post *first);
    /** After each socket that was ready; may be NULL. What it frees is still in the processor's caches. */
    void (*after_socket)(void *context);
    /** Called after each turn's sockets, posts and alarms; `was_idle` if there were no sockets and posts. */
    af__turn (*finish_turn)(void *context, bool was_idle);
    /** Called last on the loop thread; may free the loop's memory. */
    void (*ended)(void *context);
    /** Name of the thread, at most 15 bytes; static. */
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
    int64_t now_us; /**< Time when the loop last woke. */
    uint64_t
        wakeups_due; /**< Writes to the eventfd that are done or about to be; never read back. */
    struct epoll_event *batch;
    int batch_next, batch_count;
    af__fork_section *section; /**< Lets a fork wait for the end of a turn. */
} af__loop;

/** Opens descriptors and allocates memory; af__loop_start() starts the thread. AF_EINTERNAL, AF_ENOMEM. */
af_status af__loop_init(af__loop *loop, af__loop_owner owner, af_failure *failure);

/**
 * Closes the descriptors; the memory may stay. Call it on the loop thread, in the owner's `ended`. No more posts
 * may follow.
 */
void af__loop_close(af__loop *loop);

/** Releases what af__loop_init() created. The thread must have ended or never have been started. */
void af__loop_clear(af__loop *loop);

/** Starts the thread. AF_EINTERNAL if that fails. */
af_status af__loop_start(af__loop *loop, af_failure *failure);

/** Posts to the loop, from any thread. Several posts wake the loop once, and not at all while it is awake. */
void af__loop_post(af__loop *loop, af__post *post);

/** Returns whether the caller is the loop's thread. */
bool af__loop_is_current(const af__loop *loop);

/** Returns the time when the loop last woke: cheaper than the clock, and at most a turn behind. */
int64_t af__loop_now(const af__loop *loop);

/** Watches a descriptor; `is_new` tells whether it is already watched. */
af_status af__loop_watch(af__loop *loop, af__watch *watch, unsigned readiness, bool is_new);
void af__loop_unwatch(af__loop *loop, af__watch *watch);

/** Reserves capacity for `count` alarms, so that arming can't fail. */
af_status af__loop_reserve_alarms(af__loop *loop, size_t count);
/** Frees capacity beyond `count` alarms. */
void af__loop_release_alarms(af__loop *loop, size_t count);
void af__loop_arm(af__loop *loop, af__alarm *alarm, int64_t deadline_us);
void af__loop_disarm(af__loop *loop, af__alarm *alarm);

#endif
