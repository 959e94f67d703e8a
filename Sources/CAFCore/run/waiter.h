/** Lets one thread wait until another one wakes it. */
#ifndef AFC_RUN_WAITER_H
#define AFC_RUN_WAITER_H

#include <pthread.h>
#include <stdbool.h>

typedef struct afc__waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_woken;
} afc__waiter;

#define AFC__WAITER_INIT                                                                           \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false }

/** Wakes the thread that waits, or will wait. `waiter` is an afc__waiter, so that this can be a callback. */
static inline void afc__waiter_wake(void *waiter) {
    afc__waiter *own = waiter;
    pthread_mutex_lock(&own->lock);
    own->is_woken = true;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
}

/** Waits for afc__waiter_wake(). The waiter can then be used again. */
static inline void afc__waiter_wait(afc__waiter *waiter) {
    pthread_mutex_lock(&waiter->lock);
    while (!waiter->is_woken) pthread_cond_wait(&waiter->changed, &waiter->lock);
    waiter->is_woken = false;
    pthread_mutex_unlock(&waiter->lock);
}

#endif
