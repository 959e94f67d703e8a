/* Cookies: how lines are read, what a jar keeps, replaces, gives up and sends. */
#include "base/alloc.h"
#include "message/host.h"
#include "store/cookie_jar.h"
#include "store/suffixes.h"
#include "support/check.h"
#include "support/files.h"
#include "support/jar.h"
#include "support/torture.h"

#include <stdio.h>
#include <time.h>

/** The time in the tests that have a clock. */
enum { NOW = 1000000 };

static afc__cookie_site site_of(const char *url) {
    bool is_secure = strncmp(url, "https://", 8) == 0;
    static char host[256];
    const char *start = url + (is_secure ? 8 : 7), *slash = strchr(start, '/');
    afc__authority authority;
    afc_slice text = {start, (size_t)(slash - start)};
    check_status(afc__authority_split(&authority, text, NULL), AFC_OK);
    size_t size = afc__authority_write_host(&authority, host);
    if (host[size - 1] == '.') size--;
    host[size] = '\0';
    return (afc__cookie_site){host, afc_slice_of(slash), is_secure};
}

static afc_status keep(afc_cookie_jar *jar, const char *url, const char *line) {
    const char *why;
    afc__cookie_site site = site_of(url);
    afc_status status = afc__cookie_jar_keep(jar, &site, afc_slice_of(line), NOW, &why);
    if (status == AFC_EINVAL) assert_non_null(why);
    return status;
}

static void check_sent(afc_cookie_jar *jar, const char *url, int64_t now, const char *expected) {
    char *sent;
    afc__cookie_site site = site_of(url);
    check_status(afc__cookie_jar_write(jar, &site, now, (afc_slice){0}, &sent), AFC_OK);
    if (strcmp(sent != NULL ? sent : "", expected) != 0) print_error("%s: %s\n", url, sent);
    assert_string_equal(sent != NULL ? sent : "", expected);
    afc_free(sent);
}

/** What is sent to `to` when `from` has set `line`; "" if nothing is. */
static void check_way(const char *from, const char *line, const char *to, const char *expected) {
    afc_cookie_jar *jar = jar_new();
    afc_status status = keep(jar, from, line);
    assert_true(status == AFC_OK || status == AFC_EINVAL);
    check_sent(jar, to, NOW, expected);
    afc_cookie_jar_release(jar);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void reads_cookie_dates_in_any_format(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds; /**< -1: none. */
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"6 nov 1994 8:49:37", 784111777},
        {"06[Nov`1994{08:49:37~", 784111777},
        {"08:49:37 1994 november 06", 784111777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"01 Jan 69 00:00:00", 3124224000},
        {"01 Jan 70 00:00:00", 0},
        {"01 Jan 99 00:00:00", 915148800},
        {"29 Feb 2000 00:00:00", 951782400},
        {"01 Jan 1601 00:00:00", -11644473600},
        {"29 Feb 1900 00:00:00", -1},
        {"31 Apr 2000 00:00:00", -1},
        {"06 Nov 1600 08:49:37", -1},
        {"06 Nov 1994 24:00:00", -1},
        {"06 Nov 1994 08:60:37", -1},
        {"06 Nov 1994 08:49", -1},
        {"06 Nov 1994", -1},
        {"0 Nov 1994 08:49:37", -1},
        {"32 Nov 1994 08:49:37", -1},
        {"06 Xyz 1994 08:49:37", -1},
        {"", -1},
        {"99999999999999999999", -1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t seconds = -1;
        bool is_date = afc__cookie_date(afc_slice_of(rows[i].text), &seconds);
        if (is_date != (rows[i].seconds != -1)) print_error("%s\n", rows[i].text);
        assert_int_equal(is_date, rows[i].seconds != -1);
        if (is_date) assert_int_equal(seconds, rows[i].seconds);
    }
}

