/**
 * Where symbolic links lead, for a file that may not exist yet.
 */
#ifndef AF_BODY_SYMLINK_H
#define AF_BODY_SYMLINK_H

/**
 * The path that `path` leads to: itself, unless its last component is a symbolic link. Yours, af_free(). NULL with an
 * errno in `*error` if links lead in a circle or can't be read; NULL without one when out of memory.
 */
char *af__follow_links(const char *path, int *error);

#endif
