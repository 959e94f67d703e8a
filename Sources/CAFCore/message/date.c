#include "message/date.h"

#include "base/text.h"
#include "message/fields.h"

#include <limits.h>
#include <stdio.h>

/* ---- The calendar -------------------------------------------------------------------------- */

enum {
    SECONDS_OF_DAY = 86400,
    DAYS_BEFORE_1970 = 719162, /* Days since 1 January of year 1, a Monday. */
    DAYS_OF_ERA = 146097       /* Days of 400 years, the period of the Gregorian calendar. */
};

/** The range of dates that are read and written: the first second of 1900 to the last one of 9999. */
static const int64_t earliest = INT64_C(-2208988800), latest = INT64_C(253402300799);

static bool is_leap(int year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

static bool is_real(const afc__date *date) {
    return date->year >= 1 && date->month >= 1 && date->month <= 12 && date->day >= 1 &&
           date->day <= days_of(date->year, date->month) && date->hour >= 0 && date->hour <= 23 &&
           date->minute >= 0 && date->minute <= 59 && date->second >= 0 && date->second <= 60;
}

static int64_t days_since_1970(const afc__date *date) {
    int64_t before = (int64_t)date->year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - DAYS_BEFORE_1970;
    for (int month = 1; month < date->month; month++) days += days_of(date->year, month);
    return days + date->day - 1;
}

/** Returns the Unix time of a date that is valid except for its day, which may be beyond the end of the month. */
static int64_t moment_of(const afc__date *date) {
    return days_since_1970(date) * SECONDS_OF_DAY + (int64_t)date->hour * 3600 +
           (int64_t)date->minute * 60 + date->second;
}

bool afc__date_seconds(const afc__date *date, int64_t *seconds) {
    if (!is_real(date)) return false;
    *seconds = moment_of(date);
    return true;
}

/** Returns the day of a Unix time, counted from 1970 and rounded down. */
static int64_t day_of(int64_t seconds) {
    int64_t day = seconds / SECONDS_OF_DAY;
    return seconds % SECONDS_OF_DAY < 0 ? day - 1 : day;
}

/** Returns the calendar date of a Unix time. */
static afc__date date_of(int64_t seconds) {
    int64_t days = day_of(seconds) + DAYS_BEFORE_1970;
    int rest = (int)(days % DAYS_OF_ERA),
        second = (int)(seconds - day_of(seconds) * SECONDS_OF_DAY);
    afc__date date = {
        (int)(days / DAYS_OF_ERA) * 400 + 1, 1, 1, second / 3600, second / 60 % 60, second % 60};
    for (int size; rest >= (size = is_leap(date.year) ? 366 : 365); date.year++) rest -= size;
    for (int size; rest >= (size = days_of(date.year, date.month)); date.month++) rest -= size;
    date.day += rest;
    return date;
}

/* ---- Fields -------------------------------------------------------------------------------- */

/** The text that remains to be read. Each take_…() removes its part from the front, or fails. */
typedef struct date_rest {
    const char *at, *end;
    bool ignores_case;
} date_rest;

static bool take_text(date_rest *rest, const char *text) {
    size_t size = strlen(text);
    if ((size_t)(rest->end - rest->at) < size) return false;
    bool is_same = rest->ignores_case ? afc__same_text(rest->at, text, size)
                                      : memcmp(rest->at, text, size) == 0;
    if (!is_same) return false;
    rest->at += size;
    return true;
}

static bool take_number(date_rest *rest, int digits, int *out) {
    uint64_t number;
    if (rest->end - rest->at < digits) return false;
    if (!afc__parse_number((afc_slice){rest->at, (size_t)digits}, INT_MAX, &number)) return false;
    rest->at += digits;
    *out = (int)number;
    return true;
}

/** Takes a day; asctime() pads one of a single digit with a space. */
static bool take_padded_day(date_rest *rest, int *day) {
    return take_text(rest, " ") ? take_number(rest, 1, day) : take_number(rest, 2, day);
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static bool take_month(date_rest *rest, int *out) {
    for (int i = 0; i < 12; i++) {
        if (!take_text(rest, months[i])) continue;
        *out = i + 1;
        return true;
    }
    return false;
}

static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static bool take_weekday(date_rest *rest, bool *is_long) {
    static const char *const ends[] = {"day", "sday", "nesday", "rsday", "day", "urday", "day"};
    for (int i = 0; i < 7; i++) {
        if (!take_text(rest, weekdays[i])) continue;
        *is_long = take_text(rest, ends[i]);
        return true;
    }
    return false;
}

static bool take_time(date_rest *rest, afc__date *out) {
    return take_number(rest, 2, &out->hour) && take_text(rest, ":") &&
           take_number(rest, 2, &out->minute) && take_text(rest, ":") &&
           take_number(rest, 2, &out->second);
}

static bool take_fixdate(date_rest *rest, afc__date *out) {
    return take_text(rest, ", ") && take_number(rest, 2, &out->day) && take_text(rest, " ") &&
           take_month(rest, &out->month) && take_text(rest, " ") &&
           take_number(rest, 4, &out->year) && take_text(rest, " ") && take_time(rest, out) &&
           take_text(rest, " GMT");
}

/**
 * Chooses the century of a two-digit year (RFC 9110 5.6.7): a date that seems to be more than 50 years in the
 * future is in the most recent past year with the same two digits.
 */
static void choose_century(afc__date *date, int64_t now) {
    afc__date limit = date_of(now < earliest ? earliest : now > latest ? latest : now);
    limit.year += 50;
    date->year += 9900;
    while (date->year >= 2000 && moment_of(date) > moment_of(&limit)) date->year -= 100;
}

static bool take_rfc850(date_rest *rest, afc__date *out, int64_t now) {
    bool is_read = take_text(rest, ", ") && take_number(rest, 2, &out->day) &&
                   take_text(rest, "-") && take_month(rest, &out->month) && take_text(rest, "-") &&
                   take_number(rest, 2, &out->year) && take_text(rest, " ") &&
                   take_time(rest, out) && take_text(rest, " GMT");
    if (is_read) choose_century(out, now);
    return is_read;
}

static bool take_asctime(date_rest *rest, afc__date *out) {
    return take_text(rest, " ") && take_month(rest, &out->month) && take_text(rest, " ") &&
           take_padded_day(rest, &out->day) && take_text(rest, " ") && take_time(rest, out) &&
           take_text(rest, " ") && take_number(rest, 4, &out->year);
}

/** How names of days and months are compared. */
typedef enum letter_case { AS_WRITTEN, ANY_CASE } letter_case;

static bool parse(afc_slice text, letter_case names, int64_t now, int64_t *seconds) {
    if (text.size == 0) return false;
    date_rest rest = {text.bytes, text.bytes + text.size, names == ANY_CASE};
    afc__date date = {0};
    bool is_long;
    if (!take_weekday(&rest, &is_long)) return false;
    bool is_read;
    if (is_long) {
        is_read = take_rfc850(&rest, &date, now);
    } else if (rest.at < rest.end && *rest.at == ',') {
        is_read = take_fixdate(&rest, &date);
    } else {
        is_read = take_asctime(&rest, &date);
    }
    return is_read && rest.at == rest.end && date.year >= 1900 && afc__date_seconds(&date, seconds);
}

bool afc_date_parse(afc_slice text, int64_t now, int64_t *seconds) {
    return parse(text, AS_WRITTEN, now, seconds);
}

bool afc__date_parse_any_case(afc_slice text, int64_t now, int64_t *seconds) {
    return parse(text, ANY_CASE, now, seconds);
}

bool afc_date_write(char out[AFC_DATE_SIZE], int64_t seconds) {
    out[0] = '\0';
    if (seconds < earliest || seconds > latest) return false;
    afc__date date = date_of(seconds);
    const char *weekday = weekdays[(day_of(seconds) + DAYS_BEFORE_1970) % 7];
    snprintf(out, AFC_DATE_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT", weekday, date.day,
             months[date.month - 1], date.year, date.hour, date.minute, date.second);
    return true;
}
