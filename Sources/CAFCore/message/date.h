/**
 * Dates of header fields (RFC 9110 5.6.7). Pure.
 */
#ifndef AF_MESSAGE_DATE_H
#define AF_MESSAGE_DATE_H

#include <afcore/base.h>

/** As it is written, in UTC. */
typedef struct af__date {
    int year, month, day; /**< Months and days from 1. */
    int hour, minute, second;
} af__date;

/** Seconds since 1970, of which a leap second is that of the next minute. False: there is no such moment. */
bool af__date_seconds(const af__date *date, int64_t *seconds);

/**
 * Seconds since 1970 of one of the three forms:
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
 *     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850; years 00–69 are of this century
 *     Sun Nov  6 08:49:37 1994          asctime()
 *
 * False for anything else: another zone, a day that the month doesn't have, years before 1900. The
 * name of the weekday is not compared with the date.
 */
bool af__date_parse(af_slice text, int64_t *seconds);

#endif
