/* Age and lifetime: RFC 9111 4.2. The response was received at NOW, which is the date in the rows. */
#include "http_cache/rules/freshness.h"
#include "support/head.h"

#include <stdio.h>

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW INT64_C(784111777)
#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT"
#define IN_AN_HOUR "Sun, 06 Nov 1994 09:49:37 GMT"
#define YEARS_AGO "Last-Modified: Tue, 01 Jan 1980 00:00:00 GMT"
#define MOST AFC__DELTA_MAX

static afc__freshness freshness_of(int status, const char *fields, int64_t request_time,
                                   int64_t response_time, bool has_query) {
    parsed_head head;
    afc__http_cache_control control;
    make_head(&head, status, fields);
    afc__response_control_read(&control, head.headers, head.head.header_count);
    afc__freshness_question question = {&head.head, &control, request_time, response_time,
                                        has_query};
    return afc__freshness_of(&question);
}

/* ---- Lifetimes, RFC 9111 4.2.1 --------------------------------------------------------------- */

static void lifetime_comes_from_max_age_then_expires(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        int64_t lifetime;
        afc__lifetime_source source;
    } rows[] = {
        {DATE, 0, AFC__LIFETIME_NONE},
        {"", 0, AFC__LIFETIME_NONE},
        {"Cache-Control: max-age=60", 60, AFC__LIFETIME_EXPLICIT},
        {"Cache-Control: max-age=60\nExpires: " IN_AN_HOUR, 60, AFC__LIFETIME_EXPLICIT},
        {"Cache-Control: max-age=0\nExpires: " IN_AN_HOUR, 0, AFC__LIFETIME_EXPLICIT},
        /* For shared caches only. */
        {"Cache-Control: s-maxage=60", 0, AFC__LIFETIME_NONE},
        {"Cache-Control: s-maxage=60, max-age=5", 5, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: " IN_AN_HOUR, 3600, AFC__LIFETIME_EXPLICIT},
        {"Expires: " IN_AN_HOUR, 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 08:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 08:49:36 GMT", 0, AFC__LIFETIME_EXPLICIT},
        /* From Date to Expires, not from now. */
        {"Date: Sun, 06 Nov 1994 07:49:37 GMT\nExpires: " IN_AN_HOUR, 7200, AFC__LIFETIME_EXPLICIT},
        {"Date: Sun, 06 Nov 1994 09:49:37 GMT\nExpires: " IN_AN_HOUR, 0, AFC__LIFETIME_EXPLICIT},
        {"Date: x\nExpires: " IN_AN_HOUR, 3600, AFC__LIFETIME_EXPLICIT},
        /* The other forms, and any case. */
        {DATE "\nExpires: Sunday, 06-Nov-94 09:49:37 GMT", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun Nov  6 09:49:37 1994", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: SUN, 06 Nov 1994 09:49:37 GMT", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 NOV 1994 09:49:37 GMT", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: sun, 06 nov 1994 09:49:37 gmt", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: sunday, 06-nov-94 09:49:37 gMT", 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 21 Nov 2286 04:46:39 GMT", MOST, AFC__LIFETIME_EXPLICIT},
        /* Invalid: already stale (RFC 9111 5.3). */
        {DATE "\nExpires: 0", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: -1", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires:", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: never", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 09:49:37 UTC", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 09:49:37 AEST", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 09:49:37 +0000", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 09:49:37", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 94 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun 06 Nov 1994 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06  Nov  1994 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06-Nov-1994 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 09.49.37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 9:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 6 Nov 1994 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 31 Nov 1994 09:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: Sun, 06 Nov 1994 25:49:37 GMT", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: 1994-11-06T09:49:37Z", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: 784115377", 0, AFC__LIFETIME_EXPLICIT},
        /* Several. */
        {DATE "\nExpires: " IN_AN_HOUR "\nExpires: " IN_AN_HOUR, 3600, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: " IN_AN_HOUR "\nExpires: 0", 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: 0\nExpires: " IN_AN_HOUR, 0, AFC__LIFETIME_EXPLICIT},
        {DATE "\nExpires: " IN_AN_HOUR ", " IN_AN_HOUR, 0, AFC__LIFETIME_EXPLICIT},
        /* Invalid or not, Expires forbids to guess. */
        {DATE "\nExpires: 0\n" YEARS_AGO, 0, AFC__LIFETIME_EXPLICIT},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__freshness out = freshness_of(200, rows[i].fields, NOW, NOW, false);
        if (out.lifetime != rows[i].lifetime || out.source != rows[i].source) {
            fail_msg("%s: %lld", rows[i].fields, (long long)out.lifetime);
        }
    }
}

/* ---- Heuristics, RFC 9111 4.2.2 -------------------------------------------------------------- */

static void lifetime_is_guessed_for_some_statuses(void **state) {
    (void)state;
    static const short guessed[] = {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501};
    for (int status = 200; status < 600; status++) {
        bool is_guessed = false;
        for (size_t i = 0; i < COUNT_OF(guessed); i++) is_guessed |= guessed[i] == status;
        afc__freshness out = freshness_of(status, DATE "\n" YEARS_AGO, NOW, NOW, false);
        if ((out.lifetime > 0) != is_guessed) fail_msg("%d", status);
        assert_int_equal(out.source, is_guessed ? AFC__LIFETIME_HEURISTIC : AFC__LIFETIME_NONE);
        out = freshness_of(status, DATE "\nCache-Control: public\n" YEARS_AGO, NOW, NOW, false);
        assert_int_equal(out.source, AFC__LIFETIME_HEURISTIC);
    }
}

static void guess_is_a_tenth_with_bounds(void **state) {
    (void)state;
    static const struct {
        const char *modified;
        bool has_query;
        int64_t lifetime;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:32 GMT", false, 0},
        {"Sun, 06 Nov 1994 08:49:27 GMT", false, 1},
        {"Sun, 06 Nov 1994 08:47:57 GMT", false, 10},
        {"Sun, 06 Nov 1994 07:49:37 GMT", false, 360},
        {"Sat, 05 Nov 1994 08:49:37 GMT", false, 8640},
        {"SAT, 05 NOV 1994 08:49:37 gmt", false, 8640},
        {"Tue, 01 Jan 1980 00:00:00 GMT", false, AFC__HEURISTIC_MAX_S},
        {"Sat, 05 Nov 1994 08:49:37 GMT", true, 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", false, 0},
        {"Sun, 06 Nov 1994 09:49:37 GMT", false, 0},
        {"yesterday", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char fields[128];
        snprintf(fields, sizeof fields, DATE "\nLast-Modified: %s", rows[i].modified);
        afc__freshness out = freshness_of(200, fields, NOW, NOW, rows[i].has_query);
        if (out.lifetime != rows[i].lifetime) {
            fail_msg("%s: %lld", fields, (long long)out.lifetime);
        }
    }
}

/* ---- Ages, RFC 9111 4.2.3 -------------------------------------------------------------------- */

static void age_is_the_larger_of_date_and_field(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        int64_t delay, age;
    } rows[] = {
        {DATE, 0, 0},
        {"", 0, 0},
        {"", 7, 7},
        {"Date: Sun, 06 Nov 1994 08:49:27 GMT", 0, 10},
        {"Date: Wed, 31 Dec 1969 23:59:50 GMT", 0, NOW + 10},
        {"Date: Sun, 06 Nov 1994 08:49:27 GMT", 7, 10},
        {"Date: Sun, 06 Nov 1994 08:49:27 GMT", 20, 20},
        {"Date: Sun, 06 Nov 1994 09:49:27 GMT", 0, 0},
        {DATE "\nAge: 30", 0, 30},
        {DATE "\nAge: 30", 5, 35},
        {"Date: Sun, 06 Nov 1994 08:49:27 GMT\nAge: 30", 5, 35},
        {"Date: Sun, 06 Nov 1994 07:49:37 GMT\nAge: 30", 5, 3600},
        {DATE "\nAge: 0", 0, 0},
        {DATE "\nAge: 007", 0, 7},
        /* Invalid ones are ignored, of several the first one counts (RFC 9111 5.1). */
        {DATE "\nAge: abc", 0, 0},
        {DATE "\nAge: -7200", 0, 0},
        {DATE "\nAge: 7200.0", 0, 0},
        {DATE "\nAge: +7200", 0, 0},
        {DATE "\nAge: 7200;foo=bar", 0, 0},
        {DATE "\nAge: \"7200\"", 0, 0},
        {DATE "\nAge: 0x10", 0, 0},
        {DATE "\nAge: 72 00", 0, 0},
        {DATE "\nAge:", 0, 0},
        {DATE "\nAge: ,7200", 0, 0},
        {DATE "\nAge: 7200, 0", 0, 7200},
        {DATE "\nAge: 0, 7200", 0, 0},
        {DATE "\nAge: 0, 0", 0, 0},
        {DATE "\nAge: 7200\nAge: 0", 0, 7200},
        {DATE "\nAge: 0\nAge: 7200", 0, 0},
        {DATE "\nAge: x\nAge: 7200", 0, 0},
        {DATE "\nAge: 2147483647", 0, 2147483647},
        {DATE "\nAge: 2147483648", 0, MOST},
        {DATE "\nAge: 2147483649", 9, MOST},
        {DATE "\nAge: 99999999999999999999", 0, MOST},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__freshness out = freshness_of(200, rows[i].fields, NOW - rows[i].delay, NOW, false);
        if (out.initial_age != rows[i].age) {
            fail_msg("%s: %lld", rows[i].fields, (long long)out.initial_age);
        }
    }
}

static void current_age_grows_with_the_clock(void **state) {
    (void)state;
    static const struct {
        int64_t initial, since, age;
    } rows[] = {
        {0, 0, 0},
        {0, 100, 100},
        {30, 100, 130},
        {30, 0, 30},
        {MOST, 1, MOST},
        {0, MOST + 1, MOST},
        {0, INT64_MAX - NOW, MOST},
        /* The clock was set back: nothing is known. */
        {0, -1, MOST},
        {30, -100000, MOST},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__freshness freshness = {60, rows[i].initial, AFC__LIFETIME_EXPLICIT};
        int64_t age = afc__current_age(&freshness, NOW, NOW + rows[i].since);
        if (age != rows[i].age) fail_msg("row %zu: %lld", i, (long long)age);
    }
}

static void clock_set_back_during_request_makes_no_negative_delay(void **state) {
    (void)state;
    assert_int_equal(freshness_of(200, DATE "\nAge: 5", NOW + 1000, NOW, false).initial_age, 5);
}

/** With -fsanitize=undefined an overflow ends the program. */
static void extreme_times_are_limited(void **state) {
    (void)state;
    static const char fields[] = "Date: Thu, 01 Jan 1601 00:00:00 GMT\nAge: 99999999999\n"
                                 "Last-Modified: Thu, 01 Jan 1601 00:00:00 GMT";
    static const int64_t times[] = {INT64_MIN, 0, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        for (size_t j = 0; j < COUNT_OF(times); j++) {
            afc__freshness out = freshness_of(200, fields, times[i], times[j], false);
            assert_int_equal(out.initial_age, MOST);
            out.initial_age = 0;
            bool is_later = times[j] > times[i], is_back = times[j] < times[i];
            assert_int_equal(afc__current_age(&out, times[i], times[j]),
                             is_later || is_back ? MOST : 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetime_comes_from_max_age_then_expires),
        cmocka_unit_test(lifetime_is_guessed_for_some_statuses),
        cmocka_unit_test(guess_is_a_tenth_with_bounds),
        cmocka_unit_test(age_is_the_larger_of_date_and_field),
        cmocka_unit_test(current_age_grows_with_the_clock),
        cmocka_unit_test(extreme_times_are_limited),
        cmocka_unit_test(clock_set_back_during_request_makes_no_negative_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
