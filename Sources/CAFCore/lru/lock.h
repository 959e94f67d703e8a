/**
 * A lock for very short critical sections. Unlocking is a store and a load, whereas a mutex needs an atomic exchange to
 * see whether a thread sleeps, and that waits for all earlier stores. The thread that goes to sleep pays instead: it
 * makes the kernel execute a barrier in all other threads. table.h names the benchmark.
 */
#ifndef AFC_LRU_LOCK_H
#define AFC_LRU_LOCK_H

#include <stdatomic.h>

/** A zeroed lock is unlocked. It needs no destructor. */
typedef struct afc__lru_lock {
    atomic_uint is_held;
    atomic_uint sleepers; /**< Threads that sleep or are about to. */
} afc__lru_lock;

/** Waits for a lock that is held, and takes it. */
void afc__lru_lock_wait(afc__lru_lock *lock);

/** Wakes one sleeping thread. */
void afc__lru_lock_wake(afc__lru_lock *lock);

static inline void afc__lru_lock_take(afc__lru_lock *lock) {
    if (atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire) != 0)
        afc__lru_lock_wait(lock);
}

static inline void afc__lru_lock_give(afc__lru_lock *lock) {
    atomic_store_explicit(&lock->is_held, 0, memory_order_release);
    /*
     * Orders the two accesses for the compiler only. The thread that goes to sleep orders those of the processor, with
     * a barrier in all threads.
     */
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->sleepers, memory_order_relaxed) != 0) afc__lru_lock_wake(lock);
}

#endif
