/* The public functions that return the versions of this library, of libcurl and of its TLS library. */

#include "curl/library.h"

#include <afcore/version.h>

#include <curl/curl.h>

const char *afc_version(void) {
    return AFCORE_VERSION_STRING;
}

int afc_version_number(void) {
    return AFCORE_VERSION_NUMBER;
}

const char *afc_curl_version(void) {
    return afc__libcurl_info()->version;
}

const char *afc_tls_version(void) {
    const char *version = afc__libcurl_info()->ssl_version;
    return version != NULL ? version : "none";
}

const char *const *afc_curl_features(size_t *count) {
    const char *const *names = afc__libcurl_info()->feature_names;
    *count = 0;
    while (names[*count] != NULL) {
        ++*count;
    }
    return names;
}
