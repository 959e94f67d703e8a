/** Completing a stored part with the rest that the server still has (RFC 9111 3.3, 3.4). Pure functions. */
#ifndef AFC_HTTP_CACHE_COMPLETION_H
#define AFC_HTTP_CACHE_COMPLETION_H

#include "http_cache/store.h"
#include "message/head.h"

enum { AFC__REST_FIELDS = 2 };

/** Size of a written Range value, with its NUL. */
#define AFC__REST_RANGE_SIZE 32

/** Returns whether this is the beginning of a representation whose size is known, and not all of it. */
bool afc__part_is_beginning(const afc__http_cache_meta *meta, uint64_t size);

/**
 * A body ended after `size` bytes. Can the server be asked for the rest of it later? Then its size is known, it has a
 * strong validator, and it isn't encoded for the transfer or by its content.
 */
bool afc__beginning_is_useful(const afc_head *head, const afc__framing *framing, uint64_t size);

/**
 * Writes the fields that ask for what follows the first `size` bytes: Range, and If-Range if the stored head has a
 * strong validator. Returns their number. The values refer to `range` and to the head.
 */
size_t afc__rest_fields_write(afc_header out[AFC__REST_FIELDS], char range[AFC__REST_RANGE_SIZE],
                              const afc_head *stored, uint64_t size);

/**
 * Is the received response the rest of a stored part of `size` bytes? It must be all of the rest, of the same size of
 * the whole, not encoded, and with the same strong validator.
 */
bool afc__rest_completes(const afc__http_cache_meta *meta, uint64_t size, const afc_head *received,
                         const afc__framing *framing);

#endif
