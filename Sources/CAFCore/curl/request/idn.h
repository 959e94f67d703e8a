/** Internationalised host names. */
#ifndef AFC_CURL_REQUEST_IDN_H
#define AFC_CURL_REQUEST_IDN_H

#include "curl/driver.h"

/**
 * Converts an internationalised host to A-labels. AFC_EINVAL: the name isn't valid. AFC_EUNSUPPORTED:
 * this libcurl has no IDN. AFC_ENOMEM. On failure the URL is unchanged.
 */
afc_status afc__driver_convert_host(afc__url *url, afc_failure *failure);

#endif
