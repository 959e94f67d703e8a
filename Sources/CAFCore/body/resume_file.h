/** The file that a resume token is kept in. */
#ifndef AF_BODY_RESUME_FILE_H
#define AF_BODY_RESUME_FILE_H

#include "message/resume.h"

#include <sys/types.h>

/** `*out` is none if there is no such file, or not one of ours, or a damaged one. AF_ENOMEM. */
af_status af__token_load(const char *path, af__resume_token *out);

/**
 * Replace the file, atomically; only the user may read it. `*mode` is what files get here that are
 * open to others. AF_EFILE with `*error`, AF_ENOMEM, AF_ETOOBIG.
 */
af_status af__token_save(const char *path, const af__resume_token *token, bool syncs, mode_t *mode,
                         int *error);

#endif
