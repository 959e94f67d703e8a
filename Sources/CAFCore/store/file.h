/**
 * Small files that are read and replaced as a whole.
 */
#ifndef AF_STORE_FILE_H
#define AF_STORE_FILE_H

#include "base/buffer.h"

/** All of a regular file; empty if there is none. AF_EFILE, also if it is too large; AF_ENOMEM. */
af_status af__file_load(af__buffer *out, const char *path, af_failure *failure);

/**
 * A new file of these bytes, with the mode 0600, takes the place of `path` when it is on the disk;
 * until then that is as it was. AF_EFILE, AF_ENOMEM.
 */
af_status af__file_save(const char *path, af_slice bytes, af_failure *failure);

#endif
