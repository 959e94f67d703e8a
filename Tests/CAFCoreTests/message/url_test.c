#include "message/host.h"
#include "message/url.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdlib.h>

/* ---- Taking apart -------------------------------------------------------------------------- */

typedef struct parsed {
    const char *given, *text;
} parsed;

static void check_parsed(const parsed *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        afc__url url;
        afc_failure failure;
        if (afc__url_parse(&url, afc_slice_of(cases[i].given), &failure) != AFC_OK) {
            fail_msg("%s: %s", cases[i].given, failure.text);
        }
        assert_string_equal(url.text, cases[i].text);
        afc__url_clear(&url);
    }
}

static void normalises_urls(void **state) {
    (void)state;
    static const parsed cases[] = {
        {"http://example.org", "http://example.org/"},
        {"HtTpS://EXAMPLE.org/Path", "https://example.org/Path"},
        {"http://example.org?q", "http://example.org/?q"},
        {"http://example.org#f", "http://example.org/"},
        {"http://example.org/#f/?x", "http://example.org/"},
        {"http://example.org/a?b#c?d#e", "http://example.org/a?b"},
        {"http://example.org/?", "http://example.org/?"},
        {"http://example.org/a??b=/?", "http://example.org/a??b=/?"},
        {"http://u:p@example.org/", "http://example.org/"},
        {"http://@example.org/", "http://example.org/"},
        {"http://example.org./", "http://example.org./"},
        {"http://a_b-c~d.example/", "http://a_b-c~d.example/"},
        {"http://b\xC3\xBC"
         "cher.example/",
         "http://b\xC3\xBC"
         "cher.example/"},
        {"http://BXCHER\xC3\x9C/", "http://bxcher\xC3\x9C/"},
    };
    check_parsed(cases, COUNT_OF(cases));
}

static void omits_default_ports(void **state) {
    (void)state;
    static const parsed cases[] = {
        {"http://h:/", "http://h/"},           {"http://h:80/", "http://h/"},
        {"https://h:443", "https://h/"},       {"http://h:443/", "http://h:443/"},
        {"https://h:80?x", "https://h:80/?x"}, {"http://h:00080/", "http://h/"},
        {"http://h:1/", "http://h:1/"},        {"http://h:65535/", "http://h:65535/"},
        {"http://[::1]:/", "http://[::1]/"},   {"http://[::1]:8080/", "http://[::1]:8080/"},
    };
    check_parsed(cases, COUNT_OF(cases));
}

/** S70: as the URL Standard writes them. libcurl and inet_aton() would connect to the same addresses. */
static void writes_addresses_in_canonical_form(void **state) {
    (void)state;
    static const parsed cases[] = {
        {"http://127.0.0.1/", "http://127.0.0.1/"},
        {"http://127.0.1/", "http://127.0.0.1/"},
        {"http://127.1:8080/a", "http://127.0.0.1:8080/a"},
        {"http://2130706433", "http://127.0.0.1/"},
        {"http://0x7f.1/", "http://127.0.0.1/"},
        {"http://0X7F000001/", "http://127.0.0.1/"},
        {"http://017700000001/", "http://127.0.0.1/"},
        {"http://0177.0.0.0x1/", "http://127.0.0.1/"},
        {"http://127.0.0.1./", "http://127.0.0.1/"},
        {"http://127.1./", "http://127.0.0.1/"},
        {"http://0/", "http://0.0.0.0/"},
        {"http://0x/", "http://0.0.0.0/"},
        {"http://00000000000000000000000/", "http://0.0.0.0/"},
        {"http://4294967295/", "http://255.255.255.255/"},
        {"http://1.16777215/", "http://1.255.255.255/"},
        {"http://1.2.65535/", "http://1.2.255.255/"},
        {"http://100.10.99.9/", "http://100.10.99.9/"},
        {"http://u:p@010.1/", "http://8.0.0.1/"},
        {"http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"},
        {"http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"},
        {"http://[0:0:0:0:0:0:0:0]/", "http://[::]/"},
        {"http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/"},
        {"http://[1:0:0:2:3:0:0:4]/", "http://[1::2:3:0:0:4]/"},
        {"http://[1:0:2:3:4:5:6:7]/", "http://[1:0:2:3:4:5:6:7]/"},
        {"http://[0001:0020:0300:4000:5:6:0::]/", "http://[1:20:300:4000:5:6::]/"},
        {"http://[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]/",
         "http://[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/"},
        /* Names: their last labels are no numbers. */
        {"http://1.2.3.example/", "http://1.2.3.example/"},
        {"http://0xg/", "http://0xg/"},
        {"http://1a/", "http://1a/"},
        {"http://1.2.3.4a/", "http://1.2.3.4a/"},
        {"http://127.0.0.1../", "http://127.0.0.1../"},
        {"http://1.-1/", "http://1.-1/"},
    };
    check_parsed(cases, COUNT_OF(cases));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__url url, below;
        check_status(afc__url_parse(&url, afc_slice_of(cases[i].given), NULL), AFC_OK);
        check_status(afc__url_resolve(&below, &url, S("/x"), NULL), AFC_OK);
        assert_true(afc__url_same_origin(&url, &below));
        check_slice(below.path, "/x");
        afc__url_clear(&below);
        afc__url_clear(&url);
    }
}

