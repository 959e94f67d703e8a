#include "lru/lock.h"

#include "base/futex.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOKS = 200, /**< Number of spins; they take about as long as a few critical sections. */
    LOOK_AGAIN_US = 1000
};

static inline void rest(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/**
 * Tries to take the lock for a while. Only reads until the lock looks free, so that waiting threads don't move its
 * cache line around.
 */
static bool try_some_time(afc__lru_lock *lock) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&lock->is_held, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire) == 0) {
            return true;
        }
        rest();
    }
    return false;
}

/** Executes a barrier in every running thread of the process (membarrier(2)). Returns false if the kernel refuses. */
static bool put_barrier_everywhere(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
    return errno == EPERM &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void afc__lru_lock_wait(afc__lru_lock *lock) {
    if (try_some_time(lock)) return;
    int error = errno;
    atomic_fetch_add_explicit(&lock->sleepers, 1, memory_order_seq_cst);
    /*
     * After the barrier, the releasing thread has either made its release visible or will see that a thread sleeps.
     * Without one it may miss the sleeper, which therefore looks again.
     */
    bool is_woken = put_barrier_everywhere();
    while (atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire) != 0) {
        afc__futex_wait(&lock->is_held, 1, is_woken ? -1 : LOOK_AGAIN_US);
    }
    atomic_fetch_sub_explicit(&lock->sleepers, 1, memory_order_relaxed);
    errno = error;
}

void afc__lru_lock_wake(afc__lru_lock *lock) {
    int error = errno;
    afc__futex_wake(&lock->is_held, 1);
    errno = error;
}
