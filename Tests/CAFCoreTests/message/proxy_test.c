/* Which proxy is asked for a URL: from what was given, and from the environment. */
#include "message/ip.h"
#include "message/proxy.h"
#include "support/check.h"
#include "support/torture.h"

static void parses_addresses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int size;
        uint8_t bytes[16];
    } rows[] = {
        {"192.0.2.1", 4, {192, 0, 2, 1}},
        {"0.0.0.0", 4, {0}},
        {"255.255.255.255", 4, {255, 255, 255, 255}},
        {"::", 16, {0}},
        {"::1", 16, {[15] = 1}},
        {"1::", 16, {[1] = 1}},
        {"2001:db8::8:1", 16, {0x20, 1, 0xd, 0xb8, [13] = 8, [15] = 1}},
        {"1:2:3:4:5:6:7:8", 16, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}},
        {"::ffff:192.0.2.1", 16, {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1}},
        {"FE80::A", 16, {0xfe, 0x80, [15] = 10}},
        {"1:2:3:4:5:6:7::", 16, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7}},
        {"", 0, {0}},
        {"1.2.3", 0, {0}},
        {"1.2.3.4.5", 0, {0}},
        {"256.1.1.1", 0, {0}},
        {"01.1.1.1", 0, {0}},
        {"1.1.1.1 ", 0, {0}},
        {":", 0, {0}},
        {":::", 0, {0}},
        {"1::2::3", 0, {0}},
        {"1:2:3:4:5:6:7", 0, {0}},
        {"1:2:3:4:5:6:7:8:9", 0, {0}},
        {"1:2:3:4:5:6:7:8::", 0, {0}},
        {"::1:2:3:4:5:6:7:8", 0, {0}},
        {"12345::", 0, {0}},
        {"::g", 0, {0}},
        {"::1.2.3", 0, {0}},
        {"1:2:3:4:5:6:7:1.2.3.4", 0, {0}},
        {"::1:", 0, {0}},
        {"fe80::1%eth0", 0, {0}},
        {"name", 0, {0}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__ip ip;
        bool is_read = afc__ip_parse(&ip, afc_slice_of(rows[i].text));
        if (is_read != (rows[i].size != 0)) print_error("%s\n", rows[i].text);
        assert_int_equal(is_read, rows[i].size != 0);
        if (!is_read) continue;
        assert_int_equal(ip.size, rows[i].size);
        assert_memory_equal(ip.bytes, rows[i].bytes, 16);
    }
}

