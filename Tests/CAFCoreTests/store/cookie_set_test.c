/* Cookies that programs set, addresses as their domains, and the limits of jars and of default paths. */
#include "base/alloc.h"
#include "store/cookie_jar.h"
#include "store/suffixes.h"
#include "support/check.h"
#include "support/jar.h"

#include <stdio.h>

static void refuses_invalid_cookies(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    static const struct {
        const char *name, *value, *domain, *path;
        bool is_host_only;
    } rows[] = {
        {NULL, "1", "x.test", "/", true},        {"a", "1", NULL, "/", true},
        {"a\r", "1", "x.test", "/", true},       {"a", "1\n", "x.test", "/", true},
        {"a", "1; Path=/", "x.test", "/", true}, {"a=b", "1", "x.test", "/", true},
        {"a", "1", "co.uk", "/", false},         {"a", "1", "X.test", "/", true},
        {"a", "1", ".x.test", "/", true},        {"a", "1", "x\t.test", "/", true},
        {"a", "1", "x.test", "y", true},         {"a", "1", "x.test", "/\n", true},
        {"__Host-a", "1", "x.test", "/", true},  {"a", "1", "10.0.0.1", "/", false},
        {"a\t", "1", "x.test", "/", true},       {"", "", "x.test", "/", true},
        {"a", "1", "1.2.3.4.5", "/", true},      {"a", "1", "10.1", "/", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_cookie cookie = AFC_COOKIE_INIT;
        afc_failure failure = {0};
        cookie.name = rows[i].name;
        cookie.value = rows[i].value;
        cookie.domain = rows[i].domain;
        cookie.path = rows[i].path;
        cookie.is_host_only = rows[i].is_host_only;
        check_status(afc_cookie_jar_set(jar, &cookie, &failure), AFC_EINVAL);
        assert_int_not_equal(strlen(failure.text), 0);
    }
    check_status(afc_cookie_jar_receive(jar, "ftp://x.test/", S("a=b"), NULL), AFC_EINVAL);
    check_status(afc_cookie_jar_receive(jar, "http://b\xc3\xbc.test/", S("a=b"), NULL), AFC_EINVAL);
    check_status(afc_cookie_jar_receive(jar, "http://x.test/", S("a=\1"), NULL), AFC_EINVAL);
    check_status(afc_cookie_jar_receive(jar, "http://x.test/", (afc_slice){NULL, 1}, NULL),
                 AFC_EINVAL);
    assert_int_equal(jar_count(jar, NULL), 0);
    afc_cookie_jar_release(jar);
}

static void stores_addresses_in_canonical_form(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"10.1", "http://10.0.0.1/"}, {"0xa.0.0.1", "http://10.0.1/"}, {"0:0::1", "http://[::1]/"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_cookie_jar *jar = jar_new();
        afc_cookie cookie = AFC_COOKIE_INIT;
        cookie.name = "a";
        cookie.value = "b";
        cookie.domain = rows[i][0];
        check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
        assert_int_equal(jar_count(jar, rows[i][1]), 1);
        afc_cookie_jar_release(jar);
    }
}

/** A URL has up to 64 KiB of path: 500 cookies with that default path would be too large to save. */
static void refuses_default_paths_beyond_the_limit_of_paths(void **state) {
    (void)state;
    static char url[AFC__COOKIE_ATTRIBUTE_MAX + 32] = "http://x.test/";
    afc_cookie_jar *jar = jar_new();
    size_t start = strlen("http://x.test");
    memset(url + start + 1, 'p', sizeof url - start - 1);
    url[start + AFC__COOKIE_ATTRIBUTE_MAX] = '/';
    url[start + AFC__COOKIE_ATTRIBUTE_MAX + 1] = '\0';
    check_status(afc_cookie_jar_receive(jar, url, S("a=b"), NULL), AFC_OK);
    url[start + AFC__COOKIE_ATTRIBUTE_MAX] = 'p';
    url[start + AFC__COOKIE_ATTRIBUTE_MAX + 1] = '/';
    url[start + AFC__COOKIE_ATTRIBUTE_MAX + 2] = '\0';
    afc_failure failure;
    check_status(afc_cookie_jar_receive(jar, url, S("c=d"), &failure), AFC_EINVAL);
    check_contains(failure.text, "path");
    check_status(afc_cookie_jar_receive(jar, url, S("e=f; Path=/"), NULL), AFC_OK);
    assert_int_equal(jar_count(jar, NULL), 2);
    afc_cookie_jar_release(jar);
}

/** A few redirects lead through as many names of one site as somebody likes. */
static void one_site_cannot_evict_cookies_of_others(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    check_status(afc_cookie_jar_receive(jar, "http://a.example.org/", S("mine=1"), NULL), AFC_OK);
    for (int host = 0; host < 40; host++) {
        for (int i = 0; i < 180; i++) {
            char url[64], line[32];
            snprintf(url, sizeof url, "http://h%d.evil.co.uk/", host);
            snprintf(line, sizeof line, "c%d=1", i);
            check_status(afc_cookie_jar_receive(jar, url, afc_slice_of(line), NULL), AFC_OK);
        }
    }
    assert_int_equal(jar_count(jar, "http://a.example.org/"), 1);
    /* As many as one request sends, of those that are left. */
    assert_int_equal(jar_count(jar, "http://h39.evil.co.uk/"), 150);
    assert_int_equal(jar_count(jar, NULL), 181);
    afc_cookie_jar_release(jar);
}

