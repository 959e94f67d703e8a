/** The rows about WebSockets. */
#ifndef ECHO_H
#define ECHO_H

#include <afcore/afcore.h>

#include "bench.h"

/** Opens the sockets, sends the messages, prints the report, and cancels the sockets. */
void echo_run(const bench_options *options, afc_session *session);

#endif
