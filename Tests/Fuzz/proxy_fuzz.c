/* Three lines: a proxy, a list of hosts without one, a URL. Whatever they are, no secret is in a
   failure, "*" has every host, and a host alone in a list is found there. */
#include "message/proxy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static afc_slice next_line(afc_slice *rest) {
    const char *end = rest->size > 0 ? memchr(rest->bytes, '\n', rest->size) : NULL;
    afc_slice line = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->size};
    size_t step = end != NULL ? line.size + 1 : line.size;
    *rest = (afc_slice){rest->bytes + step, rest->size - step};
    return line;
}

static void check_proxy(afc_slice text) {
    afc__proxy proxy;
    afc_failure failure = {0};
    afc_status status = afc__proxy_parse(&proxy, text, &failure);
    require((status == AFC_OK) == (proxy.host != NULL));
    if (status == AFC_OK) {
        require(strlen(proxy.host) <= AFC__HOST_MAX && proxy.port != 0);
        require((proxy.user == NULL) == (proxy.password == NULL));
        require(proxy.user == NULL || strpbrk(proxy.user, "\r\n") == NULL);
    }
    afc__proxy_clear(&proxy);
}

static void check_list(afc_slice list, afc_slice address) {
    afc__url url;
    if (afc__url_parse(&url, address, NULL) != AFC_OK) return;
    afc__bypass_has(list, url.host, url.port);
    require(afc__bypass_has(afc_slice_of("*"), url.host, url.port));
    bool has_separator = memchr(url.host.bytes, '*', url.host.size) != NULL;
    bool is_dots = strspn(url.host.bytes, ".") >= url.host.size;
    if (!has_separator && !is_dots) require(afc__bypass_has(url.host, url.host, url.port));
    afc__url_clear(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    afc_slice rest = {(const char *)data, size};
    check_proxy(next_line(&rest));
    afc_slice list = next_line(&rest);
    check_list(list, next_line(&rest));
    return 0;
}
