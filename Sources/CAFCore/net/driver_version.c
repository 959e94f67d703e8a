/* Which libcurl this is. */
#include <afcore/version.h>

#include <curl/curl.h>

const char *af_curl_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version;
}

const char *af_tls_version(void) {
    const char *version = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return version != NULL ? version : "none";
}

const char *const *af_curl_features(size_t *count) {
    const char *const *names = curl_version_info(CURLVERSION_NOW)->feature_names;
    *count = 0;
    while (names[*count] != NULL) {
        ++*count;
    }
    return names;
}
