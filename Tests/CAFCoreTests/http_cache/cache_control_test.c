/* Cache-Control in every form: RFC 9111 5.2, and 4.2.1 for what is repeated or invalid. */
#include "http_cache/rules/cache_control.h"
#include "support/head.h"

enum { NONE = AFC__CONTROL_ABSENT };
#define MOST AFC__DELTA_MAX

static void read_it(afc__http_cache_control *out, parsed_head *head, const char *fields,
                    bool is_request) {
    make_head(head, 200, fields);
    if (is_request) {
        afc__request_control_read(out, head->headers, head->head.header_count);
    } else {
        afc__response_control_read(out, head->headers, head->head.header_count);
    }
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void max_age_is_read_in_each_form(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        int64_t max_age;
    } rows[] = {
        {"Cache-Control: max-age=0", 0},
        {"Cache-Control: max-age=1", 1},
        {"Cache-Control: max-age=3600", 3600},
        {"cache-control: MAX-AGE=3600", 3600},
        {"Cache-Control: Max-Age=3600", 3600},
        {"Cache-Control: max-age=003600", 3600},
        {"Cache-Control: max-age=\"3600\"", 3600},
        {"Cache-Control: max-age=\"0\"", 0},
        {"Cache-Control:    max-age=3600   ", 3600},
        {"Cache-Control: public,max-age=3600", 3600},
        {"Cache-Control: ,, ,max-age=3600,,", 3600},
        {"Cache-Control: public ,\tmax-age=3600", 3600},
        {"Cache-Control: public\nCache-Control: max-age=3600", 3600},
        /* Huge ones become the largest (RFC 9111 1.2.2). */
        {"Cache-Control: max-age=2147483647", 2147483647},
        {"Cache-Control: max-age=2147483648", MOST},
        {"Cache-Control: max-age=2147483649", MOST},
        {"Cache-Control: max-age=4294967296", MOST},
        {"Cache-Control: max-age=9223372036854775808", MOST},
        {"Cache-Control: max-age=99999999999999999999999999999999", MOST},
        /* Invalid ones make the response stale. */
        {"Cache-Control: max-age", 0},
        {"Cache-Control: max-age=", 0},
        {"Cache-Control: max-age=\"\"", 0},
        {"Cache-Control: max-age=-1", 0},
        {"Cache-Control: max-age=+1", 0},
        {"Cache-Control: max-age=a3600", 0},
        {"Cache-Control: max-age=3600a", 0},
        {"Cache-Control: max-age=3600.0", 0},
        {"Cache-Control: max-age=3600.5", 0},
        {"Cache-Control: max-age='3600'", 0},
        {"Cache-Control: max-age= 3600", 0},
        {"Cache-Control: max-age=3600 0", 0},
        {"Cache-Control: max-age=0x10", 0},
        {"Cache-Control: max-age=1e3", 0},
        {"Cache-Control: max-age=3600;x", 0},
        {"Cache-Control: max-age==3600", 0},
        {"Cache-Control: max-age=\"3600", 0},
        /* With a space before it, "=" belongs to another name. */
        {"Cache-Control: max-age =3600", NONE},
        {"Cache-Control: maxage=3600", NONE},
        {"Cache-Control: x-max-age=3600", NONE},
        {"Cache-Control: max-age-x=3600", NONE},
        {"Cache-Control: \"max-age=3600\"", NONE},
        {"Cache-Control: x=\"max-age=3600\"", NONE},
        {"Cache-Control: x=\"a, max-age=3600\"", NONE},
        {"Cache-Control: x=\"a\\\", max-age=3600\"", NONE},
        {"Cache-Control: x=\"\\\\\", max-age=3600", 3600},
        {"Cache-Control: x=\"max-age=3600\", max-age=1", 1},
        {"Cache-Control: max-age=1, x=\"max-age=3600\"", 1},
        {"Cache-Control: public; max-age=3600", NONE},
        {"X-Cache-Control: max-age=3600", NONE},
        {"Cache-Control: ", NONE},
        {"", NONE},
        /* The first one counts. */
        {"Cache-Control: max-age=1800, max-age=1", 1800},
        {"Cache-Control: max-age=1, max-age=1800", 1},
        {"Cache-Control: max-age=1800\nCache-Control: max-age=1", 1800},
        {"Cache-Control: max-age=1\nCache-Control: max-age=1800", 1},
        {"Cache-Control: max-age=x, max-age=1800", 0},
        {"Cache-Control: max-age=5, max-age=5", 5},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc__http_cache_control control;
        read_it(&control, &head, rows[i].fields, false);
        if (control.max_age != rows[i].max_age) {
            fail_msg("%s: %lld", rows[i].fields, (long long)control.max_age);
        }
    }
}

