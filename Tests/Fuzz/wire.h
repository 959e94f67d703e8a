/**
 * Servers that answer with bytes of an input, and a session that asks them: for targets that go through sockets and
 * libcurl. One run at a time.
 */
#ifndef AFC_FUZZ_WIRE_H
#define AFC_FUZZ_WIRE_H

#include "input.h"

#include <afcore/session.h>
#include <afcore/task.h>

/** Marks in an input: behind the first one another connection is answered, behind the second another request. */
#define WIRE_NEXT_CONNECTION "\n=====\n"
#define WIRE_NEXT_REQUEST "\n-----\n"

typedef struct wire_run {
    unsigned heads, dones;
    afc_status status;
} wire_run;

/** The one session of the program, made when it is first asked for. */
afc_session *wire_session(void);

/**
 * Begin to answer connections with `replies`: of a socket in the abstract namespace, whose name for
 * afc_request.unix_socket is returned, or of a port of the loopback interface, as a proxy's URL.
 */
const char *wire_listen(afc_slice replies, bool is_tcp);

/** Perform a request, whose callbacks may be filled in but for `context`, on_done and release; then stop listening. */
void wire_perform(wire_run *run, const afc_request *request, afc_task_events events);

#endif
