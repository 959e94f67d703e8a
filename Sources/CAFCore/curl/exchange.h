/** One hop on one easy handle. */
#ifndef AF_CURL_EXCHANGE_H
#define AF_CURL_EXCHANGE_H

#include "curl/driver_internal.h"

/** Makes an easy handle, with every option set that no request changes. NULL when out of memory. */
af__exchange *af__exchange_new(af__driver *driver);
void af__exchange_free(af__exchange *exchange);

/** Sets the options of this hop. */
af_status af__exchange_prepare(af__exchange *exchange, af_failure *failure);

/** Resets everything that belongs to the hop. */
void af__exchange_reset(af__exchange *exchange);

#endif
