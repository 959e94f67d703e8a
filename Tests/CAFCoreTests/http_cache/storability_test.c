/* Which responses a private cache may store: RFC 9111 3. */
#include "http_cache/rules/storability.h"
#include "support/head.h"

static afc__storable judge(const char *method, int status, const char *request, const char *fields,
                           bool is_content_of_url) {
    parsed_head head;
    afc__http_cache_control asked, said;
    const afc_header control = {S("Cache-Control"), afc_slice_of(request), 0};
    make_head(&head, status, fields);
    afc__request_control_read(&asked, &control, request != NULL ? 1 : 0);
    afc__response_control_read(&said, head.headers, head.head.header_count);
    afc__storable_question question = {method, &head.head, &asked, &said, is_content_of_url};
    return afc__storable_of(&question);
}

#define FRESH "Cache-Control: max-age=60"
/** AFC__NAMED_FIELDS_MAX names. */
#define NAMES                                                                                      \
    "a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h, a, b, c, d, e, f, "   \
    "g, h"

static void each_response_is_judged_as_its_row_says(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int status;
        const char *request, *fields;
        afc__storable storable;
    } rows[] = {
        {"GET", 200, NULL, FRESH, AFC__STORABLE},
        {"GET", 200, NULL, "Cache-Control: max-age=0", AFC__STORABLE},
        {"GET", 200, NULL, "Expires: 0", AFC__STORABLE},
        {"GET", 200, NULL, "", AFC__STORABLE_NOT_USABLE},
        {"GET", 200, NULL, "ETag: \"a\"", AFC__STORABLE},
        {"GET", 200, NULL, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", AFC__STORABLE},
        {"GET", 200, NULL, "Cache-Control: no-cache\nETag: \"a\"", AFC__STORABLE},
        {"GET", 200, NULL, "Cache-Control: no-cache", AFC__STORABLE_NOT_USABLE},
        {"GET", 200, NULL, "Set-Cookie: a=b\n" FRESH, AFC__STORABLE},
        /* Methods. */
        {"HEAD", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"POST", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"PUT", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"DELETE", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"OPTIONS", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"QUERY", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        {"get", 200, NULL, FRESH, AFC__STORABLE_NOT_METHOD},
        /* no-store, of either side. */
        {"GET", 200, NULL, FRESH ", no-store", AFC__STORABLE_NOT_ALLOWED},
        {"GET", 200, NULL, FRESH "\nCache-Control: no-store", AFC__STORABLE_NOT_ALLOWED},
        {"GET", 200, "no-store", FRESH, AFC__STORABLE_NOT_ALLOWED},
        {"GET", 200, "no-cache", FRESH, AFC__STORABLE},
        {"GET", 200, NULL, FRESH ", private", AFC__STORABLE},
        {"GET", 200, NULL, FRESH ", private=\"a\"", AFC__STORABLE},
        /* must-understand, RFC 9111 5.2.2.3. */
        {"GET", 200, NULL, FRESH ", must-understand, no-store", AFC__STORABLE},
        {"GET", 299, NULL, FRESH ", must-understand, no-store", AFC__STORABLE_NOT_UNDERSTOOD},
        {"GET", 599, NULL, FRESH ", must-understand", AFC__STORABLE_NOT_UNDERSTOOD},
        {"GET", 200, "no-store", FRESH ", must-understand", AFC__STORABLE_NOT_ALLOWED},
        /* Vary. */
        {"GET", 200, NULL, FRESH "\nVary: *", AFC__STORABLE_NOT_SELECTABLE},
        {"GET", 200, NULL, FRESH "\nVary: a, *", AFC__STORABLE_NOT_SELECTABLE},
        {"GET", 200, NULL, FRESH "\nVary: a\nVary: *", AFC__STORABLE_NOT_SELECTABLE},
        {"GET", 200, NULL, FRESH "\nVary: a b", AFC__STORABLE_NOT_SELECTABLE},
        {"GET", 200, NULL, FRESH "\nVary: a, b", AFC__STORABLE},
        {"GET", 200, NULL, FRESH "\nVary:", AFC__STORABLE},
        /* A broken Cache-Control may hide a no-store. */
        {"GET", 200, NULL, FRESH ", x=\"no-store", AFC__STORABLE_NOT_READABLE},
        /* Statuses with a lifetime. */
        {"GET", 100, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 201, NULL, FRESH, AFC__STORABLE},
        {"GET", 299, NULL, FRESH, AFC__STORABLE},
        {"GET", 302, NULL, FRESH, AFC__STORABLE},
        {"GET", 303, NULL, FRESH, AFC__STORABLE},
        {"GET", 304, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 307, NULL, FRESH, AFC__STORABLE},
        {"GET", 400, NULL, FRESH, AFC__STORABLE},
        {"GET", 401, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 403, NULL, FRESH, AFC__STORABLE},
        {"GET", 404, NULL, FRESH, AFC__STORABLE},
        {"GET", 407, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 412, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 416, NULL, FRESH, AFC__STORABLE_NOT_STATUS},
        {"GET", 499, NULL, FRESH, AFC__STORABLE},
        {"GET", 500, NULL, FRESH, AFC__STORABLE},
        {"GET", 503, NULL, FRESH, AFC__STORABLE},
        {"GET", 599, NULL, FRESH, AFC__STORABLE},
        /* Statuses without one: those with a heuristic, and what is public. */
        {"GET", 201, NULL, "ETag: \"a\"", AFC__STORABLE_NOT_USABLE},
        {"GET", 302, NULL, "ETag: \"a\"", AFC__STORABLE_NOT_USABLE},
        {"GET", 301, NULL, "ETag: \"a\"", AFC__STORABLE},
        {"GET", 403, NULL, "ETag: \"a\"", AFC__STORABLE_NOT_USABLE},
        {"GET", 404, NULL, "ETag: \"a\"", AFC__STORABLE},
        {"GET", 500, NULL, "ETag: \"a\"", AFC__STORABLE_NOT_USABLE},
        {"GET", 599, NULL, "ETag: \"a\"", AFC__STORABLE_NOT_USABLE},
        {"GET", 599, NULL, "ETag: \"a\"\nCache-Control: public", AFC__STORABLE},
        {"GET", 599, NULL, "ETag: \"a\"\nCache-Control: private", AFC__STORABLE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__storable storable = judge(rows[i].method, rows[i].status, rows[i].request,
                                       rows[i].fields, false);
        if (storable != rows[i].storable) {
            fail_msg("%s %d %s: %d", rows[i].method, rows[i].status, rows[i].fields, (int)storable);
        }
        assert_int_equal(afc__storable_text(storable) == NULL, storable == AFC__STORABLE);
    }
}

static void response_that_names_too_many_fields_is_not_stored(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        afc__storable storable;
    } rows[] = {
        {FRESH "\nConnection: " NAMES, AFC__STORABLE},
        {FRESH "\nConnection: " NAMES ", a", AFC__STORABLE_NOT_COUNTABLE},
        {FRESH "\nConnection: a\nConnection: " NAMES, AFC__STORABLE_NOT_COUNTABLE},
        {FRESH ", no-cache=\"" NAMES "\"", AFC__STORABLE},
        {FRESH ", no-cache=\"" NAMES ", a\"", AFC__STORABLE_NOT_COUNTABLE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(judge("GET", 200, NULL, rows[i].fields, false), rows[i].storable);
    }
    assert_non_null(afc__storable_text(AFC__STORABLE_NOT_COUNTABLE));
}

static bool is_among(const int *statuses, size_t count, int status) {
    for (size_t i = 0; i < count; i++) {
        if (statuses[i] == status) return true;
    }
    return false;
}

static void each_status_is_stored_as_lists_say(void **state) {
    (void)state;
    static const int never[] = {304, 401, 407, 412, 416, 417, 421, 425, 426, 511};
    static const int understood[] = {200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400,
                                     403, 404, 405, 410, 414, 500, 501, 502, 503, 504};
    for (int status = 100; status < 600; status++) {
        bool is_never = status < 200 || is_among(never, COUNT_OF(never), status);
        bool is_understood = is_among(understood, COUNT_OF(understood), status);
        afc__storable plain = is_never ? AFC__STORABLE_NOT_STATUS : AFC__STORABLE;
        afc__storable strict = is_never || is_understood ? plain : AFC__STORABLE_NOT_UNDERSTOOD;
        if (judge("GET", status, NULL, FRESH, false) != plain) fail_msg("%d", status);
        if (judge("GET", status, NULL, FRESH ", must-understand", false) != strict) {
            fail_msg("must-understand: %d", status);
        }
    }
}

static void statuses_about_the_request_only_supersede_nothing(void **state) {
    (void)state;
    static const int superseding[] = {200, 203, 204, 300, 301, 302, 307, 308,
                                      400, 403, 404, 405, 406, 409, 410, 451};
    static const int others[] = {206, 304, 401, 407, 408, 412, 413, 414, 416, 417,
                                 421, 425, 426, 428, 429, 431, 500, 503, 511, 599};
    for (size_t i = 0; i < COUNT_OF(superseding); i++) {
        assert_true(afc__status_supersedes(superseding[i]));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) assert_false(afc__status_supersedes(others[i]));
}

static void post_is_stored_as_content_of_its_url_only(void **state) {
    (void)state;
    assert_int_equal(judge("POST", 200, NULL, FRESH, true), AFC__STORABLE);
    assert_int_equal(judge("POST", 201, NULL, FRESH, true), AFC__STORABLE_NOT_METHOD);
    assert_int_equal(judge("POST", 200, NULL, "ETag: \"a\"", true), AFC__STORABLE_NOT_METHOD);
    assert_int_equal(judge("PUT", 200, NULL, FRESH, true), AFC__STORABLE_NOT_METHOD);
}

static void requests_that_the_url_does_not_name_are_unkeyed(void **state) {
    (void)state;
    static const struct {
        afc_header header;
        bool is_unkeyed;
    } rows[] = {
        {{S_INIT("Host"), S_INIT("a"), 0}, true},
        {{S_INIT("host"), S_INIT("a"), 0}, true},
        {{S_INIT("Host"), S_INIT(""), AFC_HEADER_REMOVE}, false},
        {{S_INIT("X-HTTP-Method-Override"), S_INIT("POST"), 0}, true},
        {{S_INIT("X-HTTP-Method"), S_INIT("POST"), 0}, true},
        {{S_INIT("x-method-override"), S_INIT("POST"), 0}, true},
        {{S_INIT("X-Forwarded-Host"), S_INIT("a"), 0}, false},
        {{S_INIT("Accept"), S_INIT("a"), 0}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (afc__request_is_unkeyed(&rows[i].header, 1) != rows[i].is_unkeyed) {
            fail_msg("row %zu", i);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_response_is_judged_as_its_row_says),
        cmocka_unit_test(response_that_names_too_many_fields_is_not_stored),
        cmocka_unit_test(each_status_is_stored_as_lists_say),
        cmocka_unit_test(statuses_about_the_request_only_supersede_nothing),
        cmocka_unit_test(post_is_stored_as_content_of_its_url_only),
        cmocka_unit_test(requests_that_the_url_does_not_name_are_unkeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
