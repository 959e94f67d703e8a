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
 * Creates a temporary file for the destination `path`. `*name` becomes its name, which the caller frees with
 * afc_free(), or NULL if it has none. A named file is private; `*mode` becomes the mode that it must get with its final
 * name. Returns 0 or an errno.
 */
int afc__temporary_create(const char *path, int *descriptor, char **name, mode_t *mode);

/** Does the same, but always creates a file with a name. */
int afc__temporary_create_named(const char *path, int *descriptor, char **name, mode_t *mode);

/** Does the same for a file that only its owner may ever open (mode 0600). */
int afc__temporary_create_private(const char *path, int *descriptor, char **name);

/**
 * Sets `*mode` to the mode that new files get in the folder of `path`. Returns 0 or an errno. For files that are
 * private until they are complete: a process that may open a file at first could still read it later.
 */
int afc__new_file_mode(const char *path, mode_t *mode);

/**
 * Renames the file to `path`. It replaces an existing file atomically, or fails with EEXIST if
 * `replaces` is false. Returns 0 or an errno; on failure nothing has changed. An unnamed file that
 * replaces another has a random name between two system calls: link(2) can't replace.
 */
int afc__temporary_rename(int descriptor, const char *name, const char *path, bool replaces);

#endif
