/**
 * An event loop, on a thread of its own or driven by the program: epoll for sockets, a heap of alarms, and an inbox for
 * posts of any thread, which never allocates and wakes the loop with an eventfd. A turn is one round of the loop: ready
 * sockets, posts, alarms, and then the owner's finish_turn(). Loop thread only, unless stated otherwise: the thread
 * that runs the loop or, if the program drives it, the one that dispatches.
 */
#ifndef AFC_RUN_LOOP_H
#define AFC_RUN_LOOP_H

#include "base/fork_gate.h"
#include "base/timers.h"

#include <afcore/error.h>
#include <signal.h>
#include <stdatomic.h>

/** A post: a node of the inbox, and a member of the object that is posted. */
typedef struct afc__post {
    struct afc__post *next;
} afc__post;

/**
 * Readiness of a descriptor, as bits. ENDED means that the peer has ended its direction (EPOLLRDHUP), even if bytes
 * before the end are still unread. BROKEN is always reported.
 */
enum { AFC__READABLE = 1u, AFC__WRITABLE = 2u, AFC__BROKEN = 4u, AFC__ENDED = 8u };

/** A watched descriptor: a member of its owner, which must not move while it is watched. */
typedef struct afc__watch {
    int descriptor;
    /** Set by the loop: the readiness that is reported, with AFC__BROKEN; 0 while the descriptor isn't watched. */
    unsigned watched;
    void (*ready)(struct afc__watch *watch, unsigned readiness);
} afc__watch;

/** A deadline: a member of its owner. It is disarmed before its callback is called. */
typedef struct afc__alarm {
    afc__timer timer;
    void (*callback)(struct afc__alarm *alarm);
} afc__alarm;

/** What the loop does after a turn. */
typedef enum afc__turn {
    AFC__TURN_SLEEP, /**< Wait for sockets, alarms and posts. */
    AFC__TURN_LOOK,  /**< Begin another turn at once, without waiting. */
    AFC__TURN_END    /**< End the loop. */
} afc__turn;

/** The callbacks of a loop's owner, called on the loop thread. */
typedef struct afc__loop_owner {
    void *context;
    /** Receives all posts since the previous call, oldest first, linked through `next`. */
    void (*take_posts)(void *context, afc__post *first);
    /** Called after each ready socket, so that what it frees is still in the processor's caches; may be NULL. */
    void (*after_socket)(void *context);
    /**
     * Called after the sockets, posts and alarms of a turn. `was_idle` is true if there were no sockets and no posts.
     */
    afc__turn (*finish_turn)(void *context, bool was_idle);
    /** Called last on the loop thread; may free the loop's memory. */
    void (*ended)(void *context);
    const char *name; /**< Name of the thread, a static string of at most 15 bytes. */
} afc__loop_owner;

typedef struct afc__loop {
    /* Any thread may use these. */
    _Atomic(afc__post *) inbox;
    atomic_bool is_asleep;
    atomic_uint_fast64_t wakeups, turns;
    int event_descriptor;
    /* Loop thread only. */
    int epoll_descriptor;
    afc__loop_owner owner;
    afc__timers timers;
    int64_t now_us;          /**< When the loop last woke (afc__now_us()). */
    int64_t firing_until_us; /**< The alarms due by this time are firing; 0 if none is. */
    /**
     * When the loop must check its sockets at the latest, to detect that the process was stopped; INT64_MAX if at any
     * time.
     */
    int64_t look_due_us;
    int64_t continued_us; /**< See afc__loop_continued(). */
    /**
     * Number of writes to the eventfd, done or about to be done, that weren't read: it is only read in
     * afc__loop_close().
     */
    uint64_t wakeups_due;
    bool hurries; /**< See afc__loop_hurry(). */
    bool is_dispatching;
    afc__turn next; /**< If the program drives the loop: the result of the last turn. */
    struct epoll_event *batch;
    int batch_next, batch_count;
    /** Makes a fork wait for the end of a turn; see base/fork_gate.h. */
    afc__fork_section *section;
    sigset_t wait_mask; /**< The signals that are blocked while the loop waits. */
} afc__loop;