static void escapes_characters_that_urls_exclude(void **state) {
    (void)state;
    static const parsed cases[] = {
        {"http://h/a b", "http://h/a%20b"},
        {"http://h/?a b", "http://h/?a%20b"},
        {"http://h/\xC3\xA4?\xE2\x82\xAC", "http://h/%C3%A4?%E2%82%AC"},
        {"http://h/\xFF?\x80", "http://h/%FF?%80"},
        {"http://h/\"<>^`{|}", "http://h/%22%3C%3E%5E%60%7B%7C%7D"},
        {"http://h/a\\b?c\\d", "http://h/a%5Cb?c%5Cd"},
        {"http://h/%20%zz%%2", "http://h/%20%zz%%2"},
        {"http://h/%2e%2E/%2F", "http://h/%2e%2E/%2F"},
        {"http://h/a[]?b[]=1", "http://h/a[]?b[]=1"},
        {"http://h/-._~!$&'()*+,;=:@", "http://h/-._~!$&'()*+,;=:@"},
    };
    check_parsed(cases, COUNT_OF(cases));
}

static void removes_dot_segments(void **state) {
    (void)state;
    static const parsed cases[] = {
        {"http://h/.", "http://h/"},
        {"http://h/..", "http://h/"},
        {"http://h/../../..", "http://h/"},
        {"http://h/a/.", "http://h/a/"},
        {"http://h/a/..", "http://h/"},
        {"http://h/a/b/../..", "http://h/"},
        {"http://h/a/./b", "http://h/a/b"},
        {"http://h/a/../b", "http://h/b"},
        {"http://h//..", "http://h/"},
        {"http://h/a//../b", "http://h/a/b"},
        {"http://h/.a/..b/...", "http://h/.a/..b/..."},
        {"http://h/a/../../b/", "http://h/b/"},
        {"http://h//", "http://h//"},
        {"http://h/.//x", "http://h//x"},
        {"http://h/a/b/c/./../../g", "http://h/a/g"},
        {"http://h/?a/../b", "http://h/?a/../b"},
    };
    check_parsed(cases, COUNT_OF(cases));
}

static void parts_point_into_the_text(void **state) {
    (void)state;
    afc__url url;
    check_status(afc__url_parse(&url, S("https://a%20:b@[FE80::1]:8443/x/y?q=1#f"), NULL), AFC_OK);
    assert_true(url.is_https);
    check_slice(url.host, "fe80::1");
    assert_int_equal(url.port, 8443);
    check_slice(url.path, "/x/y");
    check_slice(url.query, "q=1");
    assert_string_equal(url.userinfo, "a%20:b");
    assert_ptr_equal(url.host.bytes, url.text + strlen("https://["));
    assert_ptr_equal(url.query.bytes, strchr(url.text, '?') + 1);
    afc__url_clear(&url);
    assert_null(url.text);
    afc__url_clear(&url);
}

static void absent_query_differs_from_empty_query(void **state) {
    (void)state;
    afc__url url;
    check_status(afc__url_parse(&url, S("http://h/"), NULL), AFC_OK);
    assert_null(url.query.bytes);
    assert_null(url.userinfo);
    assert_int_equal(url.port, 80);
    afc__url_clear(&url);
    check_status(afc__url_parse(&url, S("https://h?"), NULL), AFC_OK);
    assert_non_null(url.query.bytes);
    assert_int_equal(url.query.size, 0);
    assert_int_equal(url.port, 443);
    afc__url_clear(&url);
}

