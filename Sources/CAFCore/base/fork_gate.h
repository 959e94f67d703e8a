/**
 * Delays a fork until no thread is inside OpenSSL or libcurl. The child gets a copy of their locks: a lock that another
 * thread holds during the fork stays locked for ever in the child (OpenSSL's own fork handlers only reseed its random
 * bytes), and the child's first handshake would hang.
 *
 * The wait is bounded, because a thread inside may itself wait for the forking thread: in a callback, for a lock of the
 * program. OpenSSL isn't usable in the child then, and sessions are refused there.
 */
#ifndef AFC_BASE_FORK_GATE_H
#define AFC_BASE_FORK_GATE_H

#include "base/list.h"

#include <afcore/error.h>
#include <stdatomic.h>
#include <stdbool.h>

/** The state of a thread that enters often, on its stack. */
typedef struct afc__fork_section {
    afc__node node;
    atomic_bool is_inside;
} afc__fork_section;

void afc__fork_gate_add(afc__fork_section *section);
void afc__fork_gate_remove(afc__fork_section *section);

/**
 * Begins a section that uses OpenSSL or libcurl: a fork by another thread waits for its end. Waits itself for a fork in
 * progress. `section` is NULL if the thread hasn't added one. Calls may be nested. The caller must not hold a lock that
 * a fork handler takes.
 */
void afc__fork_gate_enter(afc__fork_section *section);
void afc__fork_gate_leave(afc__fork_section *section);

/** Fails with AFC_EINTERNAL in a child process where OpenSSL isn't usable. */
afc_status afc__fork_gate_check(afc_failure *failure);

/**
 * Registers the fork handlers. Must be called after all other locks' handlers are registered, because
 * pthread_atfork() runs prepare handlers in reverse order and this one must be first.
 */
void afc__fork_gate_watch(void);

#endif
