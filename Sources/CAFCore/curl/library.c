#include "curl/library.h"

#include "base/failure.h"
#include "curl/allocator.h"
#include "tls/tls.h"

#include <curl/curl.h>
#include <pthread.h>
#include <string.h>

/*
 * 7.88.0. Older versions accept any number of stacked content encodings (CVE-2023-23916). Each of them allocates memory
 * before our callback sees the field.
 */
enum { OLDEST_LIBCURL = 0x075800 };

static CURLcode global_result;
static const curl_version_info_data *version_info;

static void read_info(void) {
    version_info = curl_version_info(CURLVERSION_NOW);
}

const curl_version_info_data *afc__libcurl_info(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_info);
    return version_info;
}

static void init_global(void) {
    afc__tls_init_library();
    global_result = afc__memory_init_libcurl();
}

/** libcurl names all TLS libraries that it has, and those that it doesn't use in parentheses. */
static bool uses_openssl(const char *names) {
    static const char name[] = "OpenSSL/";
    for (const char *at = names; (at = strstr(at, name)) != NULL; at++) {
        if (at == names || at[-1] == ' ') return true;
    }
    return false;
}

afc_status afc__libcurl_check(afc_failure *failure) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    /* First, as it needs no initialised libcurl: a thread that would wait for afc_prepare() does something useful. */
    const curl_version_info_data *info = afc__libcurl_info();
    pthread_once(&once, init_global);
    if (global_result != CURLE_OK) {
        return afc__fail(failure, AFC_EINTERNAL, "cannot initialise libcurl: %s",
                         curl_easy_strerror(global_result));
    }
    if (info->version_num < OLDEST_LIBCURL) {
        return afc__fail(failure, AFC_EUNSUPPORTED,
                         "libcurl %s is too old: 7.88.0 or later is required", info->version);
    }
    if (info->ssl_version != NULL && uses_openssl(info->ssl_version)) return AFC_OK;
    return afc__fail(failure, AFC_EUNSUPPORTED, "libcurl uses %s: OpenSSL is required",
                     info->ssl_version != NULL ? info->ssl_version : "no TLS library");
}
