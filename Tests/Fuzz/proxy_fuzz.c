/* Three lines: a proxy, a list of hosts without one, a URL. Whatever they are, no secret is in a
   failure, "*" has every host, and a host alone in a list is found there. */
#include "message/proxy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static af_slice next_line(af_slice *rest) {
    const char *end = rest->size > 0 ? memchr(rest->bytes, '\n', rest->size) : NULL;
    af_slice line = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->size};
    size_t step = end != NULL ? line.size + 1 : line.size;
    *rest = (af_slice){rest->bytes + step, rest->size - step};
    return line;
}

static void check_proxy(af_slice text) {
    af__proxy proxy;
    af_failure failure = {0};
    af_status status = af__proxy_parse(&proxy, text, &failure);
    require((status == AF_OK) == (proxy.host != NULL));
    if (status == AF_OK) {
        require(strlen(proxy.host) <= AF__HOST_LONGEST && proxy.port != 0);
        require((proxy.user == NULL) == (proxy.password == NULL));
        require(proxy.user == NULL || strpbrk(proxy.user, "\r\n") == NULL);
    }
    af__proxy_clear(&proxy);
}

static void check_list(af_slice list, af_slice address) {
    af__url url;
    if (af__url_parse(&url, address, NULL) != AF_OK) return;
    af__bypass_has(list, url.host, url.port);
    require(af__bypass_has(af_slice_of("*"), url.host, url.port));
    bool has_separator = memchr(url.host.bytes, '*', url.host.size) != NULL;
    bool is_dots = strspn(url.host.bytes, ".") >= url.host.size;
    if (!has_separator && !is_dots) require(af__bypass_has(url.host, url.host, url.port));
    af__url_clear(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    af_slice rest = {(const char *)data, size};
    check_proxy(next_line(&rest));
    af_slice list = next_line(&rest);
    check_list(list, next_line(&rest));
    return 0;
}
