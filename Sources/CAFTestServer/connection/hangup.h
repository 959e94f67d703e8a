/**
 * A client that goes away while its connection's thread waits and reads nothing: at a gate, in a
 * pause, or for a handler.
 *
 * The listener's thread watches the sockets of such connections. It records that the client has ended its direction or
 * reset the connection; the script goes on as before. An end of input isn't more than that: a client that has only
 * ended its own direction (SHUT_WR) still gets its response.
 */
#ifndef AFTS_CONNECTION_HANGUP_H
#define AFTS_CONNECTION_HANGUP_H

#include "caftestserver.h"

#include <stdint.h>

/** Around a wait of the own thread. Lock held. */
void afts__hangup_watch(afts_conn *conn);
void afts__hangup_unwatch(afts_conn *conn);
/** Records what epoll has reported for a connection; called by the listener's thread. */
void afts__hangup_record(afts_conn *conn, uint32_t events);

#endif
