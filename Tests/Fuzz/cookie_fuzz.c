/* Lines, each the value of Set-Cookie, one after the other from two hosts over http and https, and read as
   Strict-Transport-Security too. Whatever they are: what is sent is clean and not too long, nothing of one
   host goes to the other, and nothing Secure goes over http. */
#include "store/cookie_jar.h"
#include "store/hsts.h"

#include <afcore/base.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1000000000 };

static const afc__cookie_site sites[] = {{"www.example.com", {"/a/b", 4}, false},
                                         {"www.example.com", {"/a/b", 4}, true},
                                         {"other.example.org", {"/", 1}, true}};

static void require(bool holds) {
    if (!holds) abort();
}

static void check_sent(afc_cookie_jar *jar, const afc__cookie_site *site) {
    char *sent;
    require(afc__cookie_jar_write(jar, site, NOW, (afc_slice){0}, &sent) == AFC_OK);
    if (sent == NULL) return;
    require(strlen(sent) <= AFC__COOKIES_SIZE_MAX);
    for (const char *at = sent; *at != '\0'; at++) {
        require(((unsigned char)*at >= 0x20 || *at == '\t') && *at != 0x7f);
    }
    afc_free(sent);
}

static void check_list(afc_cookie_jar *jar) {
    afc_cookie_list *list;
    require(afc__cookie_jar_list(jar, &sites[0], NOW, &list) == AFC_OK);
    for (size_t i = 0; i < list->count; i++) {
        const afc_cookie *cookie = &list->cookies[i];
        require(!cookie->is_secure && cookie->path[0] == '/' && cookie->expires_s > NOW);
        require(strcmp(cookie->domain, "www.example.com") == 0 ||
                strcmp(cookie->domain, "example.com") == 0);
    }
    afc_cookie_list_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    afc_cookie_jar *jar;
    afc_slice rest = {(const char *)data, size};
    if (afc_cookie_jar_new(&jar, NULL, NULL) != AFC_OK) return 0;
    for (unsigned i = 0; rest.size > 0; i++) {
        const char *why = NULL;
        afc__hsts_field field;
        int64_t seconds;
        const char *end = memchr(rest.bytes, '\n', rest.size);
        afc_slice line = {rest.bytes, end != NULL ? (size_t)(end - rest.bytes) : rest.size};
        afc_status status = afc__cookie_jar_keep(jar, &sites[i % 3], line, NOW, &why);
        require(status == AFC_OK || (status == AFC_EINVAL && why != NULL) || status == AFC_ENOMEM);
        if (afc__hsts_read(&field, line)) require(field.age >= 0);
        afc__cookie_date(line, &seconds);
        size_t step = end != NULL ? line.size + 1 : line.size;
        rest = (afc_slice){rest.bytes + step, rest.size - step};
    }
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) check_sent(jar, &sites[i]);
    check_list(jar);
    afc_cookie_jar_release(jar);
    return 0;
}
