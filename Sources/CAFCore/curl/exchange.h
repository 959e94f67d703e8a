/** The life of an exchange: an easy handle that carries one hop after the other. Loop thread only. */
#ifndef AFC_CURL_EXCHANGE_H
#define AFC_CURL_EXCHANGE_H

#include "curl/driver.h"

/**
 * Makes an easy handle, with every option set that no request changes. Fails with AFC_ENOMEM, or with AFC_EUNSUPPORTED
 * or AFC_EINTERNAL if libcurl refuses an option.
 */
afc_status afc__exchange_new(afc__exchange **out, afc__driver *driver, afc_failure *failure);
/** Frees an exchange that carries no hop. */
void afc__exchange_free(afc__exchange *exchange);

/** Sets the options of the hop. Fails like afc__driver_start(). */
afc_status afc__exchange_prepare(afc__exchange *exchange, afc_failure *failure);

/**
 * Starts the hop again on a new connection, after it ended before its request was sent (AFC__PROGRESS_NOT_SENT).
 * Returns false if that failed: the exchange has ended then.
 */
bool afc__exchange_restart(afc__exchange *exchange);

/**
 * Starts the hop, which has ended, again if an early response was kept, which libcurl then reads from a listener of
 * this process. Returns false without such a response, or if that failed: the exchange stays ended.
 */
bool afc__exchange_restart_with_response(afc__exchange *exchange);

/** Resets all that belongs to the hop, which has ended. The handle must not be in the multi handle any more. */
void afc__exchange_reset(afc__exchange *exchange);

#endif
