/** Initialises libcurl, before any of its functions is called. */
#ifndef AFC_CURL_LIBRARY_H
#define AFC_CURL_LIBRARY_H

#include <afcore/error.h>

/**
 * Initialises libcurl, once per process, and checks its version. Any thread. AFC_EINTERNAL.
 * AFC_EUNSUPPORTED: it is too old, or not built with OpenSSL.
 */
afc_status afc__libcurl_check(afc_failure *failure);

#endif
