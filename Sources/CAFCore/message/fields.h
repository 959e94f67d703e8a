/**
 * Header fields: a growing block of fields, comparison of names, and the rules for fields to send. Pure functions.
 */
#ifndef AFC_MESSAGE_FIELDS_H
#define AFC_MESSAGE_FIELDS_H

#include "base/buffer.h"
#include "base/text.h"

#include <afcore/message.h>

/* ---- Fields that were received ------------------------------------------------------------- */

/**
 * The fields of one head or of its trailers: names and values follow each other in one text, in the order of `headers`.
 * A zeroed struct is empty and has a limit of 0; see afc__fields_init().
 */
typedef struct afc__fields {
    afc__buffer text;
    afc_header *headers; /**< Sizes are always valid, pointers after afc__fields_bind(). */
    size_t count, capacity;
    afc_header *header_storage;
} afc__fields;

/** Makes empty fields without memory. Names and values together are limited to `limit` bytes. */
void afc__fields_init(afc__fields *fields, uint64_t limit);

/**
 * Makes empty fields use the caller's memory at first, which must outlive them. Contents that don't fit move to the
 * heap.
 */
void afc__fields_use_storage(afc__fields *fields, afc__storage text, afc_header *headers,
                             size_t count);

/** Frees the memory. */
void afc__fields_clear(afc__fields *fields);

/** Removes all fields but keeps the memory. */
void afc__fields_restart(afc__fields *fields);

/** Adds a field. On AFC_ETOOBIG and AFC_ENOMEM the fields are unchanged. */
afc_status afc__fields_add(afc__fields *fields, afc_slice name, afc_slice value);

/**
 * Adds copies of `count` fields, all or none. They must not be a part of `fields`. Fails with AFC_ETOOBIG or
 * AFC_ENOMEM.
 */
afc_status afc__fields_add_all(afc__fields *fields, const afc_header *headers, size_t count);

/** Appends a folded line to the value of the last field, which must exist, after a space (RFC 9112 5.2). */
afc_status afc__fields_fold(afc__fields *fields, afc_slice more);

/** Sets the pointers of all headers into the text, where the first name is at `start`. */
void afc__fields_bind(afc__fields *fields, size_t start);

typedef enum afc__found { AFC__FOUND_NONE, AFC__FOUND_ONE, AFC__FOUND_DIFFERENT } afc__found;

/** Finds a field that may occur once, or several times with the same value. */
afc__found afc__find_one(const afc_head *head, const char *name, const afc_header **out);

/* ---- Fields that refer to others ----------------------------------------------------------- */

enum { AFC__FIELD_LIST_SIZE = 32 /**< Number of fields that need no memory of their own. */ };

/** A list of fields that refers to texts of others. It can't be copied, as `headers` may point into it. */
typedef struct afc__field_list {
    afc_header *headers; /**< `storage`, or memory of its own. */
    size_t count;
    afc_header storage[AFC__FIELD_LIST_SIZE];
} afc__field_list;

/** Makes an empty list with storage for `most` fields. On AFC_ENOMEM there is nothing to clear. */
afc_status afc__field_list_init(afc__field_list *list, size_t most);
void afc__field_list_clear(afc__field_list *list);

/** Adds a field, for which there must be storage. */
static inline void afc__field_list_add(afc__field_list *list, afc_slice name, afc_slice value) {
    list->headers[list->count++] = (afc_header){name, value, 0};
}

/* ---- Parts of fields ----------------------------------------------------------------------- */

/** Removes spaces and tabs from both ends. Inline, because it is called for every field of every head. */
static inline afc_slice afc__trim(afc_slice text) {
    while (text.size != 0 && afc__is_blank(text.bytes[text.size - 1])) text.size--;
    while (text.size != 0 && afc__is_blank(text.bytes[0])) {
        text.bytes++;
        text.size--;
    }
    return text;
}

/** Splits "a<mark>b" at the first mark. Returns false if there is none. */
bool afc__split(afc_slice text, char mark, afc_slice *before, afc_slice *after);

/** Takes and trims the next member of a comma-separated list; members may be empty. Returns false at the end. */
bool afc__next_member(afc_slice *list, afc_slice *member);

/**
 * Returns the size of the quoted string at the start of `text` (RFC 9110 5.6.4), with its quotes; 0 if it has no end.
 */
size_t afc__quoted_size(afc_slice text);

/** Returns the text between the quotes around all of `text`, with its escapes; `text` if there are no such quotes. */
afc_slice afc__without_quotes(afc_slice text);

/**
 * Returns the position of the first `mark` outside of quoted strings, or the size of the text. `*is_open` tells whether
 * a quoted string has no end.
 */
size_t afc__find_unquoted(afc_slice text, char mark, bool *is_open);

/** Parses 1*DIGIT. Returns false for other texts, and for numbers above `largest`. */
bool afc__parse_number(afc_slice text, uint64_t largest, uint64_t *out);

/**
 * Parses 1*DIGIT; a number above `largest`, which may be INT64_MAX / 10 - 1 at most, becomes `largest`. Returns false
 * for other texts.
 */
bool afc__parse_clamped(afc_slice text, int64_t largest, int64_t *out);

/** Parses 1*DIGIT that fits int64_t. */
bool afc__parse_length(afc_slice text, int64_t *out);

/**
 * Returns whether a field of this name has, by convention, a key of an API as its value. No standard says so, unlike
 * for the other names of afc_header_is_credential().
 */
bool afc__header_is_key(afc_slice name);

/** Returns whether a text is a token (RFC 9110 5.6.2). */
bool afc__is_token(afc_slice text);

/**
 * Returns whether a received value has no CR, LF or NUL. Other control characters may remain in fields that are only
 * read (RFC 9110 5.5).
 */
bool afc__is_field_value(afc_slice text);

/** Returns whether a text may be sent in a field: it has no control characters except tabs (RFC 9110 5.5). */
bool afc__may_be_sent(afc_slice text);

/** Returns whether this is "Expect: 100-continue", ignoring case. */
bool afc__is_continue_expectation(const afc_header *header);

/* ---- Fields to send ------------------------------------------------------------------------ */

/**
 * Fails with AFC_EINVAL for a count without fields, or a size without bytes. Call it before anything else reads fields
 * of the caller.
 */
afc_status afc__check_header_pointers(const afc_header *headers, size_t count,
                                      afc_failure *failure);

/**
 * Calls afc__check_header_pointers(), and checks each field as afc_header_check() does. Fails with AFC_EINVAL; the text
 * has the index of a field with an invalid name. Also refuses a second Host.
 */
afc_status afc__check_request_headers(const afc_header *headers, size_t count,
                                      afc_failure *failure);

#endif
