/* The versions of this library, of libcurl and of its TLS library. */

#include <afcore/version.h>

#include <curl/curl.h>

const char *afc_version(void) {
    return AFCORE_VERSION_STRING;
}

int afc_version_number(void) {
    return AFCORE_VERSION_NUMBER;
}

const char *afc_curl_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version;
}

const char *afc_tls_version(void) {
    const char *version = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return version != NULL ? version : "none";
}

const char *const *afc_curl_features(size_t *count) {
    const char *const *names = curl_version_info(CURLVERSION_NOW)->feature_names;
    *count = 0;
    while (names[*count] != NULL) {
        ++*count;
    }
    return names;
}
