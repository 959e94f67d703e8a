/**
 * An event loop on a thread of its own, or driven by the program: epoll for sockets, a heap of alarms, an eventfd and
 * an inbox for posts, which never allocates.
 */
#ifndef AFC_RUN_LOOP_H
#define AFC_RUN_LOOP_H

#include "base/fork_gate.h"
#include "base/timers.h"

#include <afcore/error.h>
#include <signal.h>
#include <stdatomic.h>

/** A node of the inbox, a member of what is posted. */
typedef struct afc__post {
    struct afc__post *next;
} afc__post;

/** ENDED: the peer has ended its direction, whether or not that and what was before it was read. */
enum { AFC__READABLE = 1u, AFC__WRITABLE = 2u, AFC__BROKEN = 4u, AFC__ENDED = 8u };

/** A watched descriptor, a member of its owner. Must not move while it is watched. */
typedef struct afc__watch {
    int descriptor;
    /** The loop's. Readiness that is reported, with AFC__BROKEN; 0: it isn't watched. */
    unsigned watched;
    void (*ready)(struct afc__watch *watch, unsigned readiness);
} afc__watch;

/** A deadline, a member of its owner. It is disarmed before its callback. */
typedef struct afc__alarm {
    afc__timer timer;
    void (*callback)(struct afc__alarm *alarm);
} afc__alarm;

/** What the loop does after a turn. */
typedef enum afc__turn {
    AFC__TURN_SLEEP, /**< Wait for sockets, alarms and posts. */
    AFC__TURN_LOOK,  /**< Handle what is ready now, without waiting. */
    AFC__TURN_END    /**< End the loop. */
} afc__turn;

/** The callbacks of a loop's owner, on the loop thread. */
typedef struct afc__loop_owner {
    void *context;
    /** Receives all posts since the previous call, oldest first, linked through `next`. */
    void (*take_posts)(void *context, afc__post *first);
    /** After each socket that was ready; may be NULL. What it frees is still in the processor's caches. */
    void (*after_socket)(void *context);
    /** Called after each turn's sockets, posts and alarms; `was_idle` if there were no sockets and posts. */
    afc__turn (*finish_turn)(void *context, bool was_idle);
    /** Called last on the loop thread; may free the loop's memory. */
    void (*ended)(void *context);
    /** Name of the thread, at most 15 bytes; static. */
    const char *name;
} afc__loop_owner;

typedef struct afc__loop {
    /* Any thread. */
    _Atomic(afc__post *) inbox;
    atomic_bool is_asleep;
    atomic_uint_fast64_t wakeups, turns;
    int event_descriptor;
    /* Loop thread only. */
    int epoll_descriptor;
    afc__loop_owner owner;
    afc__timers timers;
    int64_t now_us;     /**< Time when the loop last woke. */
    int64_t ringing_us; /**< Alarms up to then are ringing; 0: none is. */
    /** When the loop wants to look at its sockets at the latest; INT64_MAX: it doesn't matter. */
    int64_t look_due_us;
    int64_t continued_us; /**< See afc__loop_continued(). */
    /** Writes to the eventfd that are done or about to be; never read back. */
    uint64_t wakeups_due;
    bool hurries; /**< See afc__loop_hurry(). */
    bool is_dispatching;
    afc__turn next; /**< Driven: what the previous dispatch left to do. */
    struct epoll_event *batch;
    int batch_next, batch_count;
    afc__fork_section *section; /**< Lets a fork wait for the end of a turn. */
    sigset_t wait_mask;         /**< The signals that are blocked while it waits. */
} afc__loop;

/** Opens descriptors and allocates memory; afc__loop_start() starts the thread. AFC_EINTERNAL, AFC_ENOMEM. */
afc_status afc__loop_init(afc__loop *loop, afc__loop_owner owner, afc_failure *failure);

/**
 * Closes the descriptors; the memory may stay. Call it on the loop thread, in the owner's `ended`. No more posts
 * may follow.
 */
void afc__loop_close(afc__loop *loop);

/** Releases what afc__loop_init() created. The thread must have ended or never have been started. */
void afc__loop_clear(afc__loop *loop);

/** Starts the thread. AFC_EINTERNAL if that fails. */
afc_status afc__loop_start(afc__loop *loop, afc_failure *failure);

/**
 * Makes it a loop without a thread, which the program drives: it waits until `epoll_descriptor` is readable or the
 * timeout has passed, and dispatches.
 */
void afc__loop_drive(afc__loop *loop);

/** Turns of one dispatch, as long as the owner asks for another one (AFC__TURN_LOOK). */
enum { AFC__LOOP_DISPATCH_TURNS = 8 };

/** Handles what is ready, without waiting. One thread at a time. False: the loop has ended, and its owner with it. */
bool afc__loop_dispatch(afc__loop *loop);

/** Returns for how long the program may wait; -1: for the descriptor only. The thread that dispatches. */
int afc__loop_timeout_ms(const afc__loop *loop);

/** Posts to the loop, from any thread. Several posts wake the loop once, and not at all while it is awake. */
void afc__loop_post(afc__loop *loop, afc__post *post);

/** From now on, a thread that forks in a callback isn't the thread of a loop in the child. */
void afc__loop_watch_forks(void);

/**
 * Returns whether the caller is the thread of any loop, which must not wait for another one, or makes callbacks in
 * place of a loop's.
 */
bool afc__loop_is_any_current(void);

/** Begins callbacks on a thread that isn't a loop's. Returns what afc__loop_leave_callbacks() ends them with. */
const afc__loop *afc__loop_enter_callbacks(void);
void afc__loop_leave_callbacks(const afc__loop *before);

/** Returns whether the caller is the thread of this loop. */
bool afc__loop_is_current(const afc__loop *loop);

/**
 * Within a callback of a socket: handles posts after it, not after those of all ready sockets. Elsewhere it has no
 * effect.
 */
void afc__loop_hurry(afc__loop *loop);

/** Returns the number of the current turn. Loop thread only. */
uint64_t afc__loop_turn(const afc__loop *loop);

/** Returns the time when the loop last woke: cheaper than the clock, and at most a turn behind. */
int64_t afc__loop_now(const afc__loop *loop);

/**
 * Returns the time when the loop woke after its process was stopped, or, if the program drives it, wasn't dispatched
 * in time; 0: never. Nothing was read before that, so silence counts from then on only.
 */
int64_t afc__loop_continued(const afc__loop *loop);

/**
 * Watches a descriptor for this readiness from now on. AFC_ENOMEM, AFC_EINTERNAL: it is watched as before, or not at
 * all.
 */
afc_status afc__loop_watch(afc__loop *loop, afc__watch *watch, unsigned readiness);

/** Ends that, also for what is ready in this turn. Does nothing if it isn't watched. */
void afc__loop_unwatch(afc__loop *loop, afc__watch *watch);

/** Reserves capacity for `count` alarms, so that arming can't fail. */
afc_status afc__loop_reserve_alarms(afc__loop *loop, size_t count);
/** Frees capacity beyond `count` alarms. */
void afc__loop_release_alarms(afc__loop *loop, size_t count);
/** Sets when an alarm rings. One that is set while alarms ring does so in the next turn at the earliest. */
void afc__loop_arm(afc__loop *loop, afc__alarm *alarm, int64_t deadline_us);
void afc__loop_disarm(afc__loop *loop, afc__alarm *alarm);

#endif
