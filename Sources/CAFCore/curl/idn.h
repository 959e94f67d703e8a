/** Hosts in other scripts. */
#ifndef AF_CURL_IDN_H
#define AF_CURL_IDN_H

#include "curl/driver_internal.h"

/**
 * A host in another script becomes A-labels, if this libcurl can do that. AF_EINVAL: it is no valid name; AF_ENOMEM; the
 * URL is then as it was.
 */
af_status af__driver_convert_host(af__url *url, af_failure *failure);

#endif
