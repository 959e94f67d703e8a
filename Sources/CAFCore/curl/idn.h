/** Hosts in other scripts. */
#ifndef AF_CURL_IDN_H
#define AF_CURL_IDN_H

#include "curl/driver_internal.h"

/**
 * A host in another script becomes A-labels. AF_EINVAL: it isn't a valid name; AF_EUNSUPPORTED: this libcurl has no IDN;
 * AF_ENOMEM. The URL is then as it was.
 */
af_status af__driver_convert_host(af__url *url, af_failure *failure);

#endif
