#include "message/redirect.h"
#include "support/check.h"
#include "support/torture.h"

/** Ask about an answer of http(s)://base with one Location. */
static afc_status decide(const char *base, const char *location, int status, const char *method,
                         bool has_body, afc__redirect_plan *plan, afc_failure *failure) {
    afc__url url;
    check_status(afc__url_parse(&url, afc_slice_of(base), NULL), AFC_OK);
    afc_header header = {S("location"), afc_slice_of(location), 0};
    afc_head head = {status, AFC_HTTP_1_1, {NULL, 0}, &header, location != NULL ? 1 : 0};
    afc__redirect_question question = {&head, &url,  method, has_body, 0,   20,
                                       false, false, NULL,   NULL,     NULL};
    afc_status result = afc__redirect_decide(&question, plan, failure);
    afc__url_clear(&url);
    return result;
}

/* ---- Which answers are followed -------------------------------------------------------------- */

static void follows_only_redirects_with_a_location(void **state) {
    (void)state;
    for (int status = 100; status < 1000; status++) {
        bool follows = status == 301 || status == 302 || status == 303 || status == 307 ||
                       status == 308;
        afc__redirect_plan plan;
        check_status(decide("http://h/", "/x", status, "GET", false, &plan, NULL), AFC_OK);
        assert_int_equal(plan.follow, follows);
        assert_int_equal(plan.target.text != NULL, follows);
        afc__url_clear(&plan.target);
        check_status(decide("http://h/", NULL, status, "GET", false, &plan, NULL), AFC_OK);
        assert_false(plan.follow);
        check_status(decide("http://h/", "", status, "GET", false, &plan, NULL), AFC_OK);
        assert_false(plan.follow);
    }
}

static void changes_methods_as_in_rfc_9110(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *method;
        bool has_body;
        const char *next;
        bool keeps_body;
    } cases[] = {
        {301, "GET", false, "GET", false},   {301, "HEAD", false, "HEAD", false},
        {301, "POST", true, "GET", false},   {301, "POST", false, "GET", false},
        {301, "PUT", true, "PUT", true},     {301, "DELETE", false, "DELETE", false},
        {302, "POST", true, "GET", false},   {302, "PATCH", true, "PATCH", true},
        {302, "post", true, "post", true},   {303, "GET", false, "GET", false},
        {303, "HEAD", false, "HEAD", false}, {303, "POST", true, "GET", false},
        {303, "PUT", true, "GET", false},    {303, "DELETE", false, "GET", false},
        {303, "GET", true, "GET", false},    {303, "HEAD", true, "HEAD", false},
        {307, "POST", true, "POST", true},   {307, "GET", false, "GET", false},
        {308, "POST", true, "POST", true},   {308, "PUT", true, "PUT", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redirect_plan plan;
        check_status(decide("http://h/", "/x", cases[i].status, cases[i].method, cases[i].has_body,
                            &plan, NULL),
                     AFC_OK);
        assert_string_equal(plan.method, cases[i].next);
        assert_int_equal(plan.keeps_body, cases[i].keeps_body);
        afc__url_clear(&plan.target);
    }
}

/* ---- Where they lead ------------------------------------------------------------------------- */

