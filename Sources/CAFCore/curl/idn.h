/** Internationalised host names. */
#ifndef AF_CURL_IDN_H
#define AF_CURL_IDN_H

#include "curl/driver_internal.h"

/**
 * Converts an internationalised host to A-labels. AF_EINVAL: the name isn't valid. AF_EUNSUPPORTED:
 * this libcurl has no IDN. AF_ENOMEM. On failure the URL is unchanged.
 */
af_status af__driver_convert_host(af__url *url, af_failure *failure);

#endif
