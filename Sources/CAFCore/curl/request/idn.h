/** Internationalised host names. Any thread. */
#ifndef AFC_CURL_REQUEST_IDN_H
#define AFC_CURL_REQUEST_IDN_H

#include "curl/driver.h"

/**
 * Converts the host of a URL to A-labels, if it isn't ASCII. On failure the URL is unchanged. Fails with AFC_EINVAL if
 * the name isn't valid, AFC_EUNSUPPORTED if this libcurl has no IDN, or AFC_ENOMEM.
 */
afc_status afc__driver_convert_host(afc__url *url, afc_failure *failure);

#endif
