/* A base and a reference, split by the first line feed. What comes out must be a URL that stays the
   same when it is taken apart again. */
#include "message/url.h"

#include <arpa/inet.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static bool is_inside(const af__url *url, af_slice part) {
    return part.bytes >= url->text && part.bytes + part.size <= url->text + strlen(url->text);
}

/** What the system's resolver takes for an IPv4 address is written as one, for cookies, proxies and rules to see. */
static void check_host(const af__url *url) {
    char host[AF__HOST_LONGEST + 1], address[INET_ADDRSTRLEN];
    struct in_addr found;
    memcpy(host, url->host.bytes, url->host.size);
    host[url->host.size] = '\0';
    if (inet_aton(host, &found) == 0) return;
    require(strcmp(inet_ntop(AF_INET, &found, address, sizeof address), host) == 0);
}

static void check(const af__url *url) {
    check_host(url);
    for (const char *at = url->text; *at != '\0'; at++) {
        require((unsigned char)*at > ' ' && *at != 0x7F && *at != '\\' && *at != '#');
    }
    require(url->host.size != 0 && is_inside(url, url->host));
    require(url->path.size != 0 && url->path.bytes[0] == '/' && is_inside(url, url->path));
    require(url->query.bytes == NULL || is_inside(url, url->query));
    require(url->port != 0);
    require(memchr(url->host.bytes, '@', url->host.size) == NULL);

    af__url again;
    require(af__url_parse(&again, af_slice_of(url->text), NULL) == AF_OK);
    require(strcmp(again.text, url->text) == 0 && again.userinfo == NULL);
    require(af__url_same_origin(&again, url));
    af__url_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    af_slice text = {(const char *)data, size}, reference = {text.bytes, 0};
    const char *end = memchr(text.bytes, '\n', size);
    if (end != NULL) {
        text.size = (size_t)(end - text.bytes);
        reference = (af_slice){end + 1, size - text.size - 1};
    }
    af__url base, target;
    af_failure failure;
    if (af__url_parse(&base, text, &failure) != AF_OK) return 0;
    check(&base);
    if (af__url_resolve(&target, &base, reference, &failure) == AF_OK) check(&target);
    af__url_clear(&target);
    af__url_clear(&base);
    return 0;
}
