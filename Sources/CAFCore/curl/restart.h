/** Exchanges that libcurl has ended and that begin once more. */
#ifndef AF_CURL_RESTART_H
#define AF_CURL_RESTART_H

#include "curl/driver_internal.h"

/** The exchange has ended, but nothing was sent: begin it again on a new connection. false: it has ended. */
bool af__exchange_use_another(af__exchange *exchange);

/** The exchange has ended: begin once more with the answer that was kept. false: there is none. */
bool af__exchange_replay(af__exchange *exchange);

#endif
