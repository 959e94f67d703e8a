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

/** Whatever the text is: the parts lie in it, and what is joined fits where it should. */
static void check_text(af_slice text, af_slice reference) {
    af_url_parts parts;
    af_url_split(&parts, text);
    const af_slice all[] = {parts.scheme, parts.authority, parts.userinfo, parts.host,
                            parts.port,   parts.path,      parts.query,    parts.fragment};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].size == 0) continue;
        require(all[i].bytes >= text.bytes && all[i].bytes + all[i].size <= text.bytes + text.size);
    }
    size_t room = text.size + reference.size + 2;
    char *out = malloc(room);
    require(out != NULL);
    require(af_url_resolve(out, room, text, reference) <= room);
    require(af_url_append_query(out, room - 1, text, reference) < room);
    char name[AF_FILE_NAME_MAX + 1];
    bool is_named = af_url_file_name(name, text, NULL) == AF_OK;
    require(is_named == (name[0] != '\0') && strpbrk(name, "/\\") == NULL && name[0] != '.');
    free(out);
}

/** The public functions judge as requests are judged. */
static void check_verdict(af_slice text, const af__url *url, af_status status) {
    char origin[AF_URL_ORIGIN_ROOM];
    af_url_parts parts;
    require(af_url_check(text, NULL) == status);
    if (status != AF_OK) return;
    af_url_split(&parts, text);
    require(af_url_port(&parts) == url->port);
    require(af__url_write_origin(url, origin) < sizeof origin);
    require(af_url_check(af_slice_of(origin), NULL) == AF_OK);
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
    check_text(text, reference);
    af_status status = af__url_parse(&base, text, &failure);
    check_verdict(text, &base, status);
    if (status != AF_OK) return 0;
    check(&base);
    if (af__url_resolve(&target, &base, reference, &failure) == AF_OK) check(&target);
    af__url_clear(&target);
    af__url_clear(&base);
    return 0;
}
