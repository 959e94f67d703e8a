/** Initialises libcurl before its first use, and checks what it can do. */
#ifndef AFC_CURL_LIBRARY_H
#define AFC_CURL_LIBRARY_H

#include <afcore/error.h>
#include <curl/curl.h>

/**
 * Returns curl_version_info(), which libcurl writes to its own static memory at each call: so it is called once per
 * process. Any thread.
 */
const curl_version_info_data *afc__libcurl_info(void);

/**
 * Initialises libcurl, once per process, and checks its version. Any thread. Fails with AFC_EUNSUPPORTED if libcurl is
 * too old or isn't built with OpenSSL, with AFC_ENOMEM, or with AFC_EINTERNAL if libcurl can't be initialised.
 */
afc_status afc__libcurl_check(afc_failure *failure);

#endif
