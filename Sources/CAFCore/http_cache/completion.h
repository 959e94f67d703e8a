/** Completes a stored part with the rest that the server sends (RFC 9111 3.3, 3.4). Pure functions. */
#ifndef AFC_HTTP_CACHE_COMPLETION_H
#define AFC_HTTP_CACHE_COMPLETION_H

#include "http_cache/store.h"
#include "message/head.h"

enum { AFC__REST_FIELDS = 2 };

/** Size of a written Range value, with its NUL. */
#define AFC__REST_RANGE_SIZE 32

/**
 * Returns whether a stored response of `size` bytes is the beginning, but not all, of a representation whose size is
 * known.
 */
bool afc__part_is_beginning(const afc__http_cache_meta *meta, uint64_t size);

/**
 * Returns whether a body that has ended after `size` bytes is worth storing, because the server can be asked for the
 * rest later: its full size is known, it has a strong validator, and neither a content coding nor a transfer coding.
 */
bool afc__beginning_is_useful(const afc_head *head, const afc__framing *framing, uint64_t size);

/**
 * Writes the fields that ask for what follows the first `size` bytes: Range, and If-Range if the stored head has a
 * strong validator. Returns their number. The values refer to `range` and to the head.
 */
size_t afc__rest_fields_write(afc_header out[AFC__REST_FIELDS], char range[AFC__REST_RANGE_SIZE],
                              const afc_head *stored, uint64_t size);

/**
 * Returns whether the received response completes a stored part of `size` bytes. It must be all of the rest, have no
 * coding, and name the same total size and the same strong validator.
 */
bool afc__rest_completes(const afc__http_cache_meta *meta, uint64_t size, const afc_head *received,
                         const afc__framing *framing);

#endif
