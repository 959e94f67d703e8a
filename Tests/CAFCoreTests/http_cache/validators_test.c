/* Conditional requests, made and answered: RFC 9110 8.8 and 13, RFC 9111 4.3. */
#include "http_cache/rules/validators.h"
#include "support/head.h"

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW INT64_C(784111777)
#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define EARLIER "Sun, 06 Nov 1994 07:49:37 GMT"
#define LATER "Sun, 06 Nov 1994 09:49:37 GMT"

static void conditions_are_made_of_the_stored_validators(void **state) {
    (void)state;
    static const struct {
        const char *stored, *tag, *date;
    } rows[] = {
        {"", NULL, NULL},
        {"ETag: \"a\"", "\"a\"", NULL},
        {"ETag: W/\"a\"", "W/\"a\"", NULL},
        {"ETag: a", "a", NULL},
        {"ETag:", NULL, NULL},
        {"Last-Modified: " DATE, NULL, DATE},
        {"ETag: \"a\"\nLast-Modified: " DATE, "\"a\"", DATE},
        {"Last-Modified: x", NULL, "x"},
        {"Last-Modified:", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head stored;
        afc_header out[AFC__CONDITIONS_MAX];
        make_head(&stored, 200, rows[i].stored);
        size_t at = 0, count = afc__conditions_write(out, &stored.head);
        if (rows[i].tag != NULL) {
            check_slice(out[at].name, "If-None-Match");
            check_slice(out[at++].value, rows[i].tag);
        }
        if (rows[i].date != NULL) {
            check_slice(out[at].name, "If-Modified-Since");
            check_slice(out[at++].value, rows[i].date);
        }
        assert_int_equal(count, at);
    }
}

static void conditions_of_requests_are_evaluated(void **state) {
    (void)state;
    enum {
        NONE = AFC__CONDITION_NONE,
        SAME = AFC__CONDITION_NOT_MODIFIED,
        OTHER = AFC__CONDITION_MODIFIED,
        PASS = AFC__CONDITION_OTHER
    };
    static const struct {
        const char *request, *stored;
        int condition;
    } rows[] = {
        {"", "ETag: \"a\"", NONE},
        {"If-None-Match: \"a\"", "ETag: \"a\"", SAME},
        {"if-none-match: \"a\"", "etag: \"a\"", SAME},
        {"If-None-Match: \"b\"", "ETag: \"a\"", OTHER},
        {"If-None-Match: \"a\"", "", OTHER},
        {"If-None-Match: *", "ETag: \"a\"", SAME},
        {"If-None-Match: *", "", SAME},
        /* Weakly. */
        {"If-None-Match: W/\"a\"", "ETag: \"a\"", SAME},
        {"If-None-Match: \"a\"", "ETag: W/\"a\"", SAME},
        {"If-None-Match: W/\"a\"", "ETag: W/\"a\"", SAME},
        {"If-None-Match: w/\"a\"", "ETag: \"a\"", OTHER},
        {"If-None-Match: \"A\"", "ETag: \"a\"", OTHER},
        {"If-None-Match: a", "ETag: \"a\"", OTHER},
        {"If-None-Match: a", "ETag: a", SAME},
        /* Lists. */
        {"If-None-Match: \"a\", \"b\", \"c\"", "ETag: \"a\"", SAME},
        {"If-None-Match: \"a\", \"b\", \"c\"", "ETag: \"b\"", SAME},
        {"If-None-Match: \"a\", \"b\", \"c\"", "ETag: \"c\"", SAME},
        {"If-None-Match: \"a\", \"b\", \"c\"", "ETag: \"d\"", OTHER},
        {"If-None-Match: \"a\",W/\"b\"", "ETag: \"b\"", SAME},
        {"If-None-Match: \"a,b\"", "ETag: \"a\"", OTHER},
        {"If-None-Match: \"a,b\"", "ETag: \"a,b\"", SAME},
        {"If-None-Match: \"x\"\nIf-None-Match: \"a\"", "ETag: \"a\"", SAME},
        {"If-None-Match:", "ETag: \"a\"", OTHER},
        {"If-None-Match: ,,", "", OTHER},
        /* Dates. */
        {"If-Modified-Since: " DATE, "Last-Modified: " DATE, SAME},
        {"If-Modified-Since: " LATER, "Last-Modified: " DATE, SAME},
        {"If-Modified-Since: " EARLIER, "Last-Modified: " DATE, OTHER},
        {"If-Modified-Since: " EARLIER, "Last-Modified: " EARLIER, SAME},
        {"If-Modified-Since: " EARLIER, "Last-Modified: " EARLIER "\nDate: " DATE, SAME},
        {"If-Modified-Since: " EARLIER, "Last-Modified: " DATE "\nDate: " EARLIER, OTHER},
        {"If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", "Last-Modified: " DATE, SAME},
        {"If-Modified-Since: Sun Nov  6 08:49:37 1994", "Last-Modified: " DATE, SAME},
        {"If-Modified-Since: x", "Last-Modified: " DATE, NONE},
        {"If-Modified-Since: " DATE, "Date: " DATE, SAME},
        {"If-Modified-Since: " EARLIER, "Date: " DATE, OTHER},
        {"If-Modified-Since: " EARLIER, "Date: " EARLIER, SAME},
        {"If-Modified-Since: " DATE, "", SAME},
        {"If-Modified-Since: " EARLIER, "", OTHER},
        {"If-Modified-Since: " LATER, "Last-Modified: x\nDate: " DATE, SAME},
        /* The tag has precedence. */
        {"If-None-Match: \"a\"\nIf-Modified-Since: " EARLIER, "ETag: \"a\"\nLast-Modified: " DATE,
         SAME},
        {"If-None-Match: \"b\"\nIf-Modified-Since: " LATER, "ETag: \"a\"\nLast-Modified: " DATE,
         OTHER},
        {"If-None-Match: \"a\"\nIf-Modified-Since: x", "ETag: \"a\"", SAME},
        /* The server's. */
        {"If-Match: \"a\"", "ETag: \"a\"", PASS},
        {"If-Unmodified-Since: " DATE, "Last-Modified: " DATE, PASS},
        {"If-Match: *\nIf-None-Match: \"a\"", "ETag: \"a\"", PASS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head request, stored;
        make_head(&request, 200, rows[i].request);
        make_head(&stored, 200, rows[i].stored);
        size_t count = request.head.header_count;
        afc__condition condition = afc__condition_of(request.headers, count, &stored.head, NOW);
        if ((int)condition != rows[i].condition) {
            fail_msg("%s / %s: %d", rows[i].request, rows[i].stored, (int)condition);
        }
        bool has_any = afc__has_conditions(request.headers, count);
        assert_int_equal(has_any, rows[i].request[0] != '\0');
    }
}

static void if_range_needs_a_strong_validator(void **state) {
    (void)state;
    static const struct {
        const char *value, *stored;
        bool is_allowed;
    } rows[] = {
        {"\"a\"", "ETag: \"a\"", true},
        {"\"a\"", "ETag: \"b\"", false},
        {"\"a\"", "ETag: W/\"a\"", false},
        {"W/\"a\"", "ETag: W/\"a\"", false},
        {"W/\"a\"", "ETag: \"a\"", false},
        {"a", "ETag: a", false},
        {"\"a b\"", "ETag: \"a b\"", false},
        {"\"a\"", "ETag: \"a\"\nETag: \"b\"", false},
        {"\"a\"", "", false},
        {"", "ETag: \"a\"", false},
        {EARLIER, "Last-Modified: " EARLIER "\nDate: " DATE, true},
        {DATE, "Last-Modified: " DATE "\nDate: " DATE, false},
        {EARLIER, "Last-Modified: " EARLIER, false},
        {DATE, "Last-Modified: " EARLIER "\nDate: " DATE, false},
        {LATER, "Last-Modified: " EARLIER "\nDate: " DATE, false},
        {"x", "Last-Modified: x\nDate: " DATE, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head stored;
        make_head(&stored, 200, rows[i].stored);
        if (afc__if_range_allows(afc_slice_of(rows[i].value), &stored.head) != rows[i].is_allowed) {
            fail_msg("%s / %s", rows[i].value, rows[i].stored);
        }
    }
}

static void heads_agree_by_tag_then_by_date(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool agree;
    } rows[] = {
        {"ETag: \"a\"", "ETag: \"a\"", true},
        {"ETag: \"a\"", "ETag: W/\"a\"", true},
        {"ETag: \"a\"", "ETag: \"b\"", false},
        {"ETag: \"a\"\nLast-Modified: " DATE, "ETag: \"b\"\nLast-Modified: " DATE, false},
        {"ETag: \"a\"\nLast-Modified: " DATE, "Last-Modified: " DATE, true},
        {"Last-Modified: " DATE, "Last-Modified: " LATER, false},
        {"ETag: \"a\"", "Last-Modified: " DATE, false},
        {"", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head a, b;
        make_head(&a, 200, rows[i].a);
        make_head(&b, 200, rows[i].b);
        if (afc__validators_agree(&a.head, &b.head) != rows[i].agree) fail_msg("row %zu", i);
    }
}

static void validator_that_is_not_stored_contradicts(void **state) {
    (void)state;
    static const struct {
        const char *update, *stored;
        bool contradicts;
    } rows[] = {
        {"ETag: \"a\"", "ETag: \"a\"", false},
        {"ETag: \"a\"", "ETag: W/\"a\"", false},
        {"ETag: \"a\"", "ETag: \"b\"", true},
        {"ETag: W/\"a\"", "ETag: W/\"b\"", true},
        {"ETag: \"a\"", "Last-Modified: " DATE, true},
        {"ETag: W/\"a\"", "Last-Modified: " DATE, false},
        {"Last-Modified: " DATE, "ETag: \"a\"", false},
        /* Without a tag, the date counts, in any of its forms. */
        {"Last-Modified: " DATE, "Last-Modified: " DATE, false},
        {"Last-Modified: " EARLIER, "Last-Modified: " DATE, true},
        {"Last-Modified: " LATER, "ETag: \"a\"\nLast-Modified: " DATE, true},
        {"Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT", "Last-Modified: " DATE, false},
        {"Last-Modified: x", "Last-Modified: " DATE, false},
        {"ETag: \"a\"\nLast-Modified: " LATER, "ETag: \"a\"\nLast-Modified: " DATE, false},
        {"", "Last-Modified: " DATE, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head a, b;
        make_head(&a, 304, rows[i].update);
        make_head(&b, 200, rows[i].stored);
        bool contradicts = afc__validators_contradict(&a.head, &b.head);
        if (contradicts != rows[i].contradicts) fail_msg("row %zu", i);
    }
}

static void head_describes_what_has_its_validators_and_length(void **state) {
    (void)state;
    static const struct {
        const char *head, *stored;
        int64_t body_size;
        bool describes;
    } rows[] = {
        {"", "", 3, true},
        {"", "ETag: \"a\"\nLast-Modified: " DATE "\nContent-Length: 3", 3, true},
        {"ETag: \"a\"", "ETag: \"a\"", 3, true},
        {"ETag: \"a\"", "ETag: \"b\"", 3, false},
        {"ETag: \"a\"", "", 3, false},
        {"ETag: \"a\"", "Last-Modified: " DATE, 3, false},
        {"Last-Modified: " DATE, "Last-Modified: " DATE, 3, true},
        {"Last-Modified: " DATE, "", 3, false},
        {"ETag: W/\"a\"\nLast-Modified: " LATER, "ETag: W/\"a\"\nLast-Modified: " DATE, 3, false},
        {"Content-Length: 3", "Content-Length: 3", 3, true},
        {"Content-Length: 3", "Content-Length: 4", 4, false},
        /* The lengths are those before decoding. */
        {"Content-Length: 3", "Content-Length: 3", -1, true},
        {"Content-Length: 3", "", 3, true},
        {"Content-Length: 3", "", 4, false},
        {"Content-Length: 3", "", -1, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head, stored;
        make_head(&head, 200, rows[i].head);
        make_head(&stored, 200, rows[i].stored);
        bool describes = afc__head_describes_stored(&head.head, &stored.head, rows[i].body_size);
        if (describes != rows[i].describes) fail_msg("row %zu", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_made_of_the_stored_validators),
        cmocka_unit_test(conditions_of_requests_are_evaluated),
        cmocka_unit_test(if_range_needs_a_strong_validator),
        cmocka_unit_test(heads_agree_by_tag_then_by_date),
        cmocka_unit_test(validator_that_is_not_stored_contradicts),
        cmocka_unit_test(head_describes_what_has_its_validators_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
