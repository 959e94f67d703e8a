/**
 * Finds strong validators: if two responses have the same one, they have the same bytes (RFC 9110 8.8, 13.1.5). Pure
 * functions.
 */
#ifndef AFC_MESSAGE_STRONG_VALIDATOR_H
#define AFC_MESSAGE_STRONG_VALIDATOR_H

#include <afcore/message.h>

/** Returns whether this is a valid entity tag that isn't weak (RFC 9110 8.8.3). */
bool afc__is_strong_tag(afc_slice tag);

/**
 * Finds Last-Modified if it is a strong validator, at least 60 s older than Date (RFC 9110 8.8.2.2). Returns NULL, or
 * why it isn't one. `now` is when the head was received; it decides the century of years with two digits.
 */
const char *afc__find_strong_date(const afc_head *head, int64_t now, const afc_header **out);

/**
 * Finds the strong validator of a response: ETag, or Last-Modified if there is no ETag. With an ETag, even a weak one,
 * the date must not be used (RFC 9110 13.1.5). Fields may be repeated with the same value. Returns NULL, or why the
 * response has no strong validator; `*out` is then undefined.
 */
const char *afc__find_strong_validator(const afc_head *head, int64_t now, const afc_header **out);

#endif
