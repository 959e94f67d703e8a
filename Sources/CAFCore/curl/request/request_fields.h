/** The header fields of a request, including those that libcurl would add or omit by itself. Loop thread only. */
#ifndef AFC_CURL_REQUEST_REQUEST_FIELDS_H
#define AFC_CURL_REQUEST_REQUEST_FIELDS_H

#include "curl/driver.h"

/**
 * Sets the fields of the hop's request (CURLOPT_HTTPHEADER), unless the handle has the same ones from its last hop.
 * Call it after the kind of the request (AFC__KIND_…) and the proxy are set.
 *
 * Fails with AFC_ETOOBIG if libcurl can't send a head of this size, or with AFC_ENOMEM.
 */
afc_status afc__exchange_set_fields(afc__exchange *exchange);

/** Overwrites the text of the fields that were sent, as they may be secret. */
void afc__exchange_forget_fields(afc__exchange *exchange);

#endif
