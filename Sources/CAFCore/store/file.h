/**
 * Small files that are read and replaced as a whole.
 */
#ifndef AF_STORE_FILE_H
#define AF_STORE_FILE_H

#include "base/buffer.h"

/** Reads a regular file; a missing one is empty. AF_EFILE, also if it is too large; AF_ENOMEM. */
af_status af__file_load(af__buffer *out, const char *path, af_failure *failure);

/**
 * Writes a new file with mode 0600, syncs it, and renames it to `path`, which is unchanged until then. AF_EFILE,
 * AF_ENOMEM.
 */
af_status af__file_save(const char *path, af_slice bytes, af_failure *failure);

#endif
