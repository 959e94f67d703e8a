/*
 * May a stored response answer? RFC 9111 4.2.4 and 5.2, RFC 5861, RFC 8246: directives of both sides, ages and
 * policies.
 */
#include "http_cache/rules/reuse.h"
#include "support/check.h"

#include <stdio.h>

static void read_text(afc__http_cache_control *out, const char *directives, bool is_request) {
    const afc_header header = {S("Cache-Control"), afc_slice_of(directives), 0};
    if (is_request) {
        afc__request_control_read(out, &header, directives != NULL ? 1 : 0);
    } else {
        afc__response_control_read(out, &header, directives != NULL ? 1 : 0);
    }
}

typedef struct row {
    const char *response; /**< Its directives; max-age is its lifetime. */
    int64_t age;
    const char *request;
    afc_http_cache_policy policy;
    afc__reuse reuse;
} row;

static afc__reuse_question question_of(const row *row, afc__http_cache_control *request,
                                       afc__http_cache_control *response,
                                       afc__freshness *freshness) {
    read_text(request, row->request, true);
    read_text(response, row->response, false);
    int64_t lifetime = response->max_age != AFC__CONTROL_ABSENT ? response->max_age : 0;
    *freshness = (afc__freshness){lifetime, 0, AFC__LIFETIME_EXPLICIT};
    return (afc__reuse_question){request, response, freshness, row->age, row->policy};
}

#define LARGE AFC__DELTA_MAX

