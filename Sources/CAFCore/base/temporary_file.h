/**
 * A file that is written beside its destination and renamed at the end. Until then it has no name
 * if the file system supports that (O_TMPFILE), so nothing is left if the process is killed;
 * otherwise it has a random name.
 */
#ifndef AFC_BASE_TEMPORARY_FILE_H
#define AFC_BASE_TEMPORARY_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Creates a file for `path`. Returns 0, with the descriptor and a name in `*name` (afc_free(); NULL:
 * unnamed), or an errno. A named file is private; `*mode` is what it is to get with its final name.
 */
int afc__temporary_create(const char *path, int *descriptor, char **name, mode_t *mode);

/** Does the same, if unnamed files aren't supported. */
int afc__temporary_create_named(const char *path, int *descriptor, char **name, mode_t *mode);

/** Does the same for a file that only its owner may ever open (mode 0600). */
int afc__temporary_create_private(const char *path, int *descriptor, char **name);

/**
 * Returns the mode of new files in the folder of `path` in `*mode`, and 0 or an errno. For files that
 * are private until they are complete: one that others may open at first could be read by them later.
 */
int afc__new_file_mode(const char *path, mode_t *mode);

/**
 * Renames the file to `path`. It replaces an existing file atomically, or fails with EEXIST if
 * `replaces` is false. Returns 0 or an errno; on failure nothing has changed. An unnamed file that
 * replaces another has a random name between two system calls: link(2) can't replace.
 */
int afc__temporary_rename(int descriptor, const char *name, const char *path, bool replaces);

#endif
