/** Content-Range (RFC 9110 14.4): which part of a representation a response has. Pure functions. */
#ifndef AFC_MESSAGE_CONTENT_RANGE_H
#define AFC_MESSAGE_CONTENT_RANGE_H

#include <afcore/message.h>

typedef struct afc__byte_range {
    int64_t first, last; /**< Offsets in the representation, both inclusive. */
} afc__byte_range;

typedef enum afc__content_range {
    AFC__CONTENT_RANGE_PART,        /**< "bytes 5-9/10" of a 206. */
    AFC__CONTENT_RANGE_UNSATISFIED, /**< "bytes *\/10" of a 416. */
    AFC__CONTENT_RANGE_MISSING,
    /** Several fields, even equal ones: the field isn't a list (RFC 9110 5.3). */
    AFC__CONTENT_RANGE_REPEATED,
    AFC__CONTENT_RANGE_OTHER_UNIT,
    AFC__CONTENT_RANGE_INVALID
} afc__content_range;

/**
 * Reads Content-Range. PART sets the range and the total, which is AFC_LENGTH_UNKNOWN for "*"; UNSATISFIED sets only
 * the total. A range that is returned is valid: it doesn't end before it begins, and ends before the total.
 */
afc__content_range afc__content_range_read(const afc_head *head, afc__byte_range *range,
                                           int64_t *total);

/** Size of a written Content-Range value, with its NUL. */
#define AFC__CONTENT_RANGE_SIZE 72

/** Writes "bytes 5-9/10". */
void afc__content_range_write(char out[AFC__CONTENT_RANGE_SIZE], afc__byte_range range,
                              int64_t total);

#endif
