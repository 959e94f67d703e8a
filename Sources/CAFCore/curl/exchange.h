/** One hop on one easy handle. */
#ifndef AFC_CURL_EXCHANGE_H
#define AFC_CURL_EXCHANGE_H

#include "curl/driver.h"

/**
 * Makes an easy handle, with every option set that no request changes. AFC_ENOMEM; AFC_EUNSUPPORTED and
 * AFC_EINTERNAL if libcurl refused an option.
 */
afc_status afc__exchange_new(afc__exchange **out, afc__driver *driver, afc_failure *failure);
void afc__exchange_free(afc__exchange *exchange);

/** Sets the options of this hop. */
afc_status afc__exchange_prepare(afc__exchange *exchange, afc_failure *failure);

/** Starts the hop, which ended before its request was sent, again on a new connection. false: it has ended. */
bool afc__exchange_restart(afc__exchange *exchange);

/** Starts the hop, which has ended, again with the early response that was kept. false: it has ended. */
bool afc__exchange_restart_with_response(afc__exchange *exchange);

/** Resets everything that belongs to the hop. */
void afc__exchange_reset(afc__exchange *exchange);

#endif