static void resolves_locations_against_the_responding_url(void **state) {
    (void)state;
    static const struct {
        const char *base, *location, *target;
        bool crosses;
    } cases[] = {
        {"http://h/a/b?c", "d", "http://h/a/d", false},
        {"http://h/a/b?c", "?d", "http://h/a/b?d", false},
        {"http://h/a/b", "/x#part", "http://h/x", false},
        {"http://h/", "//h:80/x", "http://h/x", false},
        {"http://h/", "HTTP://H./x", "http://h./x", false},
        {"http://h/", "/a b\xC3\xBC", "http://h/a%20b%C3%BC", false},
        {"http://h/", "/\\evil.example", "http://h/%5Cevil.example", false},
        {"http://h/", "https://h/", "https://h/", true},
        /* The scheme alone. */
        {"http://h:443/", "https://h:443/", "https://h/", true},
        {"http://h:8080/", "https://h:8080/", "https://h:8080/", true},
        {"http://h/", "//h:81/", "http://h:81/", true},
        {"http://h/", "//sub.h/", "http://sub.h/", true},
        {"https://h/", "https://h:444/", "https://h:444/", true},
        {"http://h/", "//h@evil.example/", "http://evil.example/", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redirect_plan plan;
        check_status(decide(cases[i].base, cases[i].location, 302, "GET", false, &plan, NULL),
                     AFC_OK);
        assert_true(plan.follow);
        assert_string_equal(plan.target.text, cases[i].target);
        assert_int_equal(plan.crosses_origin, cases[i].crosses);
        afc__url_clear(&plan.target);
    }
}

/** Knows one host in another script, and one that maps to an invalid address. */
static bool to_ascii(char *out, size_t size, afc_slice host) {
    const char *found = host.size > 1 && memcmp(host.bytes, "b\xC3\xBC", 3) == 0 ? "xn--b-xga.test"
                        : memcmp(host.bytes, "\xE2", 1) == 0                     ? "256.1.1.1"
                                                                                 : NULL;
    if (found == NULL || strlen(found) >= size) return false;
    memcpy(out, found, strlen(found) + 1);
    return true;
}

static void u_label_and_a_label_are_one_origin(void **state) {
    (void)state;
    static const struct {
        const char *base, *location, *target;
        bool crosses;
    } cases[] = {
        {"http://xn--b-xga.test/", "http://b\u00fc.test/x", "http://xn--b-xga.test/x", false},
        {"http://xn--b-xga.test:81/", "//B\u00fc.test:81/", "http://xn--b-xga.test:81/", false},
        {"http://xn--b-xga.test/", "//b\u00fc.test:81/?y", "http://xn--b-xga.test:81/?y", true},
        {"http://h/", "http://u:p@b\u00fc.test/", "http://xn--b-xga.test/", true},
    };
    TORTURE(n) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            afc__url url;
            afc__redirect_plan plan;
            const afc_header header = {S("Location"), afc_slice_of(cases[i].location), 0};
            const afc_head head = {.status = 302, .headers = &header, .header_count = 1};
            if (afc__url_parse(&url, afc_slice_of(cases[i].base), NULL) != AFC_OK) continue;
            const afc__redirect_question question = {
                .head = &head, .url = &url, .method = "GET", .limit = 20, .to_ascii = to_ascii};
            afc_status status = afc__redirect_decide(&question, &plan, NULL);
            afc__url_clear(&url);
            if (status != AFC_OK) {
                check_status(status, AFC_ENOMEM);
                continue;
            }
            assert_string_equal(plan.target.text, cases[i].target);
            assert_int_equal(plan.crosses_origin, cases[i].crosses);
            if (strchr(cases[i].location, '@') != NULL) {
                assert_string_equal(plan.target.userinfo, "u:p");
            }
            afc__url_clear(&plan.target);
        }
    }
}

