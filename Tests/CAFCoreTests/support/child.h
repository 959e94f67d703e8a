/* Forked children of a test. */
#ifndef AFC_TEST_CHILD_H
#define AFC_TEST_CHILD_H

#include <sys/types.h>

/**
 * Ends a forked child. By exec: a leak checker at the child's exit would count as lost what only the stacks of the
 * parent's other threads held, and the child has none of them.
 */
_Noreturn void child_exit(int code);

/** Waits for a child, and requires that it ended by itself with 0. */
void child_check(pid_t child);

#endif
