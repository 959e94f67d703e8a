/**
 * Calendar arithmetic for the dates of header fields, afc_date_parse() and cookies. Pure functions.
 */
#ifndef AFC_MESSAGE_DATE_H
#define AFC_MESSAGE_DATE_H

#include <afcore/message.h>

/** A calendar date in UTC. */
typedef struct afc__date {
    int year, month, day; /**< Months and days start at 1. */
    int hour, minute, second;
} afc__date;

/**
 * Converts to Unix time; a leap second counts as the first second of the next minute. Returns false if there is no such
 * date.
 */
bool afc__date_seconds(const afc__date *date, int64_t *seconds);

/** Does the same as afc_date_parse(), but names of days, months and the zone may be in any case (RFC 9111 4.2). */
bool afc__date_parse_any_case(afc_slice text, int64_t now, int64_t *seconds);

#endif
