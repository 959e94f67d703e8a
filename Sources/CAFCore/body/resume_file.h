/** The file of a resume token. */
#ifndef AFC_BODY_RESUME_FILE_H
#define AFC_BODY_RESUME_FILE_H

#include "message/resume.h"

#include <sys/types.h>

/**
 * Loads a token. `*out` is empty if the file doesn't exist, or is foreign: AFC_OK; or if it is damaged: AFC_EINVAL; or
 * after AFC_ENOMEM.
 */
afc_status afc__token_load(const char *path, afc__resume_token *out);

/**
 * Replaces the file atomically; only the user can read it. `*mode` is set to the default mode of
 * new files in this folder. AFC_EFILE with `*error`, AFC_ENOMEM, AFC_ETOOBIG.
 */
afc_status afc__token_save(const char *path, const afc__resume_token *token, bool syncs,
                           mode_t *mode, int *error);

#endif
