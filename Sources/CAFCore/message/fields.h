/**
 * Header fields: a growing block of fields, comparison of names, and the rules for fields to send. Pure functions.
 */
#ifndef AF_MESSAGE_FIELDS_H
#define AF_MESSAGE_FIELDS_H

#include "base/buffer.h"
#include "base/text.h"

#include <afcore/message.h>

/* ---- Fields that were received ------------------------------------------------------------- */

/**
 * The fields of one head or its trailers: names and values one after the other in one text, in the order of
 * `headers`. Zeroed: empty, with a limit of 0; see af__fields_init().
 */
typedef struct af__fields {
    af__buffer text;
    af_header *headers; /**< Sizes are always valid, pointers after af__fields_bind(). */
    size_t count, capacity;
    af_header *header_room;
} af__fields;

/** Makes empty fields without memory. Names and values together are limited to `limit` bytes. */
void af__fields_init(af__fields *fields, uint64_t limit);

/**
 * Makes empty fields use the caller's memory first, which must outlive them. Larger contents move to the heap.
 */
void af__fields_use_storage(af__fields *fields, af__storage text, af_header *headers, size_t count);

/** Frees the memory. */
void af__fields_clear(af__fields *fields);

/** Removes all fields but keeps the memory. */
void af__fields_restart(af__fields *fields);

/** Adds a field. On AF_ETOOBIG and AF_ENOMEM the fields are unchanged. */
af_status af__fields_add(af__fields *fields, af_slice name, af_slice value);

/** Appends a folded line to the value of the last field, which must exist, after a space (RFC 9112 5.2). */
af_status af__fields_fold(af__fields *fields, af_slice more);

/** Sets the pointers of all headers into the text, where the first name is at `start`. */
void af__fields_bind(af__fields *fields, size_t start);

/* ---- Parts of fields ----------------------------------------------------------------------- */

/** Removes spaces and tabs from both ends. */
af_slice af__trim(af_slice text);

/**
 * Takes and trims the next member of a comma-separated list; members may be empty. false at the end.
 */
bool af__next_member(af_slice *list, af_slice *member);

/** Parses 1*DIGIT up to `largest`. */
bool af__parse_number(af_slice text, uint64_t largest, uint64_t *out);

/** Parses 1*DIGIT that fits int64_t. */
bool af__parse_length(af_slice text, int64_t *out);

/** Returns whether a text is a token (RFC 9110 5.6.2). */
bool af__is_token(af_slice text);

/**
 * For received fields: no CR, LF, NUL. Other control characters may remain in fields that are only read (RFC 9110
 * 5.5).
 */
bool af__is_field_value(af_slice text);

/** For fields to send: no control characters except tabs (RFC 9110 5.5). */
bool af__may_be_sent(af_slice text);

/** Returns whether this is "Expect: 100-continue", ignoring case. */
bool af__is_continue_expectation(const af_header *header);

/* ---- Fields to send ------------------------------------------------------------------------ */

/** Calls af_header_check() for each field. AF_EINVAL: for an invalid name the text has its index. */
af_status af__check_request_headers(const af_header *headers, size_t count, af_failure *failure);

#endif
