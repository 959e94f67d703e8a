/**
 * A file that is written beside its destination and gets its name in the end. It has no name until then where
 * the file system knows such files (O_TMPFILE), so nothing is left of it if the process is killed; elsewhere a
 * random one.
 */
#ifndef AF_BODY_TEMPORARY_FILE_H
#define AF_BODY_TEMPORARY_FILE_H

#include <stdbool.h>

/**
 * Make one for `path`. 0, with the descriptor and in `*name` a name (af_free()) or NULL for none; or an errno.
 */
int af__temporary_create(const char *path, int *descriptor, char **name);

/** The same, where none can be without a name. */
int af__temporary_create_named(const char *path, int *descriptor, char **name);

/**
 * Give it the name `path`: in the place of a file that is there, atomically, or with `replaces` false only if
 * there is none. 0, or an errno (EEXIST); it is as before then. One without a name has another one, a random
 * one, between two system calls if it replaces a file: link(2) can't replace.
 */
int af__temporary_rename(int descriptor, const char *name, const char *path, bool replaces);

/** The folder of `path`, with a slash at its end. ENAMETOOLONG; `size` bytes of room. */
int af__folder_of(const char *path, char *folder, unsigned long size);

#endif