/** RFC 6265bis 5.7: among the cookies of a full site is the new one. */
static void cookies_over_http_evict_no_secure_ones(void **state) {
    (void)state;
    afc_cookie_jar *jar;
    afc_failure failure;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.max_cookies_per_site = 3;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    static const char *const secure[] = {"a=1; Secure", "b=1; Secure", "c=1; Secure"};
    for (size_t i = 0; i < 3; i++) {
        afc_slice line = afc_slice_of(secure[i]);
        check_status(afc_cookie_jar_receive(jar, "https://x.test/", line, NULL), AFC_OK);
    }
    static const char *const urls[] = {"http://x.test/", "http://sub.x.test/", "https://x.test/"};
    for (size_t i = 0; i < 3; i++) {
        check_status(afc_cookie_jar_receive(jar, urls[i], S("evil=1"), &failure), AFC_EINVAL);
        check_contains(failure.text, "full of Secure cookies");
    }
    assert_int_equal(jar_count(jar, "https://x.test/"), 3);
    /* Other sites have room, and so has what replaces one, or is Secure itself. */
    check_status(afc_cookie_jar_receive(jar, "http://y.test/", S("evil=1"), NULL), AFC_OK);
    check_status(afc_cookie_jar_receive(jar, "https://x.test/", S("a=2"), NULL), AFC_OK);
    check_status(afc_cookie_jar_receive(jar, "https://x.test/", S("d=1; Secure"), NULL), AFC_OK);
    assert_int_equal(jar_count(jar, "http://x.test/"), 0);
    assert_int_equal(jar_count(jar, "https://x.test/"), 3);
    /* Among Secure ones only, the least recently used goes. */
    check_status(afc_cookie_jar_receive(jar, "https://x.test/", S("e=1; Secure"), NULL), AFC_OK);
    check_status(afc_cookie_jar_receive(jar, "https://x.test/", S("f=1; Secure"), NULL), AFC_OK);
    assert_int_equal(jar_count(jar, "https://x.test/"), 3);
    afc_cookie_jar_release(jar);
}

static void receive_numbered(afc_cookie_jar *jar, const char *url, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        char line[32];
        snprintf(line, sizeof line, "c%u=1", i);
        check_status(afc_cookie_jar_receive(jar, url, afc_slice_of(line), NULL), AFC_OK);
    }
}

/** The jar has both in one place, as the public suffix above them is below a domain that is none. */
static void sites_below_one_root_have_their_own_limits(void **state) {
    (void)state;
    static const char first[] = "http://a.s3.amazonaws.com/",
                      second[] = "http://b.s3.amazonaws.com/";
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.max_cookies_per_site = 2;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    check_slice(afc__suffixes_root("a.s3.amazonaws.com"), "amazonaws.com");
    receive_numbered(jar, first, 2);
    receive_numbered(jar, second, 3);
    assert_int_equal(jar_count(jar, first), 2);
    assert_int_equal(jar_count(jar, second), 2);
    afc_cookie_jar_release(jar);
}

static void jar_that_cannot_grow_keeps_its_cookies(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    for (unsigned i = 0; i < AFC__COOKIE_FIRST_BUCKETS; i++) {
        char url[32];
        snprintf(url, sizeof url, "http://s%u.test/", i);
        receive_numbered(jar, url, 1);
    }
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
        afc__alloc_fail_at(n);
        afc_status status = afc_cookie_jar_receive(jar, "http://last.test/", S("c=1"), NULL);
        has_failed = afc__alloc_fail_at(0) >= n;
        assert_true(status == AFC_OK || (status == AFC_ENOMEM && has_failed));
        assert_int_equal(jar->bucket_count, AFC__COOKIE_FIRST_BUCKETS * (has_failed ? 1 : 2));
        for (unsigned i = 0; i < AFC__COOKIE_FIRST_BUCKETS; i++) {
            char url[32];
            snprintf(url, sizeof url, "http://s%u.test/", i);
            assert_int_equal(jar_count(jar, url), 1);
        }
        assert_int_equal(afc_cookie_jar_remove(jar, NULL, "last.test", NULL), status == AFC_OK);
    }
    afc_cookie_jar_release(jar);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_invalid_cookies),
        cmocka_unit_test(stores_addresses_in_canonical_form),
        cmocka_unit_test(refuses_default_paths_beyond_the_limit_of_paths),
        cmocka_unit_test(one_site_cannot_evict_cookies_of_others),
        cmocka_unit_test(cookies_over_http_evict_no_secure_ones),
        cmocka_unit_test(sites_below_one_root_have_their_own_limits),
        cmocka_unit_test(jar_that_cannot_grow_keeps_its_cookies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
