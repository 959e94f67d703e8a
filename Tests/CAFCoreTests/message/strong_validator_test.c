/* Strong validators: RFC 9110 8.8.2.2, 8.8.3, 13.1.5. */
#include "message/strong_validator.h"
#include "support/head.h"

#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT"
#define MINUTE_OLDER "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT"
#define SECONDS_OLDER "Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT"

static void tells_strong_tags_from_others(void **state) {
    (void)state;
    static const struct {
        const char *tag;
        bool is_strong;
    } rows[] = {
        {"\"a\"", true},
        {"\"\"", true},
        {"\"a,b\"", true},
        {"\"\\\"", true},
        {"\"\xE4\"", true},
        {"\"!#~\"", true},
        {"W/\"a\"", false},
        {"w/\"a\"", false},
        {"a", false},
        {"", false},
        {"\"", false},
        {"\"a", false},
        {"a\"", false},
        {"\"a\" \"b\"", false},
        {"\"a b\"", false},
        {"\"a\"b\"", false},
        {"\"a\tb\"", false},
        {"\"a\x7F\"", false},
        {"\"a\", \"b\"", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_strong = afc__is_strong_tag(afc_slice_of(rows[i].tag));
        if (is_strong != rows[i].is_strong) fail_msg("%s", rows[i].tag);
    }
    assert_false(afc__is_strong_tag((afc_slice){NULL, 0}));
    assert_false(afc__is_strong_tag((afc_slice){"\"\0\"", 3}));
}

static void finds_the_strong_validator_or_says_why_there_is_none(void **state) {
    (void)state;
    static const struct {
        const char *fields, *name, *obstacle;
    } rows[] = {
        {"ETag: \"a\"", "ETag", NULL},
        {"ETag: \"a\"\nETag: \"a\"", "ETag", NULL},
        {"ETag: \"a\"\n" SECONDS_OLDER "\n" DATE, "ETag", NULL},
        {MINUTE_OLDER "\n" DATE, "Last-Modified", NULL},
        {"Last-Modified: Sunday, 06-Nov-94 08:48:37 GMT\n"
         "Date: Sunday, 06-Nov-94 08:49:37 GMT",
         "Last-Modified", NULL},
        {"ETag: W/\"a\"\n" MINUTE_OLDER "\n" DATE, NULL, "weak"},
        {"ETag: a\n" MINUTE_OLDER "\n" DATE, NULL, "invalid"},
        {"ETag: \"a b\"", NULL, "invalid"},
        {"ETag: \"a\"\nETag: \"b\"", NULL, "conflicting ETags"},
        {"", NULL, "neither ETag nor Last-Modified"},
        {SECONDS_OLDER "\n" DATE, NULL, "too close"},
        {"Last-Modified: Sun, 06 Nov 1994 08:50:37 GMT\n" DATE, NULL, "too close"},
        {"Last-Modified: Sunday, 06-Nov-94 08:49:36 GMT\n" DATE, NULL, "too close"},
        {MINUTE_OLDER, NULL, "without a Date"},
        {MINUTE_OLDER "\nDate: today", NULL, "without a Date"},
        {MINUTE_OLDER "\n" DATE "\nDate: Mon, 07 Nov 1994 08:49:37 GMT", NULL, "without a Date"},
        {MINUTE_OLDER "\n" SECONDS_OLDER "\n" DATE, NULL, "neither"},
        {"Last-Modified: sun, 06 nov 1994 08:48:37 gmt\n" DATE, NULL, "isn't a date"},
    };
    static const int64_t times[] = {0, 784111777, 4102444800};
    for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(times); i++) {
        parsed_head head;
        size_t row = i / COUNT_OF(times);
        const afc_header *field;
        make_head(&head, 200, rows[row].fields);
        const char *obstacle = afc__find_strong_validator(&head.head, times[i % COUNT_OF(times)],
                                                          &field);
        if ((obstacle == NULL) != (rows[row].obstacle == NULL)) fail_msg("%s", rows[row].fields);
        if (obstacle != NULL) check_contains(obstacle, rows[row].obstacle);
        if (obstacle == NULL) check_slice(field->name, rows[row].name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_strong_tags_from_others),
        cmocka_unit_test(finds_the_strong_validator_or_says_why_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
