/**
 * A lock around some dozens of instructions. Giving it up is a store and a look, where a mutex has to
 * exchange a word to learn whether someone sleeps, and has the processor wait for all that was written
 * before. Who goes to sleep pays for that: he has the kernel put a barrier into all other threads.
 * table.h names the benchmark.
 */
#ifndef AF_CACHE_LOCK_H
#define AF_CACHE_LOCK_H

#include <stdatomic.h>

/** Zero: nobody holds it. There is nothing to free. */
typedef struct af__lock {
    atomic_uint is_held;
    atomic_uint sleepers; /**< Who sleep, or are about to, until it is given up. */
} af__lock;

/** Wait for a lock that is held, and take it. */
void af__lock_wait(af__lock *lock);

/** Wake one of those who sleep. */
void af__lock_wake(af__lock *lock);

static inline void af__lock_take(af__lock *lock) {
    if (atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire) != 0) af__lock_wait(lock);
}

static inline void af__lock_give(af__lock *lock) {
    atomic_store_explicit(&lock->is_held, 0, memory_order_release);
    /* For the compiler; for the processor, it is the sleeper who sees to the order. */
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->sleepers, memory_order_relaxed) != 0) af__lock_wake(lock);
}

#endif
