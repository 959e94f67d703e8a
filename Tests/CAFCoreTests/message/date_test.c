/* Dates of header fields: RFC 9110 5.6.7. */
#include "support/check.h"
#include "support/rows.h"

#include <afcore/message.h>
#include <stdlib.h>
#include <string.h>

/** 22 November 2026, 12:00:00. */
#define NOW INT64_C(1795348800)

static void reads_all_three_formats(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Wed Nov 16 08:49:37 1994", 784975777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Mon, 01 Jan 1900 00:00:00 GMT", -2208988800},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
        {"Saturday, 01-Jan-00 00:00:00 GMT", 946684800},
        {"Tuesday, 31-Dec-80 00:00:00 GMT", 347068800},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t seconds = 0;
        if (!afc_date_parse(afc_slice_of(rows[i].text), NOW, &seconds))
            fail_msg("%s", rows[i].text);
        if (seconds != rows[i].seconds) {
            fail_msg("%s: %lld", rows[i].text, (long long)seconds);
        }
    }
}

static void refuses_invalid_dates(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "0",
        "Sun",
        "Sun,",
        "yesterday",
        "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT",
        "Sun, 06 Nov 1899 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994 GMT",
        "Sundays, 06-Nov-94 08:49:37 GMT",
        "Sunday Nov  6 08:49:37 1994",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t seconds;
        if (afc_date_parse(afc_slice_of(rows[i]), NOW, &seconds)) fail_msg("%s", rows[i]);
    }
    int64_t seconds;
    assert_false(afc_date_parse(S("Sun, 06 Nov 1994 08:49:37\0GMT"), NOW, &seconds));
}

static int64_t read_date(const char *text, int64_t now) {
    int64_t seconds = 0;
    if (!afc_date_parse(afc_slice_of(text), now, &seconds)) fail_msg("%s", text);
    return seconds;
}

static void two_digit_years_are_at_most_fifty_years_ahead(void **state) {
    (void)state;
    /* Fifty years ahead to the second, and a second more, which was a hundred years before. */
    assert_int_equal(read_date("Sunday, 22-Nov-76 12:00:00 GMT", NOW), INT64_C(3373272000));
    assert_int_equal(read_date("Sunday, 22-Nov-76 12:00:01 GMT", NOW), INT64_C(217512001));
    assert_int_equal(read_date("Sunday, 01-Jan-77 00:00:00 GMT", NOW), INT64_C(220924800));
    assert_int_equal(read_date("Monday, 31-Dec-99 23:59:59 GMT", NOW), INT64_C(946684799));
    /* The same text in another time: in 1990, in 2060, and when the time is not known. */
    const char *text = "Monday, 01-Jan-35 00:00:00 GMT";
    assert_int_equal(read_date(text, INT64_C(631152000)), INT64_C(2051222400));
    assert_int_equal(read_date(text, INT64_C(2840140800)), INT64_C(2051222400));
    assert_int_equal(read_date(text, 0), INT64_C(-1104537600));
    assert_int_equal(read_date(text, INT64_C(3786912000)), INT64_C(5206896000));
    assert_int_equal(read_date(text, INT64_MIN), INT64_C(-1104537600));
    assert_int_equal(read_date(text, INT64_MAX), INT64_C(251351078400));
    /* 29 February is fifty years before a year without one. */
    assert_int_equal(read_date("Thursday, 01-Mar-74 00:00:00 GMT", INT64_C(1709164800)),
                     INT64_C(3287088000));
    /* Which century is chosen first; only then it may turn out that it had no such day. */
    int64_t seconds;
    assert_false(
        afc_date_parse(S("Monday, 29-Feb-00 00:00:00 GMT"), INT64_C(4070908800), &seconds));
}

static void writes_what_it_reads(void **state) {
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {-2208988800, "Mon, 01 Jan 1900 00:00:00 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
        {978307199, "Sun, 31 Dec 2000 23:59:59 GMT"},
        {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
    };
    char text[AFC_DATE_SIZE];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(afc_date_write(text, rows[i].seconds));
        assert_string_equal(text, rows[i].text);
        assert_int_equal(read_date(text, NOW), rows[i].seconds);
    }
    const int64_t none[] = {-2208988801, 253402300800, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_false(afc_date_write(text, none[i]));
        assert_string_equal(text, "");
    }
    uint64_t random = 9;
    for (int i = 0; i < 20000; i++) {
        int64_t seconds = (int64_t)(next_random(&random) % 255611289600) - 2208988800;
        assert_true(afc_date_write(text, seconds));
        assert_int_equal(read_date(text, NOW), seconds);
    }
}

/** What the Swift tests read, too. */
static void agrees_with_the_shared_table(void **state) {
    (void)state;
    rows *rows = rows_open("dates.txt");
    char *fields[3];
    while (rows_next(rows, fields, 3)) {
        int64_t seconds = 0;
        bool is_date = afc_date_parse(afc_slice_of(fields[0]), strtoll(fields[1], NULL, 10),
                                      &seconds);
        bool is_expected = strcmp(fields[2], "-") != 0;
        if (is_date != is_expected || (is_date && seconds != strtoll(fields[2], NULL, 10))) {
            fail_msg("%s: %lld", fields[0], (long long)seconds);
        }
    }
    assert_true(rows_close(rows) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_three_formats),
        cmocka_unit_test(refuses_invalid_dates),
        cmocka_unit_test(two_digit_years_are_at_most_fifty_years_ahead),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(agrees_with_the_shared_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
