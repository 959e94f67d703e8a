/** Resolves symbolic links, for a file that may not exist yet. */
#ifndef AFC_BODY_SYMLINK_H
#define AFC_BODY_SYMLINK_H

/**
 * Returns the target of `path`: itself, unless its last component is a symbolic link. Free it with
 * afc_free(). NULL with an errno in `*error` if the links are circular or can't be read; NULL
 * without one when out of memory.
 */
char *afc__follow_links(const char *path, int *error);

#endif
