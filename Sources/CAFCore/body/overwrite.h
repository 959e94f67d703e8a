/**
 * Writes a complete file over one that can't be replaced because it is a mount point, as single files in containers
 * are: rename(2) fails with EBUSY.
 *
 * The old content is lost with the first piece. So overwriting begins only if there is space for the new content. If it
 * fails or is interrupted, the beginning of the new content is left.
 */
#ifndef AFC_BODY_OVERWRITE_H
#define AFC_BODY_OVERWRITE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Begins to write `size` bytes over `path`, and opens it as `*target`. Returns 0 or an errno: EBUSY if the file isn't a
 * mount point, ENOSPC.
 */
int afc__overwrite_begin(int *target, const char *path, int64_t size);

/**
 * Writes some MiB of the `size` bytes of `source`, a regular file. `*has_more` becomes true if there are more. Returns
 * 0 or an errno.
 */
int afc__overwrite_piece(int target, int source, int64_t size, bool *has_more);

/**
 * Ends overwriting, and sets `*target` to -1; does nothing if it is -1 already. With `syncs`, the content is on the
 * disk afterwards. Returns 0 or an errno.
 */
int afc__overwrite_end(int *target, bool syncs);

#endif
