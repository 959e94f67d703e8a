/**
 * Delays a fork until no thread is inside OpenSSL or libcurl. The child gets a copy of their locks: one that
 * another thread holds during the fork stays locked for ever in the child (OpenSSL's own fork handlers only reseed
 * its random numbers), and the child's first handshake would hang.
 *
 * The wait is bounded, because a thread inside may itself wait for the forking thread: in a callback, for a lock
 * of the program. OpenSSL isn't usable in the child then, and sessions are refused there.
 */
#ifndef AF_BASE_FORK_GATE_H
#define AF_BASE_FORK_GATE_H

#include "base/list.h"

#include <afcore/error.h>
#include <stdatomic.h>
#include <stdbool.h>

/** The state of a thread that enters often; on its stack. */
typedef struct af__fork_section {
    af__node node;
    atomic_bool is_inside;
} af__fork_section;

void af__fork_gate_add(af__fork_section *section);
void af__fork_gate_remove(af__fork_section *section);

/**
 * Enters: a fork by another thread now waits for this one. Waits for a fork in progress. NULL: the thread has no
 * section. Calls nest. The caller must not hold a lock that a fork handler takes.
 */
void af__fork_gate_enter(af__fork_section *section);
void af__fork_gate_leave(af__fork_section *section);

/** AF_EINTERNAL in a child process where OpenSSL isn't usable. */
af_status af__fork_gate_check(af_failure *failure);

/**
 * Registers the fork handlers. Must be called after all other locks' handlers are registered, because
 * pthread_atfork() runs prepare handlers in reverse order and this one must be first.
 */
void af__fork_gate_watch(void);

#endif
