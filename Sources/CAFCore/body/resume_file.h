/** Reads and writes the file of a resume token. */
#ifndef AFC_BODY_RESUME_FILE_H
#define AFC_BODY_RESUME_FILE_H

#include "message/resume.h"

#include <sys/types.h>

/** What was found at a token's path. */
typedef enum afc__token_kind {
    AFC__TOKEN_NONE,    /**< Nothing, or a token that other users could have written. */
    AFC__TOKEN_READ,    /**< A token. */
    AFC__TOKEN_DAMAGED, /**< It begins like a token, but the rest is invalid. */
    AFC__TOKEN_FOREIGN  /**< Another file of the user, or a file that can't be read. */
} afc__token_kind;

/**
 * Loads a token. `*out` is empty unless `*kind` is AFC__TOKEN_READ. Fails with AFC_EFILE and errno if the file can't be
 * opened or read now, for example with too many open files; or AFC_ENOMEM.
 */
afc_status afc__token_load(const char *path, afc__resume_token *out, afc__token_kind *kind);

/** Returns whether the path names a file that can't be read or isn't a token. Such a file must not be removed. */
bool afc__token_is_foreign(const char *path);

/**
 * Replaces the file atomically; only the user can read it. `*mode` becomes the default mode of new files in this
 * folder. A foreign PATH.new isn't replaced. Fails with AFC_EFILE and the errno in `*error`, AFC_ENOMEM or AFC_ETOOBIG.
 */
afc_status afc__token_save(const char *path, const afc__resume_token *token, bool syncs,
                           mode_t *mode, int *error);

#endif
