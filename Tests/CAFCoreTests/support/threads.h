/** The threads of this process, as the kernel lists them. */
#ifndef AFC_TESTS_THREADS_H
#define AFC_TESTS_THREADS_H

#include <stddef.h>
#include <sys/types.h>

/** How many threads of this process have this name; one that has ended or was joined has none. */
size_t count_threads(const char *name);

/** Waits until there are this many. */
void wait_for_threads(const char *name, size_t count);

/** Waits until all threads of another process wait for something. */
void wait_until_blocked(pid_t process);

#endif
