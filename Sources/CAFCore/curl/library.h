/** Initialises libcurl, before any of its functions is called. */
#ifndef AF_CURL_LIBRARY_H
#define AF_CURL_LIBRARY_H

#include <afcore/error.h>

/**
 * Initialises libcurl, once per process, and checks its version. Any thread. AF_EINTERNAL.
 * AF_EUNSUPPORTED: it is too old, or not built with OpenSSL.
 */
af_status af__libcurl_check(af_failure *failure);

#endif
