/*
 * Internationalised host names. They are converted to A-labels (RFC 5890) before anything is looked
 * up, compared or sent. libcurl would convert them later, from the encoding of the program's
 * locale, and without checking the result.
 */
#include "curl/request/idn.h"

#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/file.h"
#include "curl/library.h"
#include "message/host.h"

#include <curl/curl.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>

/**
 * The locale C.UTF-8; 0 until it is needed. libidn2, which libcurl uses, reads a name in the encoding of the thread's
 * locale (idn2_lookup_ul()), and that locale is "C" in most programs.
 */
static locale_t utf8;
static pthread_mutex_t utf8_lock = PTHREAD_MUTEX_INITIALIZER;

/**
 * Sets `*out` to the locale, or to 0 if the system has no such locale. Fails with AFC_ENOMEM if out of memory or
 * descriptors; the next call tries again.
 */
static afc_status get_locale(locale_t *out) {
    afc_status status = AFC_OK;
    pthread_mutex_lock(&utf8_lock);
    if (utf8 == (locale_t)0 && afc__lacks_descriptors()) {
        status = AFC_ENOMEM;
    } else if (utf8 == (locale_t)0) {
        errno = 0;
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        if (utf8 == (locale_t)0 && afc__is_shortage(errno)) status = AFC_ENOMEM;
    }
    *out = utf8;
    pthread_mutex_unlock(&utf8_lock);
    return status;
}

static bool can_convert(void) {
#ifdef CURLU_PUNYCODE
    return (afc__libcurl_info()->features & CURL_VERSION_IDN) != 0;
#else
    return false;
#endif
}

/**
 * Sets `*out` to the name as A-labels. The caller frees it with curl_free(). Fails with AFC_EINVAL if the name can't be
 * converted, or AFC_ENOMEM.
 */
static afc_status convert(char **out, const char *name) {
    CURLUcode code = CURLUE_UNKNOWN_PART;
    bool is_set = false;
    *out = NULL;
#ifdef CURLU_PUNYCODE
    locale_t locale;
    afc_status status = get_locale(&locale);
    if (status != AFC_OK) return status;
    CURLU *url = curl_url();
    locale_t before = locale != (locale_t)0 ? uselocale(locale) : (locale_t)0;
    code = url != NULL ? curl_url_set(url, CURLUPART_SCHEME, "https", 0) : CURLUE_OUT_OF_MEMORY;
    if (code == CURLUE_OK) code = curl_url_set(url, CURLUPART_HOST, name, 0);
    is_set = code == CURLUE_OK;
    if (is_set) code = curl_url_get(url, CURLUPART_HOST, out, CURLU_PUNYCODE);
    if (before != (locale_t)0) uselocale(before);
    curl_url_cleanup(url);
#else
    (void)name, (void)get_locale;
#endif
    if (code == CURLUE_OK) return AFC_OK;
    /* libcurl 7.88 also returns CURLUE_OUT_OF_MEMORY if a name can't be converted. */
    return code == CURLUE_OUT_OF_MEMORY && !is_set ? AFC_ENOMEM : AFC_EINVAL;
}

/** Writes a host as A-labels. Fails with AFC_EINVAL if this libcurl can't convert it, or AFC_ENOMEM. */
static afc_status write_ascii(char *out, size_t size, afc_slice host) {
    char *name = afc__copy_text(host), *found = NULL;
    afc_status status = name != NULL ? convert(&found, name) : AFC_ENOMEM;
    size_t length = afc__without_dot(afc_slice_of(found)).size;
    bool is_converted = length > 0 && length < size;
    for (size_t i = 0; is_converted && i < length; i++) out[i] = afc__lower(found[i]);
    if (is_converted) out[length] = '\0';
    curl_free(found);
    afc_free(name);
    /* The mapping of UTS #46 may produce delimiters: U+FF0F becomes a slash, U+FF20 an "@". */
    bool is_name = is_converted && afc__is_dns_name((afc_slice){out, length});
    return status == AFC_OK && !is_name ? AFC_EINVAL : status;
}

bool afc__driver_host_to_ascii(char *out, size_t size, afc_slice host) {
    return can_convert() && write_ascii(out, size, host) == AFC_OK;
}

afc_status afc__driver_convert_host(afc__url *url, afc_failure *failure) {
    char host[AFC__HOST_MAX + 1];
    if (afc__is_ascii(url->host)) return AFC_OK;
    if (!can_convert()) {
        return afc__fail(failure, AFC_EUNSUPPORTED,
                         "libcurl was built without IDN: cannot convert the host \"%.*s\"",
                         (int)url->host.size, url->host.bytes);
    }
    afc_status status = write_ascii(host, sizeof host, url->host);
    if (status == AFC_OK) return afc__url_set_host(url, afc_slice_of(host), failure);
    if (status == AFC_ENOMEM) {
        return afc__fail(failure, AFC_ENOMEM,
                         "out of memory or descriptors: cannot convert the host \"%.*s\"",
                         (int)url->host.size, url->host.bytes);
    }
    return afc__fail(failure, AFC_EINVAL, "invalid internationalised host name \"%.*s\"",
                     (int)url->host.size, url->host.bytes);
}

afc_status afc_url_write_origin(char out[AFC_URL_ORIGIN_SIZE], afc_slice text,
                                afc_failure *failure) {
    afc__url url;
    out[0] = '\0';
    afc__clear_failure(failure);
    afc_status status = afc__url_parse(&url, text, failure);
    if (status != AFC_OK) return status;
    /* No session has initialised libcurl here, and an ASCII host doesn't need it. */
    if (!afc__is_ascii(url.host)) status = afc__libcurl_check(failure);
    if (status == AFC_OK) status = afc__driver_convert_host(&url, failure);
    if (status == AFC_OK) afc__url_write_origin(&url, out);
    afc__url_clear(&url);
    return status;
}
