/** libcurl itself, before any of its functions is called. */
#ifndef AF_CURL_LIBRARY_H
#define AF_CURL_LIBRARY_H

#include <afcore/error.h>

/**
 * Initialise libcurl, once for the process, and check that this one can be used. Any thread. AF_EINTERNAL;
 * AF_EUNSUPPORTED: it is too old, or not built on OpenSSL.
 */
af_status af__libcurl_check(af_failure *failure);

#endif