/* ---- Refusing ------------------------------------------------------------------------------ */

static const struct {
    afc_slice given;
    const char *reason;
} refused[] = {
    {{NULL, 0}, "no scheme"},
    {S_INIT(""), "no scheme"},
    {S_INIT("example.org/"), "no scheme"},
    {S_INIT("//example.org/"), "no scheme"},
    {S_INIT("/a"), "no scheme"},
    {S_INIT("://h/"), "no scheme"},
    {S_INIT("1http://h/"), "no scheme"},
    {S_INIT(" http://h/"), "no scheme"},
    {S_INIT("ftp://h/"), "\"ftp\""},
    {S_INIT("file:///etc/passwd"), "\"file\""},
    {S_INIT("javascript:alert(1)"), "\"javascript\""},
    {S_INIT("httpsx://h/"), "\"httpsx\""},
    {S_INIT("http"), "no scheme"},
    {S_INIT("http:"), "no host"},
    {S_INIT("http:g"), "no host"},
    {S_INIT("http:/h/"), "no host"},
    {S_INIT("http://"), "no host"},
    {S_INIT("http:///path"), "no host"},
    {S_INIT("http://?q"), "no host"},
    {S_INIT("http://:80/"), "no host"},
    {S_INIT("http://user@/"), "no host"},
    {S_INIT("http://user@:80/"), "no host"},
    {S_INIT("http://h:0/"), "port in the URL: expected a number from 1 to 65535"},
    {S_INIT("http://h:65536/"), "port"},
    {S_INIT("http://h:99999999999999999999/"), "port"},
    {S_INIT("http://h:-1/"), "port"},
    {S_INIT("http://h:80a/"), "port"},
    {S_INIT("http://h:80:80/"), "port"},
    {S_INIT("http://h: 80/"), "port"},
    {S_INIT("http://[::1/"), "bracket"},
    {S_INIT("http://[::1]x/"), "bracket"},
    {S_INIT("http://[]/"), "IPv6"},
    {S_INIT("http://[1.2.3.4]/"), "IPv6"},
    {S_INIT("http://[fe80::1%25eth0]/"), "IPv6 zones"},
    {S_INIT("http://[fe80::1%eth0]/"), "IPv6 zones"},
    {S_INIT("http://[v1.x]/"), "IPv6"},
    {S_INIT("http://::1/"), "no host"},
    {S_INIT("http://h]/"), "']'"},
    {S_INIT("http://a b/"), "' '"},
    {S_INIT("http://a%41/"), "'%'"},
    {S_INIT("http://a<b/"), "'<'"},
    {S_INIT("http://a\"b/"), "'\"'"},
    {S_INIT("http://a^b/"), "'^'"},
    {S_INIT("http://a|b/"), "'|'"},
    {S_INIT("http://{a}/"), "'{'"},
    {S_INIT("http://a,b/"), "','"},
    {S_INIT("http://1.2.3.4.5/"), "IPv4"},
    {S_INIT("http://256.1.1.1/"), "IPv4"},
    {S_INIT("http://1.2.3.256/"), "IPv4"},
    {S_INIT("http://1.16777216/"), "IPv4"},
    {S_INIT("http://4294967296/"), "IPv4"},
    {S_INIT("http://99999999999999999999999999/"), "IPv4"},
    {S_INIT("http://0x100000000/"), "IPv4"},
    {S_INIT("http://08.0.0.1/"), "IPv4"},
    {S_INIT("http://1..2/"), "IPv4"},
    {S_INIT("http://.1/"), "IPv4"},
    {S_INIT("http://example.1/"), "IPv4"},
    {S_INIT("http://example.0x1./"), "IPv4"},
    {S_INIT("http://good.example\\@evil.example/"), "backslash"},
    {S_INIT("http://h\\a/"), "backslash"},
    {S_INIT("http://h/a\rb"), "control"},
    {S_INIT("http://h/a\nHost: x"), "control"},
    {S_INIT("http://h/\ta"), "control"},
    {S_INIT("http://h/\x7F"), "control"},
    {S_INIT("http://h/a\0b"), "control"},
    {S_INIT("http://h\0.example/"), "control"},
    {S_INIT("http://u\n@h/"), "control"},
    {S_INIT("http://h/#\x01"), "control"},
};