static void refuses_hosts_without_a_labels(void **state) {
    (void)state;
    static const struct {
        const char *location, *reason;
    } cases[] = {
        {"http://\u2460/", "isn't an IPv4 address"},
        {"http://\u00fc.test/", "host name \"\u00fc.test\" to ASCII"},
        {"//u:p@\u05D0.test/", "name \"\u05D0.test\""},
        {"http://\xFF.test/", "to ASCII"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__url url;
        afc__redirect_plan plan;
        afc_failure failure;
        check_status(afc__url_parse(&url, S("http://h/"), NULL), AFC_OK);
        const afc_header header = {S("Location"), afc_slice_of(cases[i].location), 0};
        const afc_head head = {.status = 302, .headers = &header, .header_count = 1};
        const afc__redirect_question question = {
            .head = &head, .url = &url, .method = "GET", .limit = 20, .to_ascii = to_ascii};
        check_status(afc__redirect_decide(&question, &plan, &failure), AFC_EREDIRECT);
        check_contains(failure.text, "cannot follow the redirect");
        check_contains(failure.text, cases[i].reason);
        assert_null(plan.target.text);
        afc__url_clear(&url);
    }
}

static void refuses_unsafe_locations(void **state) {
    (void)state;
    static const struct {
        const char *base, *location, *reason;
    } cases[] = {
        {"http://h/", "file:///etc/passwd", "\"file\""},
        {"http://h/", "ftp://user:secret@h/", "\"ftp\""},
        {"http://h/", "dict://h/", "\"dict\""},
        {"http://h/", "javascript:alert(1)", "\"javascript\""},
        {"http://h/", "http://", "no host"},
        {"http://h/", "http://user:secret@h:x/", "port"},
        {"http://h/", "//good.example\\@evil.example", "backslash"},
        {"http://h/", "/a\tb", "control"},
        {"http://h/", "/\x7F", "control"},
        {"https://h/", "http://h/", "from https to http"},
        {"https://h/", "http://user:secret@h/", "from https to http"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redirect_plan plan;
        afc_failure failure;
        check_status(decide(cases[i].base, cases[i].location, 302, "GET", false, &plan, &failure),
                     AFC_EREDIRECT);
        check_status(failure.status, AFC_EREDIRECT);
        check_contains(failure.text, cases[i].reason);
        assert_null(strstr(failure.text, "secret"));
        assert_false(plan.follow);
        assert_null(plan.target.text);
    }
}

static void allows_downgrade_if_asked(void **state) {
    (void)state;
    afc__url url;
    check_status(afc__url_parse(&url, S("https://h/"), NULL), AFC_OK);
    afc_header header = {S("Location"), S("http://h/"), 0};
    afc_head head = {301, AFC_HTTP_2, {NULL, 0}, &header, 1};
    afc__redirect_question question = {&head, &url,  "GET", false, 0,   1,
                                       true,  false, NULL,  NULL,  NULL};
    afc__redirect_plan plan;
    check_status(afc__redirect_decide(&question, &plan, NULL), AFC_OK);
    assert_true(plan.follow);
    assert_true(plan.crosses_origin);
    afc__url_clear(&plan.target);
    afc__url_clear(&url);
}

static void refuses_locations_that_differ(void **state) {
    (void)state;
    afc__url url;
    check_status(afc__url_parse(&url, S("http://h/"), NULL), AFC_OK);
    afc_header headers[] = {{S("Location"), S("/a"), 0},
                            {S("Other"), S("/c"), 0},
                            {S("LOCATION"), S("/a"), 0},
                            {S("Location"), S("/b"), 0}};
    afc_head head = {302, AFC_HTTP_1_1, {NULL, 0}, headers, 3};
    afc__redirect_question question = {&head, &url,  "GET", false, 0,   20,
                                       false, false, NULL,  NULL,  NULL};
    afc__redirect_plan plan;
    afc_failure failure;
    check_status(afc__redirect_decide(&question, &plan, &failure), AFC_OK);
    assert_string_equal(plan.target.text, "http://h/a");
    afc__url_clear(&plan.target);
    head.header_count = 4;
    check_status(afc__redirect_decide(&question, &plan, &failure), AFC_EREDIRECT);
    check_contains(failure.text, "conflicting Locations");
    afc__url_clear(&url);
}

static void limit_counts_followed_redirects(void **state) {
    (void)state;
    static const struct {
        int followed, limit;
        const char *reason; /**< NULL: no failure. */
        bool follows;
    } cases[] = {
        {0, 20, NULL, true},
        {19, 20, NULL, true},
        {20, 20, "more than 20 redirects", false},
        {0, 0, "more than 0 redirects", false},
        {0, -1, NULL, false},
    };
    afc__url url;
    check_status(afc__url_parse(&url, S("http://h/"), NULL), AFC_OK);
    afc_header header = {S("Location"), S("/"), 0};
    afc_head head = {302, AFC_HTTP_1_1, {NULL, 0}, &header, 1};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__redirect_question question = {
            &head, &url, "GET", false, cases[i].followed, cases[i].limit, false,
            false, NULL, NULL,  NULL};
        afc__redirect_plan plan;
        afc_failure failure;
        afc_status status = afc__redirect_decide(&question, &plan, &failure);
        check_status(status, cases[i].reason != NULL ? AFC_EREDIRECT : AFC_OK);
        if (cases[i].reason != NULL) {
            check_contains(failure.text, cases[i].reason);
            assert_int_equal(failure.reason, AFC_REASON_REDIRECT_LIMIT);
        }
        assert_int_equal(plan.follow, cases[i].follows);
        afc__url_clear(&plan.target);
    }
    afc__url_clear(&url);
}

/* ---- What goes along ------------------------------------------------------------------------- */

static void keeps_or_drops_fields_by_origin(void **state) {
    (void)state;
    static const struct {
        afc_header header;
        bool crossing, without_body; /**< Kept when crossing; kept without the body. */
    } cases[] = {
        {{ROW_S("Accept"), ROW_S("x"), 0}, true, true},
        {{ROW_S("Authorization"), ROW_S("x"), 0}, false, true},
        {{ROW_S("AUTHORIZATION"), ROW_S("x"), 0}, false, true},
        {{ROW_S("cookie"), ROW_S("x"), 0}, false, true},
        {{ROW_S("Proxy-Authorization"), ROW_S("x"), 0}, false, true},
        {{ROW_S("Set-Cookie"), ROW_S("x"), 0}, false, true},
        {{ROW_S("Cookie2"), ROW_S("x"), 0}, false, true},
        {{ROW_S("set-cookie2"), ROW_S("x"), 0}, false, true},
        {{ROW_S("Cookie3"), ROW_S("x"), 0}, true, true},
        {{ROW_S("proxy-connection"), ROW_S("x"), 0}, false, true},
        {{ROW_S("Host"), ROW_S("x"), 0}, false, true},
        {{ROW_S("X-Api-Key"), ROW_S("x"), 0}, false, true},
        {{ROW_S("api-key"), ROW_S("x"), 0}, false, true},
        {{ROW_S("X-Auth-Token"), ROW_S("x"), 0}, false, true},
        {{ROW_S("X-CSRF-Token"), ROW_S("x"), 0}, false, true},
        {{ROW_S("X-Key"), ROW_S("x"), AFC_HEADER_SECRET}, false, true},
        {{ROW_S("X-Key"), ROW_S("x"), 0}, true, true},
        {{ROW_S("Content-Type"), ROW_S("x"), 0}, true, false},
        {{ROW_S("content-md5"), ROW_S("x"), 0}, true, false},
        {{ROW_S("Content-Digest"), ROW_S("x"), AFC_HEADER_SECRET}, false, false},
        {{ROW_S("Digest"), ROW_S("x"), 0}, true, false},
        {{ROW_S("Repr-Digest"), ROW_S("x"), 0}, true, false},
        {{ROW_S("Expect"), ROW_S("x"), 0}, true, false},
        {{ROW_S("Trailer"), ROW_S("x"), 0}, true, false},
        {{ROW_S("Authorization"), {NULL, 0}, AFC_HEADER_REMOVE}, true, true},
        {{ROW_S("Expect"), {NULL, 0}, AFC_HEADER_REMOVE}, true, true},
        {{ROW_S("Contentious"), ROW_S("x"), 0}, true, true},
        {{ROW_S("Proxy"), ROW_S("x"), 0}, true, true},
    };
    const afc__redirect_plan staying = {.keeps_body = true};
    const afc__redirect_plan crossing = {.keeps_body = true, .crosses_origin = true};
    const afc__redirect_plan without_body = {.keeps_body = false};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const afc_header *header = &cases[i].header;
        assert_true(afc__redirect_keeps_header(&staying, header));
        assert_int_equal(afc__redirect_keeps_header(&crossing, header), cases[i].crossing);
        assert_int_equal(afc__redirect_keeps_header(&without_body, header), cases[i].without_body);
    }
}

