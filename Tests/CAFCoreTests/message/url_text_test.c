/* Texts of URLs as the public functions split, check and join them: RFC 3986, sections 3 and 5, and appendix B. */
#include "message/encoding.h"
#include "message/url.h"
#include "support/check.h"
#include "support/descriptors.h"
#include "support/rows.h"
#include "support/torture.h"

#include <afcore/url.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

/* ---- Splitting ----------------------------------------------------------------------------- */

static void check_part(afc_slice part, const char *expected, const char *url, const char *name) {
    bool is_same = expected == NULL ? part.bytes == NULL
                                    : part.bytes != NULL && part.size == strlen(expected) &&
                                          memcmp(part.bytes, expected, part.size) == 0;
    if (!is_same) fail_msg("the %s of %s is \"%.*s\"", name, url, (int)part.size, part.bytes);
}

/** RFC 3986, appendix B; an authority in 3.2. */
static void splits_any_text(void **state) {
    (void)state;
    static const struct {
        const char *url, *scheme, *authority, *userinfo, *host, *port, *path, *query, *fragment;
    } rows[] = {
        {"http://u:p@h:8/p?q#f", "http", "u:p@h:8", "u:p", "h", "8", "/p", "q", "f"},
        {"http://h", "http", "h", NULL, "h", NULL, "", NULL, NULL},
        {"http://h:/?#", "http", "h:", NULL, "h", "", "/", "", ""},
        {"http://a@b@c/", "http", "a@b@c", "a@b", "c", NULL, "/", NULL, NULL},
        {"http://@h", "http", "@h", "", "h", NULL, "", NULL, NULL},
        {"http://[fe80::1%25e]:1/", "http", "[fe80::1%25e]:1", NULL, "fe80::1%25e", "1", "/", NULL,
         NULL},
        {"http://[::1]x:1", "http", "[::1]x:1", NULL, "::1", "1", "", NULL, NULL},
        {"http://[::1", "http", "[::1", NULL, "[", ":1", "", NULL, NULL},
        {"http://h?a/b", "http", "h", NULL, "h", NULL, "", "a/b", NULL},
        {"http://h#a?b", "http", "h", NULL, "h", NULL, "", NULL, "a?b"},
        {"/p?q", NULL, NULL, NULL, NULL, NULL, "/p", "q", NULL},
        {"//h/p", NULL, "h", NULL, "h", NULL, "/p", NULL, NULL},
        {"///p", NULL, "", NULL, "", NULL, "/p", NULL, NULL},
        {"mailto:x@y", "mailto", NULL, NULL, NULL, NULL, "x@y", NULL, NULL},
        {"A+-.1:x", "A+-.1", NULL, NULL, NULL, NULL, "x", NULL, NULL},
        {"1a:x", NULL, NULL, NULL, NULL, NULL, "1a:x", NULL, NULL},
        {":x", NULL, NULL, NULL, NULL, NULL, ":x", NULL, NULL},
        {"a/b:c", NULL, NULL, NULL, NULL, NULL, "a/b:c", NULL, NULL},
        {"?a:b", NULL, NULL, NULL, NULL, NULL, "", "a:b", NULL},
        {"", NULL, NULL, NULL, NULL, NULL, "", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_url_parts parts;
        const char *url = rows[i].url;
        afc_url_split(&parts, afc_slice_of(url));
        check_part(parts.scheme, rows[i].scheme, url, "scheme");
        check_part(parts.authority, rows[i].authority, url, "authority");
        check_part(parts.userinfo, rows[i].userinfo, url, "userinfo");
        check_part(parts.host, rows[i].host, url, "host");
        check_part(parts.port, rows[i].port, url, "port");
        check_part(parts.path, rows[i].path, url, "path");
        check_part(parts.query, rows[i].query, url, "query");
        check_part(parts.fragment, rows[i].fragment, url, "fragment");
    }
    afc_url_parts parts;
    afc_url_split(&parts, (afc_slice){NULL, 0});
    assert_non_null(parts.path.bytes);
    assert_int_equal(parts.path.size, 0);
}

/** RFC 3986 3.2.3, RFC 9110 4.2. */
static void port_is_explicit_or_the_default_of_the_scheme(void **state) {
    (void)state;
    static const struct {
        const char *url;
        unsigned port;
    } rows[] = {
        {"http://h", 80},
        {"HTTPS://h/", 443},
        {"http://h:/", 80},
        {"http://h:1/", 1},
        {"http://h:65535", 65535},
        {"http://h:0080", 80},
        {"http://h:0", 0},
        {"http://h:65536", 0},
        {"http://h:x", 0},
        {"http://h:+80", 0},
        {"http://h: 80", 0},
        {"http://h:8 ", 0},
        {"ftp://h", 0},
        {"ftp://h:21", 21},
        {"//h", 0},
        {"//h:8", 8},
        {"http://[::1]:8", 8},
        {"http://[::1]", 80},
        {"http://h:4294967376", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_url_parts parts;
        afc_url_split(&parts, afc_slice_of(rows[i].url));
        if (afc_url_port(&parts) != rows[i].port) {
            fail_msg("%s: %u", rows[i].url, (unsigned)afc_url_port(&parts));
        }
    }
}

/* ---- Checking ------------------------------------------------------------------------------ */

/** What the Swift tests read, too. afc_url_check() judges as afc__url_parse(), which requests go by. */
static void agrees_with_the_shared_table(void **state) {
    (void)state;
    rows *rows = rows_open("urls.txt");
    char *fields[3];
    while (rows_next(rows, fields, 3)) {
        afc__url url;
        afc_failure failure = {0}, parse_failure = {0};
        char origin[AFC_URL_ORIGIN_SIZE], own_origin[AFC_URL_ORIGIN_SIZE];
        afc_slice text = afc_slice_of(fields[0]);
        bool is_fine = strcmp(fields[1], "ok") == 0;
        afc_status expected = is_fine ? AFC_OK : AFC_EINVAL;
        if (afc_url_check(text, &failure) != expected) fail_msg("%s: %s", fields[0], failure.text);
        check_status(afc__url_parse(&url, text, &parse_failure), expected);
        assert_string_equal(failure.text, parse_failure.text);
        if (!is_fine) check_contains(failure.text, fields[1]);
        check_status(afc_url_write_origin(origin, text, NULL), expected);
        assert_string_equal(origin, is_fine ? fields[2] : "");
        if (is_fine) assert_int_equal(afc__url_write_origin(&url, own_origin), strlen(origin));
        afc__url_clear(&url);
    }
    assert_true(rows_close(rows) > 60);
}

/** 64 KiB, as given and as sent; what dot segments take away doesn't count. */
static void check_counts_the_normalised_length(void **state) {
    (void)state;
    char *text = malloc(AFC__URL_MAX + 1);
    assert_non_null(text);
    memset(text, 'a', AFC__URL_MAX + 1);
    memcpy(text, "http://h/", 9);
    afc_slice longest = {text, AFC__URL_MAX};
    check_status(afc_url_check(longest, NULL), AFC_OK);
    check_status(afc_url_check((afc_slice){text, AFC__URL_MAX + 1}, NULL), AFC_EINVAL);
    text[100] = ' ';
    afc_failure failure;
    check_status(afc_url_check(longest, &failure), AFC_EINVAL);
    check_contains(failure.text, "percent-encoding");
    memcpy(text + AFC__URL_MAX - 6, "/../b/", 6);
    check_status(afc_url_check(longest, NULL), AFC_OK);
    TORTURE(n) {
        afc_status status = afc_url_check(longest, NULL);
        if (status != AFC_OK) check_status(status, AFC_ENOMEM);
    }
    free(text);
}

/* ---- Origins ------------------------------------------------------------------------------- */

/** RFC 6454, sections 4 and 6.2: equal texts if and only if afc__url_same_origin() says so. */
static void origins_are_the_same_as_those_of_redirects(void **state) {
    (void)state;
    static const char *const urls[] = {
        "http://h/a",        "http://H:80?b",    "http://u:p@h./",  "https://h/",
        "https://h:443",     "http://h:443/",    "https://h:80/",   "http://h:8080/",
        "http://h.example/", "http://[::1]/",    "http://[::1]:80", "http://[0:0::1]:8080/",
        "http://127.0.0.1",  "http://127.1:80/", "http://h../",     "http://i",
        "http://h.../",      "http://.6../",
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        for (size_t k = 0; k < COUNT_OF(urls); k++) {
            afc__url a, b;
            char origin[AFC_URL_ORIGIN_SIZE], other[AFC_URL_ORIGIN_SIZE];
            check_status(afc__url_parse(&a, afc_slice_of(urls[i]), NULL), AFC_OK);
            check_status(afc__url_parse(&b, afc_slice_of(urls[k]), NULL), AFC_OK);
            check_status(afc_url_write_origin(origin, afc_slice_of(urls[i]), NULL), AFC_OK);
            check_status(afc_url_write_origin(other, afc_slice_of(urls[k]), NULL), AFC_OK);
            check_status(afc_url_check(afc_slice_of(origin), NULL), AFC_OK);
            if ((strcmp(origin, other) == 0) != afc__url_same_origin(&a, &b)) {
                fail_msg("%s and %s", urls[i], urls[k]);
            }
            afc__url_clear(&a);
            afc__url_clear(&b);
        }
    }
}

static void longest_origin_fits(void **state) {
    (void)state;
    char text[8 + AFC__HOST_MAX + 7], origin[AFC_URL_ORIGIN_SIZE];
    memcpy(text, "https://", 8);
    memset(text + 8, 'a', AFC__HOST_MAX);
    memcpy(text + 8 + AFC__HOST_MAX, ":65535", 7);
    check_status(afc_url_write_origin(origin, afc_slice_of(text), NULL), AFC_OK);
    assert_string_equal(origin, text);
}

/** The first test that converts a host: what it needs for that is made once. */
static void unicode_host_can_be_converted_after_a_shortage(void **state) {
    (void)state;
    char origin[AFC_URL_ORIGIN_SIZE];
    afc_failure failure;
    if ((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_IDN) == 0) skip();
    descriptors_deny();
    afc_status status = afc_url_write_origin(origin, S("https://b\u00fccher.test/"), &failure);
    descriptors_allow();
    check_status(status, AFC_ENOMEM);
    check_contains(failure.text, "descriptors");
    check_status(afc_url_write_origin(origin, S("https://b\u00fccher.test/"), NULL), AFC_OK);
    assert_string_equal(origin, "https://xn--bcher-kva.test");
}

/** RFC 5890: a U-label and its A-label are one host. */
static void unicode_hosts_have_the_origin_of_their_a_labels(void **state) {
    (void)state;
    char origin[AFC_URL_ORIGIN_SIZE];
    afc_failure failure;
    bool has_idn = (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_IDN) != 0;
    afc_status status = afc_url_write_origin(origin, S("https://B\u00fccher.Test./x"), &failure);
    if (!has_idn) {
        check_status(status, AFC_EUNSUPPORTED);
        check_contains(failure.text, "A-labels");
        return;
    }
    check_status(status, AFC_OK);
    assert_string_equal(origin, "https://xn--bcher-kva.test");
    check_status(afc_url_write_origin(origin, S("http://\uff11\uff12\uff17\u30021/"), NULL),
                 AFC_OK);
    assert_string_equal(origin, "http://127.0.0.1");
    check_status(afc_url_write_origin(origin, S("http://a\uff0fb/"), &failure), AFC_EINVAL);
    check_contains(failure.text, "internationalised");
    assert_string_equal(origin, "");
}

/* ---- Joining ------------------------------------------------------------------------------- */

static void check_joined(const char *out, size_t size, const char *expected, const char *what) {
    if (size != strlen(expected) || memcmp(out, expected, size) != 0) {
        fail_msg("%s: %.*s", what, (int)size, out);
    }
}

/** RFC 3986 5.2, on texts; 5.4 is in url_test.c and in the Swift tests. */
static void resolves_text_and_keeps_the_rest(void **state) {
    (void)state;
    static const struct {
        const char *base, *reference, *result;
    } rows[] = {
        {"http://u:p@h/v1/", "x y", "http://u:p@h/v1/x y"},
        {"http://h/a/b?q#f", "", "http://h/a/b?q"},
        {"http://h/a/b?q#f", "#g", "http://h/a/b?q#g"},
        {"http://h/a/b?q", "?r", "http://h/a/b?r"},
        {"http://h/a/b?q", "?", "http://h/a/b?"},
        {"http://h/a/b?q", "c", "http://h/a/c"},
        {"http://h/a/b", "../../../c/./d/..", "http://h/c/"},
        {"http://h/a/b", "/../c", "http://h/c"},
        {"http://h", "c", "http://h/c"},
        {"http://h", "", "http://h"},
        {"http://h", "?a=1", "http://h?a=1"},
        {"http://[::1]:8/a", "//[::2]/b", "http://[::2]/b"},
        {"http://h/a", "HTTP://Other", "HTTP://Other"},
        {"http://h/a", "mailto:me", "mailto:me"},
        {"http://h/a/", "./b:c", "http://h/a/b:c"},
        {"h/a/b", "c", "h/a/c"},
        {"h/a/b", "../../../c", "/c"},
        {"", "c", "c"},
        {"", "/c/../d", "/d"},
        {"", "", ""},
        {"", "./c", "c"},
        {"", "..", ""},
        {"", ".../x.", ".../x."},
        {"a", "x./../y", "/y"},
        {"mailto:a", "b", "mailto:b"},
        {"mailto:a", "../b", "mailto:b"},
        {"mailto:a", ".././../b/./c", "mailto:b/c"},
        /* What is left of a path must not be read as an authority or a scheme. */
        {"/a/b", "..//evil.test/x", "/.//evil.test/x"},
        {"/b", ".//evil.test/x", "/.//evil.test/x"},
        {"file:/a/b", "..//evil.test/x", "file:/.//evil.test/x"},
        {"a:b", "x/..//evil.test", "a:/.//evil.test"},
        {"http://h", "..//evil.test/x", "http://h//evil.test/x"},
        {"a", "./b:c", "./b:c"},
        {"", "./b:c/d", "./b:c/d"},
        {"a", "./b/c:d", "b/c:d"},
        {"x:a", "./b:c", "x:b:c"},
        {"/a", "./b:c", "/b:c"},
        {"", "1:b/.", "1:b/"},
    };
    char out[128];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_slice base = afc_slice_of(rows[i].base), reference = afc_slice_of(rows[i].reference);
        size_t size = afc_url_resolve(out, base.size + reference.size + 2, base, reference);
        check_joined(out, size, rows[i].result, rows[i].reference);
        /* Too little room, also for dot segments, is said, and how much is enough. */
        size_t enough = afc_url_resolve(NULL, 0, base, reference);
        assert_in_range(enough, size, base.size + reference.size + 2);
        for (size_t room = 0; room <= enough; room++) {
            char *small = malloc(room + 1);
            assert_non_null(small);
            size_t made = afc_url_resolve(small, room, base, reference);
            if (room < size || made > room) {
                assert_int_equal(made, enough);
                assert_true(room < enough);
            } else {
                check_joined(small, made, rows[i].result, rows[i].reference);
            }
            free(small);
        }
    }
}

static void appends_queries_before_the_fragment(void **state) {
    (void)state;
    static const struct {
        const char *url, *query, *result;
    } rows[] = {
        {"http://h", "a=1", "http://h?a=1"},
        {"http://h/p?x=y", "a=1&b", "http://h/p?x=y&a=1&b"},
        {"http://h/p?", "a=1", "http://h/p?a=1"},
        {"http://h/p?x&", "a=1", "http://h/p?x&a=1"},
        {"http://h/p?x?", "a=1", "http://h/p?x?&a=1"},
        {"http://h/p#f?g", "a=1", "http://h/p?a=1#f?g"},
        {"http://h/p?x#", "a=1", "http://h/p?x&a=1#"},
        {"http://h/p?x#f", "", "http://h/p?x#f"},
        {"", "a", "?a"},
        {"", "", ""},
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_slice url = afc_slice_of(rows[i].url), query = afc_slice_of(rows[i].query);
        size_t size = afc_url_append_query(out, url.size + query.size + 1, url, query);
        check_joined(out, size, rows[i].result, rows[i].url);
        if (size > 0) assert_int_equal(afc_url_append_query(out, size - 1, url, query), size);
    }
}

static void encodes_all_but_unreserved_octets(void **state) {
    (void)state;
    static const char kept[] = "abyzABYZ0189-._~";
    char out[3 * 256], decoded[256], all[256];
    size_t size = afc_url_encode(out, sizeof out, afc_slice_of(kept));
    check_joined(out, size, kept, kept);
    size = afc_url_encode(out, sizeof out, S("a b/c?d&e=f+\xc3\xa4%\0"));
    check_joined(out, size, "a%20b%2Fc%3Fd%26e%3Df%2B%C3%A4%25%00", "separators");
    assert_int_equal(afc_url_encode(NULL, 0, S("")), 0);
    /* Every octet comes back, in at most three times the size. */
    for (size_t i = 0; i < sizeof all; i++) all[i] = (char)i;
    size = afc_url_encode(out, sizeof out, (afc_slice){all, sizeof all});
    assert_int_equal(size, sizeof out - 2 * (26 + 26 + 10 + 4));
    char text[sizeof out + 1];
    memcpy(text, out, size);
    text[size] = '\0';
    assert_int_equal(afc__percent_decode((unsigned char *)decoded, text), sizeof all);
    assert_memory_equal(decoded, all, sizeof all);
    for (size_t room = 0; room < 5; room++) {
        char *small = malloc(room + 1);
        assert_non_null(small);
        assert_int_equal(afc_url_encode(small, room, S("a b")), 5);
        free(small);
    }
}

static void encodes_forms(void **state) {
    (void)state;
    static const afc_url_field fields[] = {
        {S_INIT("q"), S_INIT("a b&c=d")},
        {S_INIT("*-._~"), S_INIT("")},
        {S_INIT(""), S_INIT("\xc3\xa4+\r\n")},
        {S_INIT("none"), {NULL, 0}},
    };
    static const char *const results[] = {
        "", "q=a+b%26c%3Dd", "q=a+b%26c%3Dd&*-._%7E=", "q=a+b%26c%3Dd&*-._%7E=&=%C3%A4%2B%0D%0A",
        "q=a+b%26c%3Dd&*-._%7E=&=%C3%A4%2B%0D%0A&none="};
    for (size_t count = 0; count <= COUNT_OF(fields); count++) {
        char out[64];
        size_t size = afc_url_encode_form(out, sizeof out, fields, count);
        check_joined(out, size, results[count], "form");
        if (size > 0) assert_int_equal(afc_url_encode_form(out, size - 1, fields, count), size);
    }
}

static void decodes_percent_encoding(void **state) {
    (void)state;
    static const struct {
        const char *text, *result;
    } rows[] = {
        {"", ""},         {"a%20b%2Fc", "a b/c"}, {"%c3%A4", "\xC3\xA4"}, {"a+b", "a+b"},
        {"100%", "100%"}, {"%2", "%2"},           {"%zz%41", "%zzA"},     {"%%41", "%A"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[16];
        size_t size = afc_url_decode(out, sizeof out, afc_slice_of(rows[i].text));
        check_joined(out, size, rows[i].result, rows[i].text);
        memcpy(out, rows[i].text, strlen(rows[i].text));
        size_t in_place = afc_url_decode(out, sizeof out, (afc_slice){out, strlen(rows[i].text)});
        check_joined(out, in_place, rows[i].result, rows[i].text);
        assert_int_equal(afc_url_decode(NULL, 0, afc_slice_of(rows[i].text)), size);
    }
}

static void reads_fields_of_queries(void **state) {
    (void)state;
    static const struct {
        const char *query, *fields; /**< `fields`: each as <name|value>. */
    } rows[] = {
        {"", ""},
        {"&&", ""},
        {"a=1&b=2", "<a|1><b|2>"},
        {"&a=1&&b&", "<a|1><b|>"},
        {"=&=x&a==b=", "<|><|x><a|=b=>"},
        {"q=a+b%26c%3Dd&%C3%A4=%2B%0D", "<q|a b&c=d><\xC3\xA4|+\r>"},
        {"a%3Db=%zz&%", "<a=b|%zz><%|>"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[64], all[64] = "";
        size_t size = 0;
        afc_slice rest = afc_slice_of(rows[i].query);
        afc_url_field field;
        while (afc_query_next(&rest, &field, text, rest.size)) {
            size += (size_t)snprintf(all + size, sizeof all - size, "<%.*s|%.*s>",
                                     (int)field.name.size, field.name.bytes, (int)field.value.size,
                                     field.value.bytes);
        }
        assert_int_equal(rest.size, 0);
        assert_string_equal(all, rows[i].fields);
    }
    /* Too little room reads nothing, and can be tried again. */
    char text[4];
    afc_slice rest = S("&ab=cd&e"), all = rest;
    afc_url_field field;
    assert_false(afc_query_next(&rest, &field, text, 3));
    assert_ptr_equal(rest.bytes, all.bytes + 1);
    assert_true(afc_query_next(&rest, &field, text, 4));
    check_slice(field.name, "ab");
    check_slice(field.value, "cd");
    check_slice(rest, "e");
    afc_url_parts parts;
    afc_url_split(&parts, S("http://h/"));
    assert_false(afc_query_next(&parts.query, &field, text, sizeof text));
}

static void maps_urls_of_websockets(void **state) {
    (void)state;
    static const struct {
        const char *url, *result;
    } rows[] = {
        {"ws://h/a", "http://h/a"}, {"WSS://h:1/a?b#c", "https://h:1/a?b#c"},
        {"http://h/", "http://h/"}, {"HTTPS://h", "HTTPS://h"},
        {"ws:", "http:"},           {"ws", "ws"},
        {"WS/x", "WS/x"},           {"ws?a=b:c", "ws?a=b:c"},
        {"/ws:1", "/ws:1"},         {"", ""},
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_slice url = afc_slice_of(rows[i].url);
        size_t size, wanted;
        assert_int_equal(afc_url_from_websocket(out, url.size + 2, &size, url, NULL), AFC_OK);
        check_joined(out, size, rows[i].result, rows[i].url);
        assert_int_equal(afc_url_from_websocket(NULL, 0, &wanted, url, NULL), AFC_OK);
        assert_int_equal(wanted, size);
    }
}

static void refuses_other_schemes_of_websockets(void **state) {
    (void)state;
    static const char *const urls[] = {"ftp://h/", "w://h", "wsss://h", "file:///etc/passwd",
                                       "h:80/x"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        char out[64];
        size_t size = 7;
        afc_failure failure;
        afc_slice url = afc_slice_of(urls[i]);
        assert_int_equal(afc_url_from_websocket(out, sizeof out, &size, url, &failure), AFC_EINVAL);
        assert_int_equal(size, 0);
        assert_non_null(strstr(failure.text, "expected ws, wss, http or https"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unicode_host_can_be_converted_after_a_shortage),
        cmocka_unit_test(splits_any_text),
        cmocka_unit_test(port_is_explicit_or_the_default_of_the_scheme),
        cmocka_unit_test(agrees_with_the_shared_table),
        cmocka_unit_test(check_counts_the_normalised_length),
        cmocka_unit_test(origins_are_the_same_as_those_of_redirects),
        cmocka_unit_test(longest_origin_fits),
        cmocka_unit_test(unicode_hosts_have_the_origin_of_their_a_labels),
        cmocka_unit_test(resolves_text_and_keeps_the_rest),
        cmocka_unit_test(appends_queries_before_the_fragment),
        cmocka_unit_test(encodes_all_but_unreserved_octets),
        cmocka_unit_test(encodes_forms),
        cmocka_unit_test(decodes_percent_encoding),
        cmocka_unit_test(reads_fields_of_queries),
        cmocka_unit_test(maps_urls_of_websockets),
        cmocka_unit_test(refuses_other_schemes_of_websockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
