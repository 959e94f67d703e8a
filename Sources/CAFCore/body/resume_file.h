/** The file of a resume token. */
#ifndef AF_BODY_RESUME_FILE_H
#define AF_BODY_RESUME_FILE_H

#include "message/resume.h"

#include <sys/types.h>

/** Loads a token. `*out` is none if the file doesn't exist, is foreign or is damaged. AF_ENOMEM. */
af_status af__token_load(const char *path, af__resume_token *out);

/**
 * Replaces the file atomically; only the user can read it. `*mode` is set to the default mode of
 * new files in this folder. AF_EFILE with `*error`, AF_ENOMEM, AF_ETOOBIG.
 */
af_status af__token_save(const char *path, const af__resume_token *token, bool syncs, mode_t *mode,
                         int *error);

#endif
