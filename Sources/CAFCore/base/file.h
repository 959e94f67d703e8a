/**
 * Reads whole files. Contents may be secret: they are read to their final place and no copy remains elsewhere,
 * unless the file was longer than fstat() reported.
 */
#ifndef AF_BASE_FILE_H
#define AF_BASE_FILE_H

#include "base/buffer.h"

/**
 * Appends everything from `descriptor` to `out`. AF_EFILE with errno set, AF_ETOOBIG if it exceeds the buffer's
 * limit, AF_ENOMEM.
 */
af_status af__read_all(af__buffer *out, int descriptor);

/** Writes all bytes. Returns 0 or an errno. */
int af__write_all(int descriptor, const void *bytes, size_t size);

typedef enum af__file_kind {
    AF__FILE_REGULAR,
    AF__FILE_ANY /**< Pipes too; reading blocks. */
} af__file_kind;

/**
 * Appends a file to `out`. AF_EFILE with the system's error, AF_EINVAL (another kind of file), AF_ETOOBIG,
 * AF_ENOMEM. The failure names the path.
 */
af_status af__read_file(af__buffer *out, const char *path, af__file_kind kind, af_failure *failure);

#endif