/**
 * Opens descriptors and allocates memory; afc__loop_start() starts the thread. Fails with AFC_EINTERNAL or AFC_ENOMEM.
 */
afc_status afc__loop_init(afc__loop *loop, afc__loop_owner owner, afc_failure *failure);

/**
 * Closes the descriptors, but doesn't free memory. Call it on the loop thread, in the owner's `ended`. No more posts
 * may follow.
 */
void afc__loop_close(afc__loop *loop);

/** Releases what afc__loop_init() created. The thread must have ended or never have been started. */
void afc__loop_clear(afc__loop *loop);

/** Starts the thread. Fails with AFC_EINTERNAL. Any thread. */
afc_status afc__loop_start(afc__loop *loop, afc_failure *failure);

/**
 * Makes the loop one without a thread, which the program drives: the program waits until `epoll_descriptor` is readable
 * or the timeout has passed, and dispatches.
 */
void afc__loop_drive(afc__loop *loop);

/** Maximum number of turns of one dispatch, which ends earlier unless the owner returns AFC__TURN_LOOK. */
enum { AFC__LOOP_DISPATCH_TURNS = 8 };

/**
 * Handles what is ready, without waiting. One thread at a time. Returns false if the loop has ended, and its owner with
 * it.
 */
bool afc__loop_dispatch(afc__loop *loop);

/** Returns for how long the program may wait, in milliseconds; -1 means until the descriptor is readable. */
int afc__loop_timeout_ms(const afc__loop *loop);

/** Posts to the loop. Any thread. Several posts wake the loop once, and not at all while it is awake. */
void afc__loop_post(afc__loop *loop, afc__post *post);

/**
 * Registers a fork handler: in the child, a thread that has forked in a callback doesn't count as a loop's any more.
 */
void afc__loop_watch_forks(void);

/**
 * Returns whether the calling thread is that of any loop, or makes callbacks in place of a loop's: it must not wait for
 * another loop. Any thread.
 */
bool afc__loop_is_any_current(void);

/**
 * Begins callbacks on a thread that isn't a loop's. End them with afc__loop_leave_callbacks(), which gets what this
 * returns.
 */
const afc__loop *afc__loop_enter_callbacks(void);
void afc__loop_leave_callbacks(const afc__loop *before);

/** Returns whether the calling thread is that of this loop. Any thread. */
bool afc__loop_is_current(const afc__loop *loop);

/**
 * Makes the loop handle posts after the current callback of a socket, rather than after all ready sockets. Has no
 * effect elsewhere.
 */
void afc__loop_hurry(afc__loop *loop);

/** Returns the number of the current turn. Loop thread only. */
uint64_t afc__loop_turn(const afc__loop *loop);

/** Returns when the loop last woke (afc__now_us()): cheaper than the clock, and at most a turn behind. */
int64_t afc__loop_now(const afc__loop *loop);

/**
 * Returns when the loop woke after its process was stopped, or, if the program drives it, after it wasn't dispatched in
 * time; 0 if never. Nothing was read before that moment, so a peer's inactivity counts only from then on.
 */
int64_t afc__loop_continued(const afc__loop *loop);

/**
 * Watches a descriptor for this readiness instead of any earlier one. Fails with AFC_ENOMEM or AFC_EINTERNAL: the
 * descriptor is then watched as before, or not at all.
 */
afc_status afc__loop_watch(afc__loop *loop, afc__watch *watch, unsigned readiness);

/** Stops watching a descriptor, also for what is ready in this turn. Does nothing if it isn't watched. */
void afc__loop_unwatch(afc__loop *loop, afc__watch *watch);

/** Reserves capacity for `count` alarms, so that arming can't fail. */
afc_status afc__loop_reserve_alarms(afc__loop *loop, size_t count);
/** Frees capacity beyond `count` alarms. */
void afc__loop_release_alarms(afc__loop *loop, size_t count);
/**
 * Sets when an alarm fires (afc__now_us()). One that is armed while alarms are firing fires in the next turn at the
 * earliest.
 */
void afc__loop_arm(afc__loop *loop, afc__alarm *alarm, int64_t deadline_us);
void afc__loop_disarm(afc__loop *loop, afc__alarm *alarm);

#endif
