/** Initialises libcurl, before any of its functions is called. */
#ifndef AFC_CURL_LIBRARY_H
#define AFC_CURL_LIBRARY_H

#include <afcore/error.h>
#include <curl/curl.h>

/** Returns the version and the features of libcurl, which it writes into memory of its own at each call. Any thread. */
const curl_version_info_data *afc__libcurl_info(void);

/**
 * Initialises libcurl, once per process, and checks its version. Any thread. AFC_EINTERNAL.
 * AFC_EUNSUPPORTED: it is too old, or not built with OpenSSL.
 */
afc_status afc__libcurl_check(afc_failure *failure);

#endif
