/** The file of a resume token. */
#ifndef AFC_BODY_RESUME_FILE_H
#define AFC_BODY_RESUME_FILE_H

#include "message/resume.h"

#include <sys/types.h>

/** What a token's path names. */
typedef enum afc__token_kind {
    AFC__TOKEN_NONE,    /**< Nothing, or a token that others could have written. */
    AFC__TOKEN_READ,    /**< A token. */
    AFC__TOKEN_DAMAGED, /**< It begins as a token does, and the rest is invalid. */
    AFC__TOKEN_FOREIGN  /**< A file of the user, or it can't be read. */
} afc__token_kind;

/**
 * Loads a token. `*out` is empty unless `*kind` is AFC__TOKEN_READ. AFC_EFILE with errno: it can't be opened or read
 * now, as with too many open files. AFC_ENOMEM.
 */
afc_status afc__token_load(const char *path, afc__resume_token *out, afc__token_kind *kind);

/** Returns whether the path names a file that can't be read or isn't a token. Such a file must not be removed. */
bool afc__token_is_foreign(const char *path);

/**
 * Replaces the file atomically; only the user can read it. `*mode` is set to the default mode of
 * new files in this folder. A foreign PATH.new isn't replaced. AFC_EFILE with `*error`, AFC_ENOMEM, AFC_ETOOBIG.
 */
afc_status afc__token_save(const char *path, const afc__resume_token *token, bool syncs,
                           mode_t *mode, int *error);

#endif
