#include "base/futex.h"

#include <asm/posix_types.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == 4, "a futex has 32 bits");

enum { US_PER_S = 1000000, NS_PER_US = 1000 };

/*
 * The kernel's layouts, not the C library's: where time_t has 64 bits on a 32-bit processor, struct timespec isn't what
 * SYS_futex reads.
 */
typedef struct kernel_time {
    __kernel_long_t seconds, nanoseconds;
} kernel_time;

static void wait_until_woken(atomic_uint *word, unsigned value, const kernel_time *limit) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

#ifdef SYS_futex_time64
typedef struct kernel_time_64 {
    int64_t seconds, nanoseconds;
} kernel_time_64;

/** Returns false if the kernel, before 5.1, doesn't know the call. */
static bool wait_64(atomic_uint *word, unsigned value, int64_t limit_us) {
    const kernel_time_64 limit = {limit_us / US_PER_S, limit_us % US_PER_S * NS_PER_US};
    return syscall(SYS_futex_time64, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0) == 0 ||
           errno != ENOSYS;
}
#endif

void afc__futex_wait(atomic_uint *word, unsigned value, int64_t limit_us) {
    if (limit_us < 0) {
        wait_until_woken(word, value, NULL);
        return;
    }
#ifdef SYS_futex_time64
    if (wait_64(word, value, limit_us)) return;
#endif
    const kernel_time longest = {0x7fffffff, 0};
    kernel_time limit = {(__kernel_long_t)(limit_us / US_PER_S),
                         (__kernel_long_t)(limit_us % US_PER_S) * NS_PER_US};
    /* Waking too early is allowed. */
    if (limit_us / US_PER_S > longest.seconds) limit = longest;
    wait_until_woken(word, value, &limit);
}

void afc__futex_wake(atomic_uint *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