static void refuses_invalid_urls_with_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        afc__url url = {.port = 7};
        afc_failure failure;
        if (afc__url_parse(&url, refused[i].given, &failure) != AFC_EINVAL) {
            fail_msg("taken: %.*s", (int)refused[i].given.size, refused[i].given.bytes);
        }
        check_status(failure.status, AFC_EINVAL);
        check_contains(failure.text, refused[i].reason);
        assert_null(url.text);
        assert_int_equal(url.port, 0);
    }
}

static void reasons_never_show_userinfo(void **state) {
    (void)state;
    static const char *const urls[] = {
        "http://name:secret@/",      "http://name:secret@h:x/",  "http://name:secret@a b/",
        "ftp://name:secret@h/",      "http://name:secret@[::1/", "http://name:secret@h\\/",
        "http://name:secret@h/\x01", "http://name:sec@ret@h:0/",
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        afc__url url;
        afc_failure failure;
        check_status(afc__url_parse(&url, afc_slice_of(urls[i]), &failure), AFC_EINVAL);
        assert_null(strstr(failure.text, "name"));
        assert_null(strstr(failure.text, "sec"));
    }
}

static void host_follows_the_last_at_sign(void **state) {
    (void)state;
    afc__url url;
    check_status(afc__url_parse(&url, S("http://good.example@x@evil.example/@z"), NULL), AFC_OK);
    check_slice(url.host, "evil.example");
    assert_string_equal(url.userinfo, "good.example@x");
    assert_string_equal(url.text, "http://evil.example/@z");
    afc__url_clear(&url);
    check_status(afc__url_parse(&url, S("http://h?a@b"), NULL), AFC_OK);
    check_slice(url.host, "h");
    afc__url_clear(&url);
}

static void limits_the_length_of_urls(void **state) {
    (void)state;
    static const char start[] = "http://h/";
    char *text = malloc(AFC__URL_MAX + 2);
    assert_non_null(text);
    memset(text, 'a', AFC__URL_MAX + 2);
    memcpy(text, start, sizeof start - 1);
    afc__url url;
    afc_failure failure;
    afc_slice longest = {text, AFC__URL_MAX}, longer = {text, AFC__URL_MAX + 1};
    check_status(afc__url_parse(&url, longest, &failure), AFC_OK);
    afc__url_clear(&url);
    check_status(afc__url_parse(&url, longer, &failure), AFC_EINVAL);
    check_contains(failure.text, "65536");
    text[100] = ' ';
    check_status(afc__url_parse(&url, longest, &failure), AFC_EINVAL);
    check_contains(failure.text, "percent-encoding");
    free(text);
}

static void limits_the_length_of_hosts(void **state) {
    (void)state;
    char text[7 + AFC__HOST_MAX + 1];
    memset(text, 'a', sizeof text);
    memcpy(text, "http://", 7);
    afc__url url;
    check_status(afc__url_parse(&url, (afc_slice){text, sizeof text - 1}, NULL), AFC_OK);
    afc__url_clear(&url);
    check_status(afc__url_parse(&url, (afc_slice){text, sizeof text}, NULL), AFC_EINVAL);
}

static void recognises_ipv6_addresses(void **state) {
    (void)state;
    static const char *const valid[] = {
        "::",
        "::1",
        "1::",
        "1::8",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "fe80::ABCD:ef01",
        "::ffff:1.2.3.4",
        "1:2:3:4:5:6:255.255.255.255",
        "64:ff9b::192.0.2.33",
        "::1.2.3.4",
    };
    static const char *const invalid[] = {
        "",
        ":",
        ":::",
        "1",
        ":1",
        "1:",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1::2::3",
        "::1:",
        "12345::",
        "g::",
        "1:2:3:4:5:6:7:1.2.3.4",
        "::1.2.3",
        "::1.2.3.256",
        "::1.2.3.04",
        "::1.2.3.4.5",
        "::1.2.3.4:5",
        "1:2:3:4::5:6:7:8",
        "1.2.3.4",
        "::1%eth0",
        "::1 ",
        "::1.2.3.",
    };
    for (size_t i = 0; i < COUNT_OF(valid); i++) {
        if (!afc__is_ipv6(afc_slice_of(valid[i]))) fail_msg("refused: %s", valid[i]);
    }
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        if (afc__is_ipv6(afc_slice_of(invalid[i]))) fail_msg("taken: %s", invalid[i]);
    }
}

