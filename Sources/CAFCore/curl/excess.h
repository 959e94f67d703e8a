/** Bytes behind a response, which nobody asked for. */
#ifndef AF_CURL_EXCESS_H
#define AF_CURL_EXCESS_H

#include "curl/driver_internal.h"

/** A line of the final head was the last one: libcurl may drop what comes right behind the response. */
void af__exchange_watch_excess(af__exchange *exchange);

/** A text of libcurl's. Has it dropped something? */
void af__exchange_heed_excess(af__exchange *exchange, af_slice text);

#endif
