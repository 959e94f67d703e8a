/** The multi handle of a driver, and its replacement after an error that libcurl doesn't recover from. */
#ifndef AFC_CURL_MULTI_HANDLE_H
#define AFC_CURL_MULTI_HANDLE_H

#include "curl/driver_internal.h"

/** Makes the driver's multi handle. AFC_ENOMEM: it has none. */
afc_status afc__multi_make(afc__driver *driver, afc_failure *failure);

/** Closes every connection and frees what may only be freed after that. */
void afc__multi_free(afc__driver *driver);

/**
 * If the multi handle is unusable, ends every exchange with an error, closes every connection and makes a new
 * handle. AFC_ENOMEM: there is no handle. Don't call it inside libcurl.
 */
afc_status afc__multi_replace_if_broken(afc__driver *driver, afc_failure *failure);

#endif
