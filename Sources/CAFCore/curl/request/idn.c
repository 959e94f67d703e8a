/*
 * Internationalised host names. They are converted to A-labels (RFC 5890) before anything is looked
 * up, compared or sent. libcurl would convert them later, from the encoding of the program's
 * locale, and without checking the result.
 */
#include "curl/request/idn.h"

#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "curl/library.h"
#include "message/host.h"

#include <curl/curl.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>

/** libidn2 reads the name in the encoding of the thread's locale (idn2_lookup_ul), which is "C" in most programs. */
static locale_t utf8;

static void make_locale(void) {
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static bool can_convert(void) {
#ifdef CURLU_PUNYCODE
    return (afc__libcurl_info()->features & CURL_VERSION_IDN) != 0;
#else
    return false;
#endif
}

/** The caller frees it with curl_free(). NULL: the name can't be converted, or out of memory. */
static char *convert(const char *name) {
    char *found = NULL;
#ifdef CURLU_PUNYCODE
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    CURLU *url = curl_url();
    locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    bool is_set = url != NULL && curl_url_set(url, CURLUPART_SCHEME, "https", 0) == CURLUE_OK &&
                  curl_url_set(url, CURLUPART_HOST, name, 0) == CURLUE_OK;
    if (is_set) curl_url_get(url, CURLUPART_HOST, &found, CURLU_PUNYCODE);
    if (before != (locale_t)0) uselocale(before);
    curl_url_cleanup(url);
#else
    (void)name, (void)make_locale;
#endif
    return found;
}

bool afc__driver_host_to_ascii(char *out, size_t size, afc_slice host) {
    char *name = can_convert() ? afc__copy_text(host) : NULL;
    char *found = name != NULL ? convert(name) : NULL;
    size_t length = afc__without_dot(afc_slice_of(found)).size;
    bool is_converted = length > 0 && length < size;
    for (size_t i = 0; is_converted && i < length; i++) out[i] = afc__lower(found[i]);
    if (is_converted) out[length] = '\0';
    curl_free(found);
    afc_free(name);
    /* The mapping may produce delimiters: U+FF0F becomes a slash, U+FF20 an "@". */
    return is_converted && afc__is_dns_name((afc_slice){out, length});
}

afc_status afc__driver_convert_host(afc__url *url, afc_failure *failure) {
    char host[AFC__HOST_MAX + 1];
    if (afc__is_ascii(url->host)) return AFC_OK;
    if (!can_convert()) {
        return afc__fail(failure, AFC_EUNSUPPORTED,
                         "libcurl was built without IDN: cannot convert the host \"%.*s\"",
                         (int)url->host.size, url->host.bytes);
    }
    if (afc__driver_host_to_ascii(host, sizeof host, url->host)) {
        return afc__url_set_host(url, afc_slice_of(host), failure);
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
    /* This needs no session, and no libcurl for ASCII hosts. */
    if (!afc__is_ascii(url.host)) status = afc__libcurl_check(failure);
    if (status == AFC_OK) status = afc__driver_convert_host(&url, failure);
    if (status == AFC_OK) afc__url_write_origin(&url, out);
    afc__url_clear(&url);
    return status;
}
