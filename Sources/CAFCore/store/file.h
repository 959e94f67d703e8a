/**
 * Small files that are read and replaced as a whole.
 */
#ifndef AFC_STORE_FILE_H
#define AFC_STORE_FILE_H

#include "base/buffer.h"

/**
 * Reads a regular file; a missing file is empty. Fails with AFC_EFILE, also if it is too large, or if it is missing and
 * can't be created in its folder; or AFC_ENOMEM.
 */
afc_status afc__file_load(afc__buffer *out, const char *path, afc_failure *failure);

/**
 * Removes the next line from `*rest`, and copies it to `line` as a string, without its end (LF or CR LF). Skips lines
 * that contain a NUL or don't fit `capacity` bytes. Returns false after the last line.
 */
bool afc__file_next_line(afc_slice *rest, char *line, size_t capacity);

/**
 * Writes a new file with mode 0600 (base/temporary_file.h), syncs it, and renames it to `path` or, if that is a
 * symbolic link, to its target. The previous file is unchanged until then. Fails with AFC_EFILE, also if the path is
 * the link of a descriptor in /proc or leads to one, or AFC_ENOMEM.
 */
afc_status afc__file_save(const char *path, afc_slice bytes, afc_failure *failure);

#endif
