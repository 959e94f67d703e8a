/** Resolves symbolic links, for a file that may not exist yet. */
#ifndef AF_BODY_SYMLINK_H
#define AF_BODY_SYMLINK_H

/**
 * Returns the target of `path`: itself, unless its last component is a symbolic link. Free it with
 * af_free(). NULL with an errno in `*error` if the links are circular or can't be read; NULL
 * without one when out of memory.
 */
char *af__follow_links(const char *path, int *error);

#endif
