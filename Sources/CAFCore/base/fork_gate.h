/**
 * Holds a fork until no thread is inside OpenSSL or libcurl. Their locks are copied into the child as they are: one that
 * another thread holds at that moment is held there for ever (OpenSSL's own fork handlers are about random numbers
 * only), and the first handshake of the child would hang.
 *
 * The wait is bounded, because a thread that is inside may itself wait for the thread that forks: in a callback, for a
 * lock of the program's. The child then can't be trusted, and sessions are refused there.
 */
#ifndef AF_BASE_FORK_GATE_H
#define AF_BASE_FORK_GATE_H

#include "base/list.h"

#include <afcore/error.h>
#include <stdatomic.h>
#include <stdbool.h>

/** Of a thread that is inside again and again; lives on its stack. */
typedef struct af__fork_section {
    af__node node;
    atomic_bool is_inside;
} af__fork_section;

void af__fork_gate_add(af__fork_section *section);
void af__fork_gate_remove(af__fork_section *section);

/**
 * The thread goes inside, where a fork of another thread waits for it; waits for a fork under way. NULL: a thread without
 * a section of its own. Calls nest. No lock may be held that a fork handler takes.
 */
void af__fork_gate_enter(af__fork_section *section);
void af__fork_gate_leave(af__fork_section *section);

/** AF_EINTERNAL in a child whose OpenSSL can't be trusted. */
af_status af__fork_gate_check(af_failure *failure);

/** Registers the handlers. Other locks that fork handlers take must have been registered before: this one comes first. */
void af__fork_gate_watch(void);

#endif
