/** One hop on one easy handle. */
#ifndef AFC_CURL_EXCHANGE_H
#define AFC_CURL_EXCHANGE_H

#include "curl/driver_internal.h"

/** Makes an easy handle, with every option set that no request changes. NULL when out of memory. */
afc__exchange *afc__exchange_new(afc__driver *driver);
void afc__exchange_free(afc__exchange *exchange);

/** Sets the options of this hop. */
afc_status afc__exchange_prepare(afc__exchange *exchange, afc_failure *failure);

/** Resets everything that belongs to the hop. */
void afc__exchange_reset(afc__exchange *exchange);

#endif
