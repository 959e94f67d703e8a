/* A base and a reference, split by the first line feed. What comes out must be a URL that stays the
   same when it is taken apart again. */
#include "message/url.h"

#include <arpa/inet.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static bool is_inside(const afc__url *url, afc_slice part) {
    return part.bytes >= url->text && part.bytes + part.size <= url->text + strlen(url->text);
}

/** What the system's resolver takes for an IPv4 address is written as one, for cookies, proxies and rules to see. */
static void check_host(const afc__url *url) {
    char host[AFC__HOST_MAX + 1], address[INET_ADDRSTRLEN];
    struct in_addr found;
    memcpy(host, url->host.bytes, url->host.size);
    host[url->host.size] = '\0';
    if (inet_aton(host, &found) == 0) return;
    require(strcmp(inet_ntop(AF_INET, &found, address, sizeof address), host) == 0);
}

/** Whatever the text is: the parts lie in it, and what is joined fits where it should. */
static void check_text(afc_slice text, afc_slice reference) {
    afc_url_parts parts;
    afc_url_split(&parts, text);
    const afc_slice all[] = {parts.scheme, parts.authority, parts.userinfo, parts.host,
                             parts.port,   parts.path,      parts.query,    parts.fragment};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].size == 0) continue;
        require(all[i].bytes >= text.bytes && all[i].bytes + all[i].size <= text.bytes + text.size);
    }
    size_t room = text.size + reference.size + 2;
    char *out = malloc(room);
    require(out != NULL);
    require(afc_url_resolve(out, room, text, reference) <= room);
    require(afc_url_append_query(out, room - 1, text, reference) < room);
    char name[AFC_FILE_NAME_MAX + 1];
    bool is_named = afc_url_file_name(name, text, NULL) == AFC_OK;
    require(is_named == (name[0] != '\0') && strpbrk(name, "/\\") == NULL && name[0] != '.');
    free(out);
}

/** The public functions judge as requests are judged. */
static void check_verdict(afc_slice text, const afc__url *url, afc_status status) {
    char origin[AFC_URL_ORIGIN_SIZE];
    afc_url_parts parts;
    require(afc_url_check(text, NULL) == status);
    if (status != AFC_OK) return;
    afc_url_split(&parts, text);
    require(afc_url_port(&parts) == url->port);
    require(afc__url_write_origin(url, origin) < sizeof origin);
    require(afc_url_check(afc_slice_of(origin), NULL) == AFC_OK);
}

static void check(const afc__url *url) {
    check_host(url);
    for (const char *at = url->text; *at != '\0'; at++) {
        require((unsigned char)*at > ' ' && *at != 0x7F && *at != '\\' && *at != '#');
    }
    require(url->host.size != 0 && is_inside(url, url->host));
    require(url->path.size != 0 && url->path.bytes[0] == '/' && is_inside(url, url->path));
    require(url->query.bytes == NULL || is_inside(url, url->query));
    require(url->port != 0);
    require(memchr(url->host.bytes, '@', url->host.size) == NULL);

    afc__url again;
    require(afc__url_parse(&again, afc_slice_of(url->text), NULL) == AFC_OK);
    require(strcmp(again.text, url->text) == 0 && again.userinfo == NULL);
    require(afc__url_same_origin(&again, url));
    afc__url_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    afc_slice text = {(const char *)data, size}, reference = {text.bytes, 0};
    const char *end = memchr(text.bytes, '\n', size);
    if (end != NULL) {
        text.size = (size_t)(end - text.bytes);
        reference = (afc_slice){end + 1, size - text.size - 1};
    }
    afc__url base, target;
    afc_failure failure;
    check_text(text, reference);
    afc_status status = afc__url_parse(&base, text, &failure);
    check_verdict(text, &base, status);
    if (status != AFC_OK) return 0;
    check(&base);
    if (afc__url_resolve(&target, &base, reference, &failure) == AFC_OK) check(&target);
    afc__url_clear(&target);
    afc__url_clear(&base);
    return 0;
}