/* ---- Resolving ----------------------------------------------------------------------------- */

typedef struct resolved {
    const char *reference, *text; /**< NULL: refused. */
} resolved;

static void check_resolved(const char *base_text, const resolved *cases, size_t count) {
    afc__url base;
    check_status(afc__url_parse(&base, afc_slice_of(base_text), NULL), AFC_OK);
    for (size_t i = 0; i < count; i++) {
        afc__url url;
        afc_failure failure;
        afc_status status = afc__url_resolve(&url, &base, afc_slice_of(cases[i].reference),
                                             &failure);
        if (cases[i].text == NULL) {
            check_status(status, AFC_EINVAL);
            assert_null(url.text);
            continue;
        }
        if (status != AFC_OK) fail_msg("%s: %s", cases[i].reference, failure.text);
        assert_string_equal(url.text, cases[i].text);
        afc__url_clear(&url);
    }
    afc__url_clear(&base);
}

static void resolves_the_normal_examples_of_rfc_3986(void **state) {
    (void)state;
    static const resolved cases[] = {
        {"g:h", NULL}, /* Another scheme. */
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
    };
    check_resolved("http://a/b/c/d;p?q", cases, COUNT_OF(cases));
}

static void resolves_the_abnormal_examples_of_rfc_3986(void **state) {
    (void)state;
    static const resolved cases[] = {
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g"},
        {"g#s/../x", "http://a/b/c/g"},
        {"http:g", NULL}, /* Strict: a URL without host. */
    };
    check_resolved("http://a/b/c/d;p?q", cases, COUNT_OF(cases));
}

static void resolves_references_as_servers_send_them(void **state) {
    (void)state;
    static const resolved cases[] = {
        {"https://other.example:444/x", "https://other.example:444/x"},
        {"//other.example:8443/x?y", "https://other.example:8443/x?y"},
        {"//u:p@other.example", "https://other.example/"},
        {"///path", NULL},
        {"//", NULL},
        {"\\\\evil.example/x", "https://[::1]:8443/dir/%5C%5Cevil.example/x"},
        {"/\\evil.example", "https://[::1]:8443/%5Cevil.example"},
        {"//good.example\\@evil.example", NULL},
        {"a b?c d", "https://[::1]:8443/dir/a%20b?c%20d"},
        {"/\xC3\xBC", "https://[::1]:8443/%C3%BC"},
        {"/.//x", "https://[::1]:8443//x"},
        {"?", "https://[::1]:8443/dir/file?"},
        {"x:y", NULL},
        {"./x:y", "https://[::1]:8443/dir/x:y"},
        {"/x\ty", NULL},
        {"HTTP://H:80", "http://h/"},
    };
    check_resolved("https://[::1]:8443/dir/file?old", cases, COUNT_OF(cases));
    static const resolved bare[] = {{"g", "http://a/g"}, {"", "http://a/"}, {"?y", "http://a/?y"}};
    check_resolved("http://a", bare, COUNT_OF(bare));
}

static void userinfo_is_dropped_for_another_server(void **state) {
    (void)state;
    afc__url base, url;
    check_status(afc__url_parse(&base, S("http://u:p@a/b"), NULL), AFC_OK);
    check_status(afc__url_resolve(&url, &base, S("/c"), NULL), AFC_OK);
    assert_string_equal(url.userinfo, "u:p");
    afc__url_clear(&url);
    check_status(afc__url_resolve(&url, &base, S("//a/c"), NULL), AFC_OK);
    assert_null(url.userinfo);
    afc__url_clear(&url);
    check_status(afc__url_resolve(&url, &base, S("http://v@x/"), NULL), AFC_OK);
    assert_string_equal(url.userinfo, "v");
    afc__url_clear(&url);
    afc__url_clear(&base);
}

/* ---- Another host -------------------------------------------------------------------------- */

