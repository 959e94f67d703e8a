/*
 * Hosts in other scripts. They become A-labels (RFC 5890) before anything is looked up, compared or sent: libcurl would do
 * it later, from the encoding of the program's locale, and check nothing of what comes out.
 */
#include "curl/idn.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/host.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The first that converts without a transfer, by CURLU_PUNYCODE. Before, libcurl's own conversion has to do. */
enum { FIRST_WITH_PUNYCODE = 0x075800 };

/** libidn2 reads the name in the encoding of the thread's locale (idn2_lookup_ul), which is "C" in most programs. */
static locale_t utf8;

static void make_locale(void) {
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static bool can_convert(void) {
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    return info->version_num >= FIRST_WITH_PUNYCODE && (info->features & CURL_VERSION_IDN) != 0;
}

/** curl_free(); NULL: the name can't be converted, or there is no memory. */
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

bool af__driver_host_to_ascii(char *out, size_t size, af_slice host) {
    char *name = can_convert() ? af__copy_text(host) : NULL;
    char *found = name != NULL ? convert(name) : NULL;
    size_t length = found != NULL ? strlen(found) : 0;
    if (length > 1 && found[length - 1] == '.') length--;
    bool is_converted = length > 0 && length < size;
    for (size_t i = 0; is_converted && i < length; i++) {
        char c = found[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    if (is_converted) out[length] = '\0';
    curl_free(found);
    af_free(name);
    /* A mapping may bring forth anything: U+FF0F becomes a slash, U+FF20 an "@". */
    return is_converted && af__is_dns_name((af_slice){out, length});
}

/** The URL with another host, which may turn out to be an address ("127.0.0.1" in full-width digits). */
static af_status replace_host(af__url *url, const char *host, af_failure *failure) {
    size_t size = strlen(url->text) + strlen(host) + 1;
    char *text = af__alloc(size);
    if (text == NULL) return af__fail_memory(failure);
    const char *rest = url->host.bytes + url->host.size;
    snprintf(text, size, "%.*s%s%s", (int)(url->host.bytes - url->text), url->text, host, rest);
    af__url ascii = {0};
    af_status status = af__url_parse(&ascii, af_slice_of(text), failure);
    af_free(text);
    if (status != AF_OK) return status;
    ascii.userinfo = url->userinfo;
    url->userinfo = NULL;
    af__url_clear(url);
    *url = ascii;
    return AF_OK;
}

af_status af__driver_convert_host(af__url *url, af_failure *failure) {
    char host[AF__HOST_LONGEST + 1];
    if (af__is_ascii(url->host) || !can_convert()) return AF_OK;
    if (af__driver_host_to_ascii(host, sizeof host, url->host)) {
        return replace_host(url, host, failure);
    }
    return af__fail(failure, AF_EINVAL, "\"%.*s\" is not a valid internationalised host name",
                    (int)url->host.size, url->host.bytes);
}
