/** What a paused exchange must not read. */
#ifndef AF_CURL_READ_PAUSE_H
#define AF_CURL_READ_PAUSE_H

#include "curl/driver_internal.h"

/** Does this libcurl read what a paused exchange gets? Otherwise the functions of read_pause.c do nothing. */
bool af__reads_while_paused(void);

/** What libcurl may know of this readiness; 0: nothing. */
unsigned af__reading_filter(af__socket *socket, unsigned readiness);

/** Do some read on this connection, and some not? */
bool af__reading_is_mixed(const af__socket *socket);

/** A callback is about to return CURL_WRITEFUNC_PAUSE. */
void af__reading_stops(af__exchange *exchange);

/** Before curl_easy_pause() resumes, and after. false: its socket can't be watched. */
void af__reading_may_begin(af__exchange *exchange);
bool af__reading_begins(af__exchange *exchange);

/** Before libcurl runs: let no paused exchange read because another one of its connection was resumed. */
void af__driver_recheck(af__driver *driver);

/** It is on this connection now; NULL: on none. false: its socket can't be watched. */
bool af__exchange_set_carrier(af__exchange *exchange, af__socket *socket);

#endif