static void other_numbers_are_read(void **state) {
    (void)state;
    parsed_head head;
    afc__http_cache_control control;
    read_it(&control, &head,
            "Cache-Control: s-maxage=1, stale-while-revalidate=2, stale-if-error=3", false);
    assert_int_equal(control.s_maxage, 1);
    assert_int_equal(control.stale_while_revalidate, 2);
    assert_int_equal(control.stale_if_error, 3);
    assert_int_equal(control.max_age, NONE);
    read_it(&control, &head, "Cache-Control: stale-while-revalidate, stale-if-error=x", false);
    assert_int_equal(control.stale_while_revalidate, 0);
    assert_int_equal(control.stale_if_error, 0);
}

/* ---- Requests, RFC 9111 5.2.1 ---------------------------------------------------------------- */

static void numbers_of_requests_are_strict_when_invalid(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        int64_t max_age, max_stale, min_fresh;
    } rows[] = {
        {"Cache-Control: max-age=5", 5, NONE, NONE},
        {"Cache-Control: max-age=x", 0, NONE, NONE},
        {"Cache-Control: max-stale=5", NONE, 5, NONE},
        {"Cache-Control: max-stale", NONE, MOST, NONE},
        {"Cache-Control: max-stale=", NONE, 0, NONE},
        {"Cache-Control: max-stale=x", NONE, 0, NONE},
        {"Cache-Control: max-stale=-5", NONE, 0, NONE},
        {"Cache-Control: min-fresh=5", NONE, NONE, 5},
        {"Cache-Control: min-fresh", NONE, NONE, MOST},
        {"Cache-Control: min-fresh=x", NONE, NONE, MOST},
        {"Cache-Control: max-age=1, max-stale=2, min-fresh=3", 1, 2, 3},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc__http_cache_control control;
        read_it(&control, &head, rows[i].fields, true);
        bool is_same = control.max_age == rows[i].max_age &&
                       control.max_stale == rows[i].max_stale &&
                       control.min_fresh == rows[i].min_fresh;
        if (!is_same) fail_msg("%s", rows[i].fields);
    }
}

static void pragma_counts_without_cache_control_only(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        bool is_request, is_no_cache;
    } rows[] = {
        {"Pragma: no-cache", true, true},
        {"pragma: NO-CACHE", true, true},
        {"Pragma: x, no-cache", true, true},
        {"Pragma: x=\"no-cache\"", true, false},
        {"Pragma: no-cache=x", true, false},
        {"Pragma: x", true, false},
        {"Pragma: no-cache\nCache-Control: max-age=1", true, false},
        {"Cache-Control: max-stale\nPragma: no-cache", true, false},
        {"Pragma: no-cache", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        afc__http_cache_control control;
        read_it(&control, &head, rows[i].fields, rows[i].is_request);
        bool is_no_cache = (control.flags & AFC__CONTROL_NO_CACHE) != 0;
        if (is_no_cache != rows[i].is_no_cache) fail_msg("%s", rows[i].fields);
    }
}

