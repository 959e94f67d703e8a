/** Bodies encoded without compression, so that their size on the wire is known. */
#ifndef AFC_TESTS_STORED_BLOCKS_H
#define AFC_TESTS_STORED_BLOCKS_H

#include <stddef.h>

typedef enum stored_format { STORED_ZLIB, STORED_GZIP } stored_format;

/**
 * Encodes bytes in stored blocks of `block` bytes, at most 65,535 (RFC 1951 section 3.2.4), with the head and the end of
 * the format (RFC 1950, RFC 1952). Free the result.
 */
char *stored_blocks(stored_format format, const char *bytes, size_t size, size_t block,
                    size_t *encoded_size);

#endif
