/** The fields of a request, and those that libcurl adds without being asked. */
#ifndef AFC_CURL_REQUEST_REQUEST_FIELDS_H
#define AFC_CURL_REQUEST_REQUEST_FIELDS_H

#include "curl/driver.h"

/**
 * Sets the fields of the hop's request (CURLOPT_HTTPHEADER), unless the handle has the same ones from its last hop.
 * Call it when the kind of the request is set.
 *
 * @return AFC_ETOOBIG: libcurl can't send a head of this size.
 */
afc_status afc__exchange_set_fields(afc__exchange *exchange);

/** Overwrites the credentials that were sent. */
void afc__exchange_forget_fields(afc__exchange *exchange);

#endif