static void parses_set_cookie_lines(void **state) {
    (void)state;
    static const struct {
        const char *line, *name, *value, *domain, *path;
        int64_t expires_s;
        bool is_secure, is_http_only;
        afc_same_site same_site;
    } rows[] = {
        {"a=b", "a", "b", "", "", AFC_COOKIE_SESSION, false, false, AFC_SAME_SITE_UNSET},
        {"a = b ; Secure;HttpOnly", "a", "b", "", "", AFC_COOKIE_SESSION, true, true, 0},
        {"a=\"b c\"; SAMESITE=lax", "a", "\"b c\"", "", "", AFC_COOKIE_SESSION, 0, 0,
         AFC_SAME_SITE_LAX},
        {"a=b=c; samesite=Strict", "a", "b=c", "", "", AFC_COOKIE_SESSION, 0, 0,
         AFC_SAME_SITE_STRICT},
        {"a=; SameSite=None; SameSite=x", "a", "", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"=b", "", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"b", "", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Domain=.Ex.Test; Path=/x", "a", "b", "Ex.Test", "/x", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Path=x; Domain=", "a", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Path=/x; Path=", "a", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Max-Age=10", "a", "b", "", "", NOW + 10, 0, 0, 0},
        {"a=b; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a", "b", "", "", NOW + 10, 0, 0,
         0},
        {"a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a", "b", "", "", 0, 0, 0, 0},
        {"a=b; Max-Age=0", "a", "b", "", "", 0, 0, 0, 0},
        {"a=b; Max-Age=-5", "a", "b", "", "", 0, 0, 0, 0},
        {"a=b; Max-Age=1x", "a", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Max-Age=", "a", "b", "", "", AFC_COOKIE_SESSION, 0, 0, 0},
        {"a=b; Max-Age=99999999999999999999999999", "a", "b", "", "", NOW + AFC__COOKIE_LIFE_MAX, 0,
         0, 0},
        {"a=b; Expires=Sun, 06 Nov 2094 08:49:37 GMT", "a", "b", "", "", NOW + AFC__COOKIE_LIFE_MAX,
         0, 0, 0},
        {"a=b;;;=;Secure=no", "a", "b", "", "", AFC_COOKIE_SESSION, true, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__cookie_line read;
        const char *why = NULL;
        assert_true(afc__cookie_read(&read, afc_slice_of(rows[i].line), NOW, &why));
        check_slice(read.name, rows[i].name);
        check_slice(read.value, rows[i].value);
        check_slice(read.domain, rows[i].domain);
        check_slice(read.path, rows[i].path);
        assert_int_equal(read.expires_s, rows[i].expires_s);
        assert_int_equal(read.is_secure, rows[i].is_secure);
        assert_int_equal(read.is_http_only, rows[i].is_http_only);
        assert_int_equal(read.same_site, rows[i].same_site);
    }
}

/** S17: control bytes and sizes. */
static void refuses_invalid_set_cookie_lines(void **state) {
    (void)state;
    afc__cookie_line read;
    const char *why;
    static char large[AFC__COOKIE_MAX + 3];
    memset(large, 'a', sizeof large);
    large[1] = '=';
    assert_true(afc__cookie_read(&read, (afc_slice){large, sizeof large - 2}, NOW, &why));
    assert_true(afc__cookie_read(&read, (afc_slice){large, sizeof large - 1 - 1}, NOW, &why));
    assert_false(afc__cookie_read(&read, (afc_slice){large, sizeof large}, NOW, &why));
    const afc_slice rows[] = {S(""),       S("="),       S(" ; Secure"), S("a=\0b"),
                              S("a\1=b"),  S("a=b\x7f"), S("a=b\r\nc"),  S("a=b; Path=/\1"),
                              S("a=b\x1b")};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(afc__cookie_read(&read, rows[i], NOW, &why));
        assert_non_null(why);
    }
    assert_true(afc__cookie_read(&read, S("a=b\tc"), NOW, &why));
    /* An attribute that is too long isn't heeded. */
    static char path[2000] = "a=b; Path=/";
    memset(path + 11, 'x', sizeof path - 11);
    assert_true(afc__cookie_read(&read, (afc_slice){path, sizeof path}, NOW, &why));
    check_slice(read.path, "");
}

/* ---- Which go where ------------------------------------------------------------------------ */

/** S16, S18: names that only end alike, and paths that only begin alike. */
static void sends_cookies_by_domain_path_and_scheme(void **state) {
    (void)state;
    static const char *const rows[][4] = {
        {"http://example.test/", "a=b", "http://example.test/", "a=b"},
        {"http://example.test/", "a=b", "https://example.test/x", "a=b"},
        {"http://example.test/", "a=b", "http://www.example.test/", ""},
        {"http://example.test/", "a=b; Domain=example.test", "http://www.example.test/", "a=b"},
        {"http://example.test/", "a=b; Domain=.EXAMPLE.test", "http://a.b.example.test/", "a=b"},
        {"http://www.example.test/", "a=b; Domain=example.test", "http://example.test/", "a=b"},
        {"http://example.test/", "a=b; Domain=example.test", "http://notexample.test/", ""},
        {"http://notexample.test/", "a=b; Domain=example.test", "http://example.test/", ""},
        {"http://notexample.test/", "a=b; Domain=example.test", "http://notexample.test/", ""},
        {"http://example.test/", "a=b; Domain=www.example.test", "http://www.example.test/", ""},
        {"http://example.test/", "a=b; Domain=other.test", "http://other.test/", ""},
        {"http://example.test/", "a=b; Domain=example.test.", "http://www.example.test/", ""},
        {"http://example.test/", "a=b; Domain=example.test.", "http://example.test/", ""},
        {"http://example.test./", "a=b; Domain=example.test.", "http://example.test./", ""},
        {"http://10.0.1/", "a=b", "http://0xa.0.0.1/", "a=b"},
        {"http://167772161/", "a=b", "http://10.0.0.1./", "a=b"},
        {"http://10.0.1/", "a=b; Domain=0.1", "http://11.0.0.1/", ""},
        {"http://10.0.1/", "a=b; Domain=10.0.1", "http://10.0.0.1/", ""},
        {"http://10.0.0.1/", "a=b", "http://10.0.0.1/", "a=b"},
        {"http://10.0.0.1/", "a=b; Domain=10.0.0.1", "http://10.0.0.1/", "a=b"},
        {"http://10.0.0.1/", "a=b; Domain=0.0.1", "http://11.0.0.1/", ""},
        {"http://10.0.0.1/", "a=b; Domain=0.0.1", "http://10.0.0.1/", ""},
        {"http://x/a/b", "a=b", "http://x/a/c", "a=b"},
        {"http://x/a/b", "a=b", "http://x/a", "a=b"},
        {"http://x/a/b", "a=b", "http://x/ab", ""},
        {"http://x/a/b", "a=b", "http://x/", ""},
        {"http://x/a/b", "a=b; Path=/", "http://x/c", "a=b"},
        {"http://x/", "a=b; Path=/a", "http://x/a", "a=b"},
        {"http://x/", "a=b; Path=/a", "http://x/a/", "a=b"},
        {"http://x/", "a=b; Path=/a", "http://x/ab", ""},
        {"http://x/", "a=b; Path=/a/", "http://x/a", ""},
        {"http://x/", "a=b; Path=/A", "http://x/a", ""},
        {"http://x/", "a=b; Path=\"/\"", "http://x/y", "a=b"},
        {"http://x/", "a=b; Path=//", "http://x/", ""},
        {"http://x/a", "a=b; Path=/x\ty", "http://x/c", "a=b"},
        {"https://x/", "a=b; Secure", "https://x/", "a=b"},
        {"https://x/", "a=b; Secure", "http://x/", ""},
        {"http://x/", "a=b; Secure", "https://x/", ""},
        {"http://x/", "=b", "http://x/", "b"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_way(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
    }
}

/** S14. */
static void refuses_cookies_for_public_suffixes(void **state) {
    (void)state;
    static const char *const rows[][4] = {
        {"http://a.co.uk/", "a=b; Domain=co.uk", "http://b.co.uk/", ""},
        {"http://a.co.uk/", "a=b; Domain=CO.UK", "http://b.co.uk/", ""},
        {"http://a.co.uk/", "a=b; Domain=co.uk.", "http://b.co.uk/", ""},
        {"http://a.co.uk/", "a=b; Domain=.co.uk", "http://a.co.uk/", ""},
        {"http://a.com/", "a=b; Domain=com", "http://b.com/", ""},
        {"http://a.test/", "a=b; Domain=test", "http://b.test/", ""},
        {"http://a.xn--fiqs8s/", "a=b; Domain=xn--fiqs8s", "http://b.xn--fiqs8s/", ""},
        {"http://a.co.uk/", "a=b; Domain=co.uk", "http://co.uk/", ""},
        {"http://a.co.uk/", "a=b; Domain=.CO.UK", "http://co.uk/", ""},
        {"http://a.test/", "a=b; Domain=test", "http://test/", ""},
        {"http://a.xn--fiqs8s/", "a=b; Domain=xn--fiqs8s", "http://xn--fiqs8s/", ""},
        /* A suffix may set some for itself, and for no host below. */
        {"http://co.uk/", "a=b; Domain=co.uk", "http://co.uk/", "a=b"},
        {"http://co.uk/", "a=b; Domain=co.uk", "http://a.co.uk/", ""},
        {"http://localhost/", "a=b; Domain=localhost", "http://localhost/", "a=b"},
        {"http://a.b.co.uk/", "a=b; Domain=b.co.uk", "http://c.b.co.uk/", "a=b"},
    };
    assert_true(afc__suffixes_are_known());
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_way(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
    }
    afc_cookie_jar *jar = jar_new();
    check_status(keep(jar, "http://a.co.uk/", "a=b; Domain=co.uk"), AFC_EINVAL);
    afc_cookie_jar_release(jar);
    assert_true(afc__is_same_site("a.b.co.uk", "b.co.uk"));
    assert_true(afc__is_same_site("10.0.0.1", "10.0.0.1"));
    assert_false(afc__is_same_site("a.co.uk", "b.co.uk"));
    assert_false(afc__is_same_site("10.0.0.1", "11.0.0.1"));
    assert_false(afc__is_same_site("co.uk", "a.co.uk"));
}

/** S15. */
static void http_cannot_replace_or_shadow_secure_cookies(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    check_status(
        keep(jar, "https://www.example.test/a/b", "id=secret; Secure; Domain=example.test"),
        AFC_OK);
    check_status(keep(jar, "http://www.example.test/a/b", "id=evil; Domain=example.test"),
                 AFC_EINVAL);
    check_status(keep(jar, "http://www.example.test/a/b", "id=evil; Path=/a/b"), AFC_EINVAL);
    check_status(keep(jar, "http://example.test/a/b", "id=; Domain=example.test; Max-Age=0"),
                 AFC_EINVAL);
    check_status(keep(jar, "http://example.test/a", "id=other; Path=/"), AFC_OK);
    check_status(keep(jar, "http://example.test/a", "other=1"), AFC_OK);
    check_sent(jar, "https://www.example.test/a/b", NOW, "id=secret");
    check_status(keep(jar, "https://www.example.test/a/b", "id=new; Domain=example.test"), AFC_OK);
    check_sent(jar, "http://www.example.test/a/b", NOW, "id=new");
    /* One that has expired protects nothing, also while it is still there. */
    check_status(keep(jar, "https://old.test/", "sid=1; Secure; Max-Age=1"), AFC_OK);
    check_status(keep(jar, "http://old.test/", "sid=2"), AFC_EINVAL);
    const char *why;
    afc__cookie_site site = site_of("http://old.test/");
    check_status(afc__cookie_jar_keep(jar, &site, S("sid=2"), NOW + 2, &why), AFC_OK);
    check_sent(jar, "http://old.test/", NOW + 2, "sid=2");
    /* A public suffix is a site of its own, but not apart from what is below it. */
    check_status(keep(jar, "https://co.uk/", "up=1; Secure"), AFC_OK);
    check_status(keep(jar, "http://a.b.co.uk/", "up=2"), AFC_EINVAL);
    check_status(keep(jar, "https://a.b.co.uk/", "down=1; Secure"), AFC_OK);
    check_status(keep(jar, "http://co.uk/", "down=2"), AFC_EINVAL);
    check_status(keep(jar, "http://b.co.uk/", "down=2"), AFC_EINVAL);
    check_status(keep(jar, "http://c.co.uk/", "down=2"), AFC_OK);
    /* Nor is one that has a registrable domain above it. */
    assert_true(afc__is_public_suffix("s3.amazonaws.com"));
    assert_false(afc__is_public_suffix("amazonaws.com"));
    check_status(keep(jar, "https://a.s3.amazonaws.com/", "deep=1; Secure"), AFC_OK);
    check_status(keep(jar, "http://amazonaws.com/", "deep=2"), AFC_EINVAL);
    check_status(keep(jar, "http://s3.amazonaws.com/", "deep=2"), AFC_EINVAL);
    check_status(keep(jar, "http://b.s3.amazonaws.com/", "deep=2"), AFC_OK);
    check_status(keep(jar, "https://amazonaws.com/", "high=1; Secure"), AFC_OK);
    check_status(keep(jar, "http://a.s3.amazonaws.com/", "high=2"), AFC_EINVAL);
    check_status(keep(jar, "https://10.0.0.1/", "ip=1; Secure"), AFC_OK);
    check_status(keep(jar, "http://10.0.0.1/", "ip=2"), AFC_EINVAL);
    check_status(keep(jar, "http://11.0.0.1/", "ip=2"), AFC_OK);
    afc_cookie_jar_release(jar);
}

static void checks_name_prefixes(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"https://x.test/", "__Secure-a=b; Secure", "__Secure-a=b"},
        {"https://x.test/", "__Secure-a=b", ""},
        {"http://x.test/", "__Secure-a=b; Secure", ""},
        {"https://x.test/", "__Host-a=b; Secure; Path=/", "__Host-a=b"},
        {"https://x.test/", "__Host-a=b; Secure", ""},
        {"https://x.test/y/", "__Host-a=b; Secure", ""},
        {"https://x.test/", "__Host-a=b; Path=/", ""},
        {"https://x.test/", "__Host-a=b; Secure; Path=/; Domain=x.test", ""},
        {"https://x.test/", "__HOST-a=b; Path=/", ""},
        {"https://x.test/", "=__Host-a=b; Secure; Path=/", ""},
        {"https://x.test/", "__Secure-a", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_way(rows[i][0], rows[i][1], "https://x.test/y/z", rows[i][2]);
    }
}

static void sends_longest_path_then_oldest_first(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    keep(jar, "http://x/a/b", "one=1; Path=/");
    keep(jar, "http://x/a/b", "two=2; Path=/a/b");
    keep(jar, "http://x/a/b", "three=3; Path=/");
    keep(jar, "http://x/a/b", "one=4; Path=/");
    check_sent(jar, "http://x/a/b", NOW, "two=2; one=4; three=3");
    afc_cookie_jar_release(jar);
}

static void cookies_expire(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    keep(jar, "http://x/", "a=1; Max-Age=10");
    keep(jar, "http://x/", "b=2");
    check_sent(jar, "http://x/", NOW + 9, "a=1; b=2");
    check_sent(jar, "http://x/", NOW + 10, "b=2");
    keep(jar, "http://x/", "b=; Max-Age=0");
    check_sent(jar, "http://x/", NOW, "a=1");
    keep(jar, "http://x/", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    check_sent(jar, "http://x/", NOW, "");
    assert_int_equal(jar->count, 0);
    afc_cookie_jar_release(jar);
}

/** S17. */
static void limits_the_size_of_jars(void **state) {
    (void)state;
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.max_cookies_per_site = 3;
    options.max_cookies = 5;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    keep(jar, "https://x.test/", "secure=1; Secure");
    keep(jar, "https://x.test/", "old=1");
    keep(jar, "https://x.test/", "new=1");
    check_sent(jar, "https://x.test/", NOW, "secure=1; old=1; new=1");
    keep(jar, "https://x.test/", "newer=1");
    check_sent(jar, "https://x.test/", NOW, "secure=1; new=1; newer=1");
    for (int i = 0; i < 20; i++) {
        char url[32];
        snprintf(url, sizeof url, "http://y%d.test/", i);
        keep(jar, url, "a=1");
        assert_in_range(jar->count, 1, 5);
    }
    afc_cookie_jar_release(jar);
    /* One request has so many bytes of them. */
    jar = jar_new();
    char line[3002];
    memset(line, 'v', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    line[1] = '=';
    for (char name = 'a'; name < 'e'; name++) {
        line[0] = name;
        check_status(keep(jar, "http://x/", line), AFC_OK);
    }
    check_status(keep(jar, "http://x/", "small=1"), AFC_OK);
    char *sent;
    afc__cookie_site site = site_of("http://x/");
    afc__alloc_fail_at(SIZE_MAX);
    check_status(afc__cookie_jar_write(jar, &site, NOW, (afc_slice){0}, &sent), AFC_OK);
    /* The selection, the text, and its copy: a buffer that grows would leave parts of it behind. */
    assert_int_equal(afc__alloc_fail_at(0), 3);
    assert_in_range(strlen(sent), 6000, AFC__COOKIES_SIZE_MAX);
    check_contains(sent, "; small=1");
    afc_free(sent);
    /* The copy is of those that are sent. */
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, "http://x/", NULL), AFC_OK);
    assert_int_equal(list->count, 3);
    afc_cookie_list_free(list);
    afc_cookie_jar_release(jar);
    /* And so many of them. */
    jar = jar_new();
    for (int i = 0; i < 160; i++) {
        snprintf(line, sizeof line, "n%d=1", i);
        check_status(keep(jar, "http://x/", line), AFC_OK);
    }
    check_status(afc_cookie_jar_copy(&list, jar, "http://x/", NULL), AFC_OK);
    assert_int_equal(list->count, AFC__COOKIES_MAX);
    afc_cookie_list_free(list);
    check_status(afc__cookie_jar_write(jar, &site, NOW, (afc_slice){0}, &sent), AFC_OK);
    check_contains(sent, "; n149=1");
    assert_null(strstr(sent, "n150"));
    afc_free(sent);
    assert_int_equal(jar_count(jar, NULL), 160);
    afc_cookie_jar_release(jar);
}

/* ---- The public functions ------------------------------------------------------------------ */

static void programs_can_list_set_and_delete(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_new();
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.name = "a";
    cookie.value = "1";
    cookie.domain = "example.test";
    cookie.is_host_only = false;
    cookie.same_site = AFC_SAME_SITE_LAX;
    cookie.is_http_only = true;
    cookie.expires_s = (int64_t)time(NULL) + 1000;
    check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
    check_status(afc_cookie_jar_receive(jar, "https://EXAMPLE.test./x/y", S("b=2; Secure"), NULL),
                 AFC_OK);
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, "https://example.test/x/", NULL), AFC_OK);
    assert_int_equal(list->count, 2);
    assert_string_equal(list->cookies[0].name, "b");
    assert_string_equal(list->cookies[0].path, "/x");
    assert_true(list->cookies[0].is_secure && list->cookies[0].is_host_only);
    assert_int_equal(list->cookies[1].same_site, AFC_SAME_SITE_LAX);
    assert_true(list->cookies[1].is_http_only && !list->cookies[1].is_host_only);
    assert_int_equal(list->cookies[1].expires_s, cookie.expires_s);
    afc_cookie_list_free(list);
    assert_int_equal(afc_cookie_jar_remove(jar, "a", "example.test", "/y"), 0);
    assert_int_equal(afc_cookie_jar_remove(jar, "a", NULL, "/"), 1);
    assert_int_equal(jar_count(jar, NULL), 1);
    assert_int_equal(afc_cookie_jar_remove(jar, NULL, NULL, NULL), 1);
    assert_int_equal(jar_count(jar, NULL), 0);
    afc_cookie_jar_release(jar);
}