static void check_out_of_memory(const char *location, bool is_upgrade) {
    afc__url url;
    check_status(afc__url_parse(&url, S("http://h/"), NULL), AFC_OK);
    afc_header header = {S("Location"), afc_slice_of(location), 0};
    afc_head head = {302, AFC_HTTP_1_1, {NULL, 0}, &header, 1};
    afc__redirect_question question = {
        .head = &head, .url = &url, .method = "GET", .limit = 20, .is_upgrade = is_upgrade};
    TORTURE(n) {
        afc__redirect_plan plan;
        afc_failure failure = {.status = AFC_OK};
        afc_status status = afc__redirect_decide(&question, &plan, &failure);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        check_status(failure.status, status);
        assert_int_equal(plan.follow, status == AFC_OK);
        afc__url_clear(&plan.target);
    }
    afc__url_clear(&url);
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    check_out_of_memory("//user:password@other/x y", false);
    check_out_of_memory("ws://other/x", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_only_redirects_with_a_location),
        cmocka_unit_test(changes_methods_as_in_rfc_9110),
        cmocka_unit_test(resolves_locations_against_the_responding_url),
        cmocka_unit_test(u_label_and_a_label_are_one_origin),
        cmocka_unit_test(refuses_hosts_without_a_labels),
        cmocka_unit_test(refuses_unsafe_locations),
        cmocka_unit_test(allows_downgrade_if_asked),
        cmocka_unit_test(refuses_locations_that_differ),
        cmocka_unit_test(limit_counts_followed_redirects),
        cmocka_unit_test(keeps_or_drops_fields_by_origin),
        cmocka_unit_test(out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
