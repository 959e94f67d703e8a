/**
 * Ranges of bytes: what a request asks for, and which part of a stored body answers it (RFC 9110 14, RFC 9111 3.3).
 * Pure functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_RANGES_H
#define AFC_HTTP_CACHE_RULES_RANGES_H

#include "message/content_range.h"

typedef enum afc__part_kind {
    AFC__PART_ABSENT,        /**< The request asks for the whole. */
    AFC__PART_SATISFIABLE,   /**< From `first` to `last`. */
    AFC__PART_UNSATISFIABLE, /**< It begins after the end: a 416. */
    /** Several ranges, another unit, or an invalid range: only the server can answer. */
    AFC__PART_OTHER
} afc__part_kind;

/** Reads the Range of a request for a representation of `total` bytes, negative if that is unknown. */
afc__part_kind afc__part_read(const afc_header *headers, size_t count, int64_t total,
                              afc__byte_range *out);

#endif