static void parses_proxies(void **state) {
    (void)state;
    static const struct {
        const char *text;
        afc_status status;
        afc__proxy_kind kind;
        const char *host;
        uint16_t port;
        const char *user, *password;
    } rows[] = {
        {"http://proxy:3128", AFC_OK, AFC__PROXY_HTTP, "proxy", 3128, NULL, NULL},
        {"HTTP://proxy/", AFC_OK, AFC__PROXY_HTTP, "proxy", 80, NULL, NULL},
        {"proxy:8080", AFC_OK, AFC__PROXY_HTTP, "proxy", 8080, NULL, NULL},
        {"192.0.2.1", AFC_OK, AFC__PROXY_HTTP, "192.0.2.1", 80, NULL, NULL},
        {"http://[2001:db8::1]:1", AFC_OK, AFC__PROXY_HTTP, "2001:db8::1", 1, NULL, NULL},
        {"socks5://proxy", AFC_OK, AFC__PROXY_SOCKS5, "proxy", 1080, NULL, NULL},
        {"socks5h://proxy:9050", AFC_OK, AFC__PROXY_SOCKS5H, "proxy", 9050, NULL, NULL},
        {"http://me:se%3Acret@proxy", AFC_OK, AFC__PROXY_HTTP, "proxy", 80, "me", "se:cret"},
        {"http://me@proxy", AFC_OK, AFC__PROXY_HTTP, "proxy", 80, "me", ""},
        {"http://m%65:a:b@proxy", AFC_OK, AFC__PROXY_HTTP, "proxy", 80, "me", "a:b"},
        {"http://a%zz:%@proxy", AFC_OK, AFC__PROXY_HTTP, "proxy", 80, "a%zz", "%"},
        {"me:p@proxy:81", AFC_OK, AFC__PROXY_HTTP, "proxy", 81, "me", "p"},
        {"https://proxy", AFC_OK, AFC__PROXY_HTTPS, "proxy", 443, NULL, NULL},
        {"HTTPS://me:p@proxy:8443/", AFC_OK, AFC__PROXY_HTTPS, "proxy", 8443, "me", "p"},
        {"socks4://proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"socks://proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"ftp://proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"://proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://proxy:0", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://proxy:65536", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://pro xy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://proxy/path", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://pro\nxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://a%0d%0aX: y:secret@proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://a%3Ab:secret@proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"https://a%3ab:secret@proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"socks5://a%3Ab:c@proxy", AFC_OK, AFC__PROXY_SOCKS5, "proxy", 1080, "a:b", "c"},
        {"http://a:secret%00@proxy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
        {"http://a:secret@pro xy", AFC_EINVAL, 0, NULL, 0, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__proxy proxy;
        afc_failure failure = {0};
        afc_status status = afc__proxy_parse(&proxy, afc_slice_of(rows[i].text), &failure);
        if (status != rows[i].status) print_error("%s\n", rows[i].text);
        check_status(status, rows[i].status);
        assert_null(strstr(failure.text, "secret"));
        if (status == AFC_OK) {
            assert_int_equal(proxy.kind, rows[i].kind);
            assert_string_equal(proxy.host, rows[i].host);
            assert_int_equal(proxy.port, rows[i].port);
            assert_int_equal(proxy.user == NULL, rows[i].user == NULL);
            if (proxy.user != NULL) assert_string_equal(proxy.user, rows[i].user);
            if (proxy.user != NULL) assert_string_equal(proxy.password, rows[i].password);
        } else {
            assert_null(proxy.host);
        }
        afc__proxy_clear(&proxy);
    }
}

static void names_the_path_of_a_proxy(void **state) {
    (void)state;
    static const char *const texts[] = {"http://proxy:3128/path", "proxy/path",
                                        "socks5h://localhost/run/tor", "http://me:p@proxy:1//x/"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        afc__proxy proxy;
        afc_failure failure = {0};
        check_status(afc__proxy_parse(&proxy, afc_slice_of(texts[i]), &failure), AFC_EINVAL);
        check_contains(failure.text, "it has a path");
    }
    afc__proxy proxy;
    check_status(afc__proxy_parse(&proxy, S("http://me:a/b@proxy:1//"), NULL), AFC_OK);
    assert_string_equal(proxy.password, "a/b");
    afc__proxy_clear(&proxy);
}

static void matches_hosts_in_no_proxy_lists(void **state) {
    (void)state;
    static const struct {
        const char *list, *host;
        uint16_t port;
        bool expected;
    } rows[] = {
        {"", "example.org", 80, false},
        {"example.org", "example.org", 80, true},
        {"example.org", "www.example.org", 443, true},
        {"example.org", "badexample.org", 80, false},
        {"example.org", "example.org.evil.net", 80, false},
        {".example.org", "example.org", 80, true},
        {".example.org", "www.example.org", 80, true},
        {"*.example.org", "www.example.org", 80, true},
        {"www.example.org", "example.org", 80, false},
        {"a.test", "b.test", 80, false},
        {"EXAMPLE.org", "example.org", 80, true},
        {"example.org.", "example.org", 80, true},
        {"example.org", "example.org.", 80, true},
        {"a, b ,c\td", "c", 80, true},
        {"a, b ,c\td", "d", 80, true},
        {",,a,,", "a", 80, true},
        {"a,b", "ab", 80, false},
        {"*", "anything", 80, true},
        {"a,*", "anything", 80, true},
        {"*", "2001:db8::1", 80, true},
        {"exa*", "example", 80, false},
        {".", "example.org", 80, false},
        {"*.", "example.org", 80, false},
        {"example.org:8080", "example.org", 8080, true},
        {"example.org:8080", "www.example.org", 8080, true},
        {"example.org:8080", "example.org", 80, false},
        {"example.org:x", "example.org", 80, false},
        {"example.org:", "example.org", 80, false},
        {":80", "example.org", 80, false},
        {"192.0.2.1", "192.0.2.1", 80, true},
        {"192.0.2.1", "192.0.2.10", 80, false},
        {"192.0.2.1.", "192.0.2.1", 80, true},
        {"192.0.2.1", "192.0.2.1.", 80, true},
        {"2.1", "192.0.2.1", 80, false},
        {"192.0.513", "192.0.2.1", 80, true},
        {"0xc0.0.2.1", "192.0.2.1", 80, true},
        {"192.0.2.1.1", "192.0.2.1", 80, false},
        {"192.0.2.1:81", "192.0.2.1", 81, true},
        {"192.0.2.1:81", "192.0.2.1", 80, false},
        {"192.0.2.0/24", "192.0.2.200", 80, true},
        {"192.0.2.0/24", "192.0.3.1", 80, false},
        {"192.0.2.77/24", "192.0.2.1", 80, true},
        {"10.0.0.0/8", "10.255.0.1", 80, true},
        {"10.0.0.0/8", "11.0.0.1", 80, false},
        {"192.0.2.128/25", "192.0.2.127", 80, false},
        {"192.0.2.128/25", "192.0.2.129", 80, true},
        {"0.0.0.0/0", "192.0.2.1", 80, true},
        {"0.0.0.0/0", "::1", 80, false},
        {"0.0.0.0/0", "example.org", 80, false},
        {"192.0.2.1/32", "192.0.2.1", 80, true},
        {"192.0.2.1/33", "192.0.2.1", 80, false},
        {"192.0.2.1/", "192.0.2.1", 80, false},
        {"192.0.2.1/x", "192.0.2.1", 80, false},
        {"192.0.2.0/24:81", "192.0.2.1", 81, true},
        {"192.0.2.0/24:81", "192.0.2.1", 80, false},
        {"::1", "::1", 80, true},
        {"[::1]", "::1", 80, true},
        {"[::1]:81", "::1", 81, true},
        {"[::1]:81", "::1", 80, false},
        {"[::1", "::1", 80, false},
        {"[::1]x", "::1", 80, false},
        {"2001:db8:0:0:0:0:0:1", "2001:db8::1", 80, true},
        {"fd00::/8", "fd12::1", 80, true},
        {"fd00::/8", "fe00::1", 80, false},
        {"[fd00::]/8", "fd12::1", 80, false},
        {"::/0", "2001:db8::1", 80, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool found = afc__bypass_has(afc_slice_of(rows[i].list), afc_slice_of(rows[i].host),
                                     rows[i].port);
        if (found != rows[i].expected) print_error("%s in \"%s\"\n", rows[i].host, rows[i].list);
        assert_int_equal(found, rows[i].expected);
    }
}

/** "NAME=value" texts, the last one NULL. */
static const char *lookup(void *context, const char *name) {
    const char *const *texts = context;
    size_t size = strlen(name);
    for (; *texts != NULL; texts++) {
        if (strncmp(*texts, name, size) == 0 && (*texts)[size] == '=') return *texts + size + 1;
    }
    return NULL;
}

static void finds_proxies_that_libcurl_would_use(void **state) {
    (void)state;
    static const struct {
        const char *url, *variables[4];
        bool expected;
    } rows[] = {
        {"https://dns.test/", {NULL}, false},
        {"https://dns.test/", {"http_proxy=p", NULL}, false},
        {"https://dns.test/", {"https_proxy=p", NULL}, true},
        {"https://dns.test/", {"HTTPS_PROXY=p", NULL}, true},
        {"https://dns.test/", {"https_proxy=", "HTTPS_PROXY=p", NULL}, true},
        {"https://dns.test/", {"https_proxy=", NULL}, false},
        {"https://dns.test/", {"all_proxy=p", NULL}, true},
        {"https://dns.test/", {"ALL_PROXY=p", NULL}, true},
        {"https://localhost/", {"https_proxy=p", NULL}, true},
        {"https://dns.test/", {"https_proxy=p", "no_proxy=*", NULL}, false},
        {"https://dns.test/", {"https_proxy=p", "NO_PROXY=other.test, DNS.test", NULL}, false},
        {"https://a.dns.test/", {"https_proxy=p", "no_proxy=.dns.test", NULL}, false},
        {"https://dns.test./", {"https_proxy=p", "no_proxy=dns.test", NULL}, false},
        {"https://adns.test/", {"https_proxy=p", "no_proxy=dns.test", NULL}, true},
        {"https://dns.test/", {"https_proxy=p", "no_proxy=", NULL}, true},
        /* The session understands these; libcurl doesn't. */
        {"https://dns.test/", {"https_proxy=p", "no_proxy=*,x", NULL}, true},
        {"https://a.dns.test/", {"https_proxy=p", "no_proxy=*.dns.test", NULL}, true},
        {"https://dns.test/", {"https_proxy=p", "no_proxy=dns.test:443", NULL}, true},
        {"https://192.0.2.1/", {"https_proxy=p", "no_proxy=192.0.2.1", NULL}, false},
        {"https://192.0.2.1/", {"https_proxy=p", "no_proxy=192.0.2.0/24", NULL}, false},
        {"https://192.0.2.1/", {"https_proxy=p", "no_proxy=192.0.3.0/24", NULL}, true},
        {"https://[2001:db8::1]/", {"https_proxy=p", "no_proxy=2001:db8::1", NULL}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__url url;
        check_status(afc__url_parse(&url, afc_slice_of(rows[i].url), NULL), AFC_OK);
        bool found = afc__libcurl_has_proxy(&url, lookup, (void *)(uintptr_t)rows[i].variables);
        if (found != rows[i].expected) print_error("row %zu: %s\n", i, rows[i].url);
        assert_int_equal(found, rows[i].expected);
        afc__url_clear(&url);
    }
}

static void check_choice(const afc__proxies *proxies, const char *address, const char *expected,
                         afc_status status) {
    afc__url url;
    const afc__proxy *proxy;
    check_status(afc__url_parse(&url, afc_slice_of(address), NULL), AFC_OK);
    afc_status found = afc__proxies_choose(proxies, &url, &proxy, NULL);
    if (found != status) print_error("%s\n", address);
    check_status(found, status);
    const char *host = proxy != NULL ? proxy->host : "";
    if (strcmp(host, expected) != 0) print_error("%s\n", address);
    assert_string_equal(host, expected);
    afc__url_clear(&url);
}

static void environment_chooses_the_proxy(void **state) {
    (void)state;
    static const struct {
        const char *variables[6];
        const char *url, *expected;
        afc_status status;
    } rows[] = {
        {{NULL}, "http://a/", "", AFC_OK},
        {{"http_proxy=p"}, "http://a/", "p", AFC_OK},
        {{"http_proxy=p"}, "https://a/", "", AFC_OK},
        {{"https_proxy=p"}, "https://a/", "p", AFC_OK},
        {{"https_proxy=p"}, "http://a/", "", AFC_OK},
        {{"all_proxy=p"}, "http://a/", "p", AFC_OK},
        {{"all_proxy=p"}, "https://a/", "p", AFC_OK},
        {{"all_proxy=p", "http_proxy=q"}, "http://a/", "q", AFC_OK},
        {{"all_proxy=p", "http_proxy="}, "http://a/", "p", AFC_OK},
        {{"http_proxy=p", "HTTP_PROXY=q"}, "http://a/", "p", AFC_OK},
        {{"HTTP_PROXY=q"}, "http://a/", "q", AFC_OK},
        {{"HTTPS_PROXY=q"}, "https://a/", "q", AFC_OK},
        {{"ALL_PROXY=q"}, "https://a/", "q", AFC_OK},
        /* CGI: a client's field "Proxy" would be HTTP_PROXY. */
        {{"HTTP_PROXY=q", "REQUEST_METHOD=GET"}, "http://a/", "", AFC_OK},
        {{"HTTP_PROXY=q", "REQUEST_METHOD="}, "http://a/", "", AFC_OK},
        {{"http_proxy=p", "REQUEST_METHOD=GET"}, "http://a/", "p", AFC_OK},
        {{"HTTPS_PROXY=q", "REQUEST_METHOD=GET"}, "https://a/", "q", AFC_OK},
        {{"all_proxy=p", "no_proxy=a"}, "http://a/", "", AFC_OK},
        {{"all_proxy=p", "no_proxy=a"}, "http://b/", "p", AFC_OK},
        {{"all_proxy=p", "NO_PROXY=a"}, "http://a/", "", AFC_OK},
        {{"all_proxy=p", "no_proxy=b", "NO_PROXY=a"}, "http://a/", "p", AFC_OK},
        {{"all_proxy=p", "no_proxy=a:443"}, "https://a/", "", AFC_OK},
        {{"all_proxy=p", "no_proxy=*"}, "https://[2001:db8::1]/", "", AFC_OK},
        /* This host itself. */
        {{"all_proxy=p"}, "http://localhost:8080/", "", AFC_OK},
        {{"all_proxy=p"}, "http://www.localhost./", "", AFC_OK},
        {{"all_proxy=p"}, "http://127.9.9.9/", "", AFC_OK},
        {{"all_proxy=p"}, "http://[::1]/", "", AFC_OK},
        {{"all_proxy=p"}, "http://[::ffff:127.0.0.1]/", "", AFC_OK},
        {{"all_proxy=p"}, "http://notlocalhost/", "p", AFC_OK},
        {{"all_proxy=p"}, "http://126.0.0.1/", "p", AFC_OK},
        {{"all_proxy=p"}, "http://[::2]/", "p", AFC_OK},
        {{"all_proxy=p"}, "http://[::ffff:126.0.0.1]/", "p", AFC_OK},
        /* What can't be used is no reason to go without. */
        {{"http_proxy=ftp://p"}, "http://a/", "", AFC_EINVAL},
        {{"http_proxy=http://p:0"}, "http://a/", "", AFC_EINVAL},
        {{"http_proxy=ftp://p"}, "https://a/", "", AFC_OK},
        {{"http_proxy=ftp://p", "no_proxy=a"}, "http://a/", "", AFC_OK},
        {{"http_proxy=ftp://p", "all_proxy=q"}, "http://a/", "", AFC_EINVAL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__proxies proxies;
        afc_proxies given = AFC_PROXIES_INIT;
        void *variables = (void *)(uintptr_t)rows[i].variables;
        check_status(afc__proxies_init(&proxies, &given, lookup, variables, NULL), AFC_OK);
        check_choice(&proxies, rows[i].url, rows[i].expected, rows[i].status);
        afc__proxies_clear(&proxies);
    }
}

static void explicit_list_replaces_no_proxy(void **state) {
    (void)state;
    static const char *const variables[] = {"all_proxy=p", "no_proxy=a", NULL};
    afc__proxies proxies;
    afc_proxies given = {AFC_PROXIES_ENVIRONMENT, NULL, "", NULL, "b", {0}};
    void *context = (void *)(uintptr_t)variables;
    check_status(afc__proxies_init(&proxies, &given, lookup, context, NULL), AFC_OK);
    check_choice(&proxies, "http://a/", "p", AFC_OK);
    check_choice(&proxies, "http://b/", "", AFC_OK);
    afc__proxies_clear(&proxies);
}

static const char *forbidden_lookup(void *context, const char *name) {
    (void)context, (void)name;
    fail();
    return NULL;
}

static void explicit_proxies_ignore_the_environment(void **state) {
    (void)state;
    afc__proxies proxies;
    afc_proxies given = {AFC_PROXIES_GIVEN, "p", "q:1", NULL, "b", {0}};
    check_status(afc__proxies_init(&proxies, &given, forbidden_lookup, NULL, NULL), AFC_OK);
    check_choice(&proxies, "http://a/", "p", AFC_OK);
    check_choice(&proxies, "https://a/", "q", AFC_OK);
    check_choice(&proxies, "https://b/", "", AFC_OK);
    /* Who names a proxy means it. */
    check_choice(&proxies, "http://localhost/", "p", AFC_OK);
    afc__proxies_clear(&proxies);
    given = (afc_proxies){AFC_PROXIES_NONE, NULL, NULL, NULL, "b", {0}};
    check_status(afc__proxies_init(&proxies, &given, forbidden_lookup, NULL, NULL), AFC_OK);
    check_choice(&proxies, "http://a/", "", AFC_OK);
    afc__proxies_clear(&proxies);
    given.source = AFC_PROXIES_GIVEN;
    given.all = "ftp://p";
    check_status(afc__proxies_init(&proxies, &given, forbidden_lookup, NULL, NULL), AFC_EINVAL);
    given.source = (afc_proxy_source)7;
    check_status(afc__proxies_init(&proxies, &given, forbidden_lookup, NULL, NULL), AFC_EINVAL);
}

static void refuses_proxies_that_the_source_would_ignore(void **state) {
    (void)state;
    static const struct {
        afc_proxies given;
        const char *reason;
    } rows[] = {
        {{AFC_PROXIES_ENVIRONMENT, "p", NULL, NULL, NULL, {0}},
         "proxies.http is set but proxies.source"},
        {{AFC_PROXIES_ENVIRONMENT, NULL, "p", NULL, NULL, {0}}, "proxies.https is set"},
        {{AFC_PROXIES_NONE, NULL, NULL, "p", NULL, {0}}, "proxies.all is set"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__proxies proxies;
        afc_failure failure;
        check_status(afc__proxies_init(&proxies, &rows[i].given, forbidden_lookup, NULL, &failure),
                     AFC_EINVAL);
        check_contains(failure.text, rows[i].reason);
        check_contains(failure.text, "AFC_PROXIES_GIVEN");
    }
}

static void failure_names_the_setting(void **state) {
    (void)state;
    static const struct {
        const char *variables[4];
        const char *url, *expected;
    } rows[] = {
        {{"http_proxy=ftp://u:secret@p"}, "http://a/", "http_proxy: invalid proxy scheme"},
        {{"HTTP_PROXY=http://p:0"}, "http://a/", "HTTP_PROXY: invalid proxy address ("},
        {{"HTTPS_PROXY=http://u:%01@p"}, "https://a/", "HTTPS_PROXY: the proxy's user"},
        {{"http_proxy=q", "all_proxy=ftp://p"}, "https://a/", "all_proxy: "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__proxies proxies;
        afc__url url;
        const afc__proxy *proxy;
        afc_failure failure;
        afc_proxies given = AFC_PROXIES_INIT;
        void *variables = (void *)(uintptr_t)rows[i].variables;
        check_status(afc__proxies_init(&proxies, &given, lookup, variables, NULL), AFC_OK);
        check_status(afc__url_parse(&url, afc_slice_of(rows[i].url), NULL), AFC_OK);
        check_status(afc__proxies_choose(&proxies, &url, &proxy, &failure), AFC_EINVAL);
        if (strstr(failure.text, rows[i].expected) != failure.text)
            print_error("%s\n", failure.text);
        assert_ptr_equal(strstr(failure.text, rows[i].expected), failure.text);
        assert_null(strstr(failure.text, "secret"));
        afc__url_clear(&url);
        afc__proxies_clear(&proxies);
    }
    afc__proxies proxies;
    afc_failure failure;
    afc_proxies given = {AFC_PROXIES_GIVEN, "p", "ftp://p", NULL, NULL, {0}};
    check_status(afc__proxies_init(&proxies, &given, forbidden_lookup, NULL, &failure), AFC_EINVAL);
    assert_ptr_equal(strstr(failure.text, "the proxy for https: "), failure.text);
    assert_int_equal(failure.reason, AFC_REASON_PROXY_URL);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    static const char *const variables[] = {"http_proxy=u:p@h", "https_proxy=ftp://x", "no_proxy=a",
                                            NULL};
    TORTURE(n) {
        afc__proxies proxies;
        afc_proxies given = AFC_PROXIES_INIT;
        void *context = (void *)(uintptr_t)variables;
        afc_status status = afc__proxies_init(&proxies, &given, lookup, context, NULL);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        afc__proxies_clear(&proxies);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_proxies_that_libcurl_would_use),
        cmocka_unit_test(parses_addresses),
        cmocka_unit_test(parses_proxies),
        cmocka_unit_test(names_the_path_of_a_proxy),
        cmocka_unit_test(matches_hosts_in_no_proxy_lists),
        cmocka_unit_test(environment_chooses_the_proxy),
        cmocka_unit_test(explicit_list_replaces_no_proxy),
        cmocka_unit_test(explicit_proxies_ignore_the_environment),
        cmocka_unit_test(refuses_proxies_that_the_source_would_ignore),
        cmocka_unit_test(failure_names_the_setting),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