static void removed_fields_of_requests_are_not_read(void **state) {
    (void)state;
    afc__http_cache_control control;
    const afc_header header = {S("Cache-Control"), S("no-store"), AFC_HEADER_REMOVE};
    afc__request_control_read(&control, &header, 1);
    assert_int_equal(control.flags, 0);
}

/* ---- Flags ----------------------------------------------------------------------------------- */

static void flags_are_read_in_each_form(void **state) {
    (void)state;
    enum {
        STORE = AFC__CONTROL_NO_STORE,
        CACHE = AFC__CONTROL_NO_CACHE,
        MUST = AFC__CONTROL_MUST_REVALIDATE,
        OPEN = AFC__CONTROL_PUBLIC,
        OWN = AFC__CONTROL_PRIVATE,
        FIXED = AFC__CONTROL_IMMUTABLE,
        KNOW = AFC__CONTROL_MUST_UNDERSTAND,
        LOCAL = AFC__CONTROL_ONLY_IF_CACHED,
        BROKEN = AFC__CONTROL_BROKEN
    };
    static const struct {
        const char *fields;
        unsigned flags;
    } rows[] = {
        {"no-store", STORE},
        {"No-StOrE", STORE},
        {"no-store=x", STORE},
        {"no-store=\"x, y\"", STORE},
        {"no-store, max-age=1", STORE},
        {"max-age=1,no-store", STORE},
        {"x=\"no-store\"", 0},
        {"nostore", 0},
        {"no-cache", CACHE},
        {"NO-CACHE", CACHE},
        {"no-cache=", CACHE},
        {"no-cache=\"\"", CACHE},
        {"no-cache=\" \"", CACHE},
        {"no-cache=\"a\"", 0},
        {"no-cache=a", 0},
        {"no-cache=\"a\", no-cache", CACHE},
        {"must-revalidate", MUST},
        {"proxy-revalidate", 0},
        {"public", OPEN},
        {"private", OWN},
        {"private=\"set-cookie\"", OWN},
        {"immutable", FIXED},
        {"must-understand, no-store", KNOW | STORE},
        {"only-if-cached", LOCAL},
        {"no-transform", 0},
        {"public, private, no-store, no-cache, must-revalidate", OPEN | OWN | STORE | CACHE | MUST},
        {"x=\"no end, no-store", BROKEN},
        {"no-store, x=\"no end", STORE | BROKEN},
        {"\"", BROKEN},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__http_cache_control control;
        const afc_header header = {S("Cache-Control"), afc_slice_of(rows[i].fields), 0};
        afc__response_control_read(&control, &header, 1);
        unsigned flags = control.flags & ~(unsigned)AFC__CONTROL_PRESENT;
        if (flags != rows[i].flags) fail_msg("%s: 0x%x", rows[i].fields, flags);
    }
}

static void too_many_lists_of_names_count_as_no_cache(void **state) {
    (void)state;
    afc_header headers[AFC__CONTROL_LISTS_MAX + 1];
    afc__http_cache_control control;
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        headers[i] = (afc_header){S("Cache-Control"), S("no-cache=\"a\""), 0};
    }
    afc__response_control_read(&control, headers, COUNT_OF(headers) - 1);
    assert_int_equal(control.flags, AFC__CONTROL_PRESENT);
    afc__response_control_read(&control, headers, COUNT_OF(headers));
    assert_true((control.flags & AFC__CONTROL_NO_CACHE) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_age_is_read_in_each_form),
        cmocka_unit_test(other_numbers_are_read),
        cmocka_unit_test(numbers_of_requests_are_strict_when_invalid),
        cmocka_unit_test(pragma_counts_without_cache_control_only),
        cmocka_unit_test(removed_fields_of_requests_are_not_read),
        cmocka_unit_test(flags_are_read_in_each_form),
        cmocka_unit_test(too_many_lists_of_names_count_as_no_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
