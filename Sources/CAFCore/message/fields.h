/**
 * Header fields: one growing block of them, names compared, and what may be sent. Pure.
 */
#ifndef AF_MESSAGE_FIELDS_H
#define AF_MESSAGE_FIELDS_H

#include "base/buffer.h"
#include "base/text.h"

#include <afcore/message.h>

/* ---- Fields that were received ------------------------------------------------------------- */

/**
 * Fields of one head or of its trailers: names and values one after the other in one text, in the
 * order of `headers`. Zeroed it is empty (and has no room, see af__fields_init()).
 */
typedef struct af__fields {
    af__buffer text;
    af_header *headers; /**< The sizes are always right, the pointers after af__fields_bind(). */
    size_t count, capacity;
    af_header *header_room;
} af__fields;

/** Empty, without memory; names and values together will never be longer than `limit` bytes. */
void af__fields_init(af__fields *fields, uint64_t limit);

/**
 * Let empty fields begin in memory that must outlive them; what does not fit moves to memory of its
 * own.
 */
void af__fields_use_storage(af__fields *fields, af__storage text, af_header *headers, size_t count);

/** Free the memory. */
void af__fields_clear(af__fields *fields);

/** Forget the fields but keep the memory for the next ones. */
void af__fields_restart(af__fields *fields);

/** Add a field. AF_ETOOBIG, AF_ENOMEM: the fields before are as they were. */
af_status af__fields_add(af__fields *fields, af_slice name, af_slice value);

/** Add to the value of the last field, of which there must be one, after a space (RFC 9112 5.2). */
af_status af__fields_fold(af__fields *fields, af_slice more);

/** Point every header into the text, where the first name stands at `start`. */
void af__fields_bind(af__fields *fields, size_t start);

/* ---- Parts of fields ----------------------------------------------------------------------- */

/** Without spaces and tabs at both ends. */
af_slice af__trim(af_slice text);

/**
 * Cut the next member off a comma-separated list and trim it; members may be empty. False when
 * nothing is left.
 */
bool af__next_member(af_slice *list, af_slice *member);

/** 1*DIGIT, up to `largest`. */
bool af__parse_number(af_slice text, uint64_t largest, uint64_t *out);

/** 1*DIGIT that fits. */
bool af__parse_length(af_slice text, int64_t *out);

/** A token, RFC 9110 5.6.2. */
bool af__is_token(af_slice text);

/** For fields that were received: no CR, LF, NUL. Other controls may stay in what is only read (RFC 9110 5.5). */
bool af__is_field_value(af_slice text);

/** For fields to send: no control characters but tabs (RFC 9110 5.5). */
bool af__may_be_sent(af_slice text);

/** "Expect: 100-continue", case aside. */
bool af__is_continue_expectation(const af_header *header);

/* ---- Fields to send ------------------------------------------------------------------------ */

/** af_header_check() for each. AF_EINVAL: the text of a bad name has its number. */
af_status af__check_request_headers(const af_header *headers, size_t count, af_failure *failure);

#endif