static const row rows[] = {
    /* Fresh until the age reaches the lifetime. */
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 59, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 60, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=0", 0, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=99999999999", 60, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=99999999999", LARGE, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {NULL, 0, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    /* no-cache. */
    {"max-age=60, no-cache", 0, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, no-cache=\"a\"", 0, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 0, "no-cache", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, immutable", 0, "no-cache", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 0, "no-store", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_NEVER},
    /* max-age of the request. */
    {"max-age=60", 10, "max-age=20", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 20, "max-age=20", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 0, "max-age=0", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 0, "max-age=x", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 70, "max-age=100", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, immutable", 30, "max-age=20", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    /* min-fresh. */
    {"max-age=60", 10, "min-fresh=40", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 20, "min-fresh=40", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 0, "min-fresh=x", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 0, "min-fresh=0", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    /* max-stale. */
    {"max-age=60", 60, "max-stale", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_STALE},
    {"max-age=60", 1000000, "max-stale", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_STALE},
    {"max-age=60", 70, "max-stale=10", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_STALE},
    {"max-age=60", 71, "max-stale=10", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 61, "max-stale=x", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60", 10, "max-stale=10", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60", 30, "max-age=20, max-stale=15", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_STALE},
    {"max-age=60", 40, "max-age=20, max-stale=15", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, must-revalidate", 61, "max-stale", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, must-revalidate", 10, "max-stale", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60, no-cache", 61, "max-stale", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    /* The clock was set back: the age is unknown. */
    {"max-age=60", LARGE, "max-stale", AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=99999999999", LARGE, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    /* stale-while-revalidate, RFC 5861 3. */
    {"max-age=60, stale-while-revalidate=10", 59, NULL, AFC_HTTP_CACHE_PROTOCOL, AFC__REUSE_FRESH},
    {"max-age=60, stale-while-revalidate=10", 60, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_WHILE_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 70, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_WHILE_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 71, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10, must-revalidate", 65, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10, no-cache", 65, NULL, AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 65, "max-age=50", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 65, "min-fresh=0", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 65, "no-cache", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 65, "max-stale=20", AFC_HTTP_CACHE_PROTOCOL,
     AFC__REUSE_STALE},
    /* Policies. */
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_BYPASS, AFC__REUSE_NEVER},
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_RELOAD, AFC__REUSE_NEVER},
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_ELSE_LOAD, AFC__REUSE_FRESH},
    {"max-age=60", 60, NULL, AFC_HTTP_CACHE_ELSE_LOAD, AFC__REUSE_STALE},
    {"max-age=60", 61, NULL, AFC_HTTP_CACHE_ELSE_LOAD, AFC__REUSE_STALE},
    {"max-age=60, no-cache, must-revalidate", 61, NULL, AFC_HTTP_CACHE_ELSE_LOAD, AFC__REUSE_STALE},
    {"max-age=60", LARGE, NULL, AFC_HTTP_CACHE_ELSE_LOAD, AFC__REUSE_STALE},
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_ONLY, AFC__REUSE_FRESH},
    {"max-age=60", 61, NULL, AFC_HTTP_CACHE_ONLY, AFC__REUSE_STALE},
    {"max-age=60", 0, NULL, AFC_HTTP_CACHE_REVALIDATE, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, immutable", 0, NULL, AFC_HTTP_CACHE_REVALIDATE, AFC__REUSE_FRESH},
    {"max-age=60, immutable", 60, NULL, AFC_HTTP_CACHE_REVALIDATE, AFC__REUSE_AFTER_VALIDATING},
    {"immutable", 0, NULL, AFC_HTTP_CACHE_REVALIDATE, AFC__REUSE_AFTER_VALIDATING},
    {"max-age=60, stale-while-revalidate=10", 65, NULL, AFC_HTTP_CACHE_REVALIDATE,
     AFC__REUSE_AFTER_VALIDATING},
};

static void each_row_is_decided_as_it_says(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__http_cache_control request, response;
        afc__freshness freshness;
        afc__reuse_question question = question_of(&rows[i], &request, &response, &freshness);
        afc__reuse reuse = afc__reuse_of(&question);
        if (reuse != rows[i].reuse) {
            fail_msg("row %zu: %s, age %lld, %s: %d", i,
                     rows[i].response != NULL ? rows[i].response : "", (long long)rows[i].age,
                     rows[i].request != NULL ? rows[i].request : "", (int)reuse);
        }
    }
}

static void stale_response_is_used_on_errors_if_allowed(void **state) {
    (void)state;
    static const struct {
        row row;
        bool is_allowed;
    } cases[] = {
        {{"max-age=60", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, false},
        {{"max-age=60, stale-if-error=10", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, true},
        {{"max-age=60, stale-if-error=10", 70, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, true},
        {{"max-age=60, stale-if-error=10", 71, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, false},
        {{"max-age=60, stale-if-error=x", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, false},
        {{"max-age=60", 61, "stale-if-error=10", AFC_HTTP_CACHE_PROTOCOL, 0}, true},
        {{"max-age=60, stale-if-error=5", 68, "stale-if-error=10", AFC_HTTP_CACHE_PROTOCOL, 0},
         true},
        {{"max-age=60, stale-if-error=10", 30, "max-age=10", AFC_HTTP_CACHE_PROTOCOL, 0}, true},
        {{"max-age=60, stale-if-error=10, must-revalidate", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, 0},
         false},
        {{"max-age=60, stale-if-error=10, no-cache", 61, NULL, AFC_HTTP_CACHE_PROTOCOL, 0}, false},
        {{"max-age=60, stale-if-error=10", 61, "no-cache", AFC_HTTP_CACHE_PROTOCOL, 0}, false},
        {{"max-age=60, stale-if-error=99999999999", LARGE, NULL, AFC_HTTP_CACHE_PROTOCOL, 0},
         false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__http_cache_control request, response;
        afc__freshness freshness;
        afc__reuse_question question = question_of(&cases[i].row, &request, &response, &freshness);
        if (afc__reuse_on_error(&question) != cases[i].is_allowed) fail_msg("row %zu", i);
    }
    for (int status = 100; status < 600; status++) {
        bool is_error = status == 500 || status == 502 || status == 503 || status == 504;
        assert_int_equal(afc__status_is_error(status), is_error);
    }
}

static void request_stays_local_if_it_or_its_policy_says_so(void **state) {
    (void)state;
    afc__http_cache_control request;
    read_text(&request, "only-if-cached", true);
    assert_true(afc__reuse_is_local(&request, AFC_HTTP_CACHE_PROTOCOL));
    read_text(&request, NULL, true);
    assert_true(afc__reuse_is_local(&request, AFC_HTTP_CACHE_ONLY));
    assert_false(afc__reuse_is_local(&request, AFC_HTTP_CACHE_PROTOCOL));
    assert_false(afc__reuse_is_local(&request, AFC_HTTP_CACHE_ELSE_LOAD));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_decided_as_it_says),
        cmocka_unit_test(stale_response_is_used_on_errors_if_allowed),
        cmocka_unit_test(request_stays_local_if_it_or_its_policy_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
