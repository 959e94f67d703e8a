/**
 * Calendar arithmetic for the dates of header fields, af_date_parse() and cookies. Pure functions.
 */
#ifndef AF_MESSAGE_DATE_H
#define AF_MESSAGE_DATE_H

#include <afcore/message.h>

/** A calendar date in UTC. */
typedef struct af__date {
    int year, month, day; /**< Months and days start at 1. */
    int hour, minute, second;
} af__date;

/** Converts to Unix time; a leap second counts as the next minute's first second. false: no such date. */
bool af__date_seconds(const af__date *date, int64_t *seconds);

#endif