static void reference_with_host_keeps_no_part_of_the_base(void **state) {
    (void)state;
    static const char *const hosts[] = {"a@b", "@b", "a:b@c", "a/b", "a?b", "a#b", "a:1", ""};
    afc__url url;
    check_status(afc__url_parse(&url, afc_slice_of("http://u:p@h:81/x?y"), NULL), AFC_OK);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        check_status(afc__url_set_host(&url, afc_slice_of(hosts[i]), NULL), AFC_EINVAL);
        assert_string_equal(url.text, "http://h:81/x?y");
        assert_string_equal(url.userinfo, "u:p");
    }
    check_status(afc__url_set_host(&url, afc_slice_of("i"), NULL), AFC_OK);
    assert_string_equal(url.text, "http://i:81/x?y");
    assert_string_equal(url.userinfo, "u:p");
    afc__url_clear(&url);
}

/* ---- Comparing and running out of memory ----------------------------------------------------- */

static void origin_is_scheme_host_and_port(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"http://h/a", "http://h/b?c", true},        {"http://H/", "http://h:80/", true},
        {"http://h./", "http://h/", true},           {"http://u:p@h/", "http://h/", true},
        {"http://[::1]/", "http://[::1]:80/", true}, {"http://h/", "https://h/", false},
        {"http://h:443/", "https://h:443/", false},  {"http://h/", "http://h:8080/", false},
        {"http://h/", "http://h.example/", false},   {"http://h/", "http://i/", false},
        {"http://h../", "http://h/", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__url a, b;
        check_status(afc__url_parse(&a, afc_slice_of(cases[i].a), NULL), AFC_OK);
        check_status(afc__url_parse(&b, afc_slice_of(cases[i].b), NULL), AFC_OK);
        assert_int_equal(afc__url_same_origin(&a, &b), cases[i].same);
        assert_int_equal(afc__url_same_origin(&b, &a), cases[i].same);
        afc__url_clear(&a);
        afc__url_clear(&b);
    }
}

static void parsing_is_idempotent(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        afc__url base, url, again;
        check_status(afc__url_parse(&base, S("http://a/b/c?d"), NULL), AFC_OK);
        if (afc__url_resolve(&url, &base, refused[i].given, NULL) == AFC_OK) {
            check_status(afc__url_parse(&again, afc_slice_of(url.text), NULL), AFC_OK);
            assert_string_equal(again.text, url.text);
            afc__url_clear(&again);
            afc__url_clear(&url);
        }
        afc__url_clear(&base);
    }
}

static void out_of_memory_leaves_nothing(void **state) {
    (void)state;
    TORTURE(n) {
        afc__url base, url = {0};
        afc_failure failure;
        afc_status status = afc__url_parse(&base, S("http://u:p@h/a b"), &failure);
        if (status == AFC_OK) status = afc__url_resolve(&url, &base, S("../c d"), &failure);
        if (status == AFC_OK) {
            assert_string_equal(url.text, "http://h/c%20d");
        } else {
            check_status(status, AFC_ENOMEM);
            check_status(failure.status, AFC_ENOMEM);
            assert_null(url.text);
        }
        afc__url_clear(&url);
        afc__url_clear(&base);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalises_urls),
        cmocka_unit_test(omits_default_ports),
        cmocka_unit_test(writes_addresses_in_canonical_form),
        cmocka_unit_test(escapes_characters_that_urls_exclude),
        cmocka_unit_test(removes_dot_segments),
        cmocka_unit_test(parts_point_into_the_text),
        cmocka_unit_test(absent_query_differs_from_empty_query),
        cmocka_unit_test(refuses_invalid_urls_with_a_reason),
        cmocka_unit_test(reasons_never_show_userinfo),
        cmocka_unit_test(host_follows_the_last_at_sign),
        cmocka_unit_test(limits_the_length_of_urls),
        cmocka_unit_test(limits_the_length_of_hosts),
        cmocka_unit_test(recognises_ipv6_addresses),
        cmocka_unit_test(resolves_the_normal_examples_of_rfc_3986),
        cmocka_unit_test(resolves_the_abnormal_examples_of_rfc_3986),
        cmocka_unit_test(resolves_references_as_servers_send_them),
        cmocka_unit_test(userinfo_is_dropped_for_another_server),
        cmocka_unit_test(reference_with_host_keeps_no_part_of_the_base),
        cmocka_unit_test(origin_is_scheme_host_and_port),
        cmocka_unit_test(parsing_is_idempotent),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
