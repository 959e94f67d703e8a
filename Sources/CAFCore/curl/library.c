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

static bool is_initialised;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static const curl_version_info_data *version_info;

static void read_info(void) {
    version_info = curl_version_info(CURLVERSION_NOW);
}

const curl_version_info_data *afc__libcurl_info(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_info);
    return version_info;
}

/** Calls curl_global_init(), until it has succeeded once: it may have failed because memory was short. */
static CURLcode init_global(void) {
    CURLcode result = CURLE_OK;
    pthread_mutex_lock(&init_lock);
    if (!is_initialised) {
        afc__tls_init_library();
        result = afc__memory_init_libcurl();
        is_initialised = result == CURLE_OK;
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}

/**
 * Returns whether libcurl's default TLS library is OpenSSL. `names` is ssl_version of curl_version_info(), which lists
 * all TLS libraries, those that aren't used in parentheses.
 */
static bool uses_openssl(const char *names) {
    static const char name[] = "OpenSSL/";
    for (const char *at = names; (at = strstr(at, name)) != NULL; at++) {
        if (at == names || at[-1] == ' ') return true;
    }
    return false;
}

afc_status afc__libcurl_check(afc_failure *failure) {
    /*
     * curl_version_info() needs no initialised libcurl. A thread that would otherwise wait for afc_prepare() on another
     * thread, in init_global(), does this work meanwhile.
     */
    const curl_version_info_data *info = afc__libcurl_info();
    CURLcode result = init_global();
    if (result != CURLE_OK) {
        return afc__fail(failure, result == CURLE_OUT_OF_MEMORY ? AFC_ENOMEM : AFC_EINTERNAL,
                         "cannot initialise libcurl: %s", curl_easy_strerror(result));
    }
    if (info->version_num < OLDEST_LIBCURL) {
        return afc__fail(failure, AFC_EUNSUPPORTED,
                         "libcurl %s is too old: 7.88.0 or later is required", info->version);
    }
    if (info->ssl_version != NULL && uses_openssl(info->ssl_version)) return AFC_OK;
    return afc__fail(failure, AFC_EUNSUPPORTED, "libcurl uses %s: OpenSSL is required",
                     info->ssl_version != NULL ? info->ssl_version : "no TLS library");
}
