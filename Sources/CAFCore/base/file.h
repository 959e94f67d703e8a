/**
 * Files as a whole. What may be a secret is read to where it stays: no copies of it are left elsewhere,
 * unless it was longer than its file had said.
 */
#ifndef AF_BASE_FILE_H
#define AF_BASE_FILE_H

#include "base/buffer.h"

/**
 * Append all that `descriptor` has to `out`. AF_EFILE with an errno, AF_ETOOBIG if it is more than the
 * buffer may hold, AF_ENOMEM.
 */
af_status af__read_all(af__buffer *out, int descriptor);

/** 0, or an errno. */
int af__write_all(int descriptor, const void *bytes, size_t size);

typedef enum af__file_kind {
    AF__FILE_REGULAR,
    AF__FILE_ANY /**< A pipe too, which is waited for. */
} af__file_kind;

/**
 * Append all of a file to `out`. AF_EFILE, with the system's error; AF_EINVAL: it is of another kind;
 * AF_ETOOBIG as above, AF_ENOMEM. The failure names the path.
 */
af_status af__read_file(af__buffer *out, const char *path, af__file_kind kind, af_failure *failure);

#endif
