/**
 * The calendar behind the dates of header fields, af_date_parse() and those of cookies. Pure.
 */
#ifndef AF_MESSAGE_DATE_H
#define AF_MESSAGE_DATE_H

#include <afcore/message.h>

/** As it is written, in UTC. */
typedef struct af__date {
    int year, month, day; /**< Months and days from 1. */
    int hour, minute, second;
} af__date;

/** Seconds since 1970, of which a leap second is that of the next minute. False: there is no such moment. */
bool af__date_seconds(const af__date *date, int64_t *seconds);

#endif
