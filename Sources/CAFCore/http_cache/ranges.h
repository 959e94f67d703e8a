/** Ranges of bytes: what a request asks for, and which part of a stored body answers it (RFC 9110 14, RFC 9111 3.3). Pure functions. */
#ifndef AFC_HTTP_CACHE_RANGES_H
#define AFC_HTTP_CACHE_RANGES_H

#include <afcore/task.h>

typedef enum afc__part_kind {
    AFC__PART_ABSENT,        /**< The request asks for the whole. */
    AFC__PART_SATISFIABLE,   /**< `first` to `last`. */
    AFC__PART_UNSATISFIABLE, /**< It begins behind the end: 416. */
    AFC__PART_OTHER /**< Several ranges, another unit, an invalid one: only the server answers. */
} afc__part_kind;

typedef struct afc__byte_range {
    int64_t first, last; /**< Offsets in the representation, both inclusive. */
} afc__byte_range;

/** Reads Range for a representation of `total` bytes. */
afc__part_kind afc__part_read(const afc_header *headers, size_t count, int64_t total,
                              afc__byte_range *out);

/** Reads "bytes 5-9/10" of a 206. `*total` is AFC_LENGTH_UNKNOWN for "*". false: missing, repeated or invalid. */
bool afc__content_range_read(const afc_head *head, afc__byte_range *out, int64_t *total);

/** Size of a written Content-Range value, with its NUL. */
#define AFC__CONTENT_RANGE_ROOM 72

/** Writes "bytes 5-9/10". */
void afc__content_range_write(char out[AFC__CONTENT_RANGE_ROOM], afc__byte_range range,
                              int64_t total);

#endif