static void any_allocation_may_fail(void **state) {
    folder folder;
    (void)state;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    TORTURE(round) {
        afc_cookie_jar *jar;
        afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
        options.path = path;
        afc_status status = afc_cookie_jar_new(&jar, &options, NULL);
        if (status == AFC_OK) {
            afc_cookie_list *list;
            char *sent;
            afc__cookie_site site = site_of("http://x.test/");
            afc_cookie_jar_receive(jar, "http://x.test/", S("a=1; Max-Age=1000"), NULL);
            afc__cookie_jar_write(jar, &site, (int64_t)time(NULL), (afc_slice){0}, &sent);
            afc_free(sent);
            status = afc_cookie_jar_copy(&list, jar, NULL, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            afc_cookie_list_free(list);
            afc_bytes text;
            status = afc_cookie_jar_export(jar, true, &text, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            assert_int_equal(text.bytes != NULL, status == AFC_OK);
            afc_free(text.bytes);
            status = afc_cookie_jar_save(jar, NULL, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            afc_cookie_jar_release(jar);
        } else {
            check_status(status, AFC_ENOMEM);
        }
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cookie_dates_in_any_format),
        cmocka_unit_test(parses_set_cookie_lines),
        cmocka_unit_test(refuses_invalid_set_cookie_lines),
        cmocka_unit_test(sends_cookies_by_domain_path_and_scheme),
        cmocka_unit_test(refuses_cookies_for_public_suffixes),
        cmocka_unit_test(http_cannot_replace_or_shadow_secure_cookies),
        cmocka_unit_test(checks_name_prefixes),
        cmocka_unit_test(sends_longest_path_then_oldest_first),
        cmocka_unit_test(cookies_expire),
        cmocka_unit_test(limits_the_size_of_jars),
        cmocka_unit_test(programs_can_list_set_and_delete),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
