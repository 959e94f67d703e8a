/**
 * Small files that are read and replaced as a whole.
 */
#ifndef AFC_STORE_FILE_H
#define AFC_STORE_FILE_H

#include "base/buffer.h"

/**
 * Reads a regular file; a missing one is empty. AFC_EFILE, also if it is too large, or missing from a folder where it
 * can't be created; AFC_ENOMEM.
 */
afc_status afc__file_load(afc__buffer *out, const char *path, afc_failure *failure);

/**
 * Copies the next line of `*rest` as a string without its end, LF or CR LF, into `line`, and removes it from `*rest`.
 * Skips lines with a NUL or without room in `capacity` bytes. Returns false after the last one.
 */
bool afc__file_next_line(afc_slice *rest, char *line, size_t capacity);

/**
 * Writes a new file with mode 0600 (base/temporary_file.h), syncs it, and renames it to `path`, or to what a symbolic
 * link there leads to, which is unchanged until then. AFC_EFILE (also for the link of a descriptor in /proc, and for
 * one that leads to it), AFC_ENOMEM.
 */
afc_status afc__file_save(const char *path, afc_slice bytes, afc_failure *failure);

#endif
