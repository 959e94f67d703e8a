/**
 * A file that a body is written to under a temporary name, until it is complete.
 *
 * A plain file (base/temporary_file.h) remains after its task only if the process is killed at the moment when it
 * replaces another file. A resumable one is PATH.part, locked while a task uses it, and PATH.part.resume, the resume
 * token for its bytes. The token identifies the file by device, inode and birth time. Any other file at PATH.part is
 * foreign and is replaced; so is one that is larger than the size that the token has for the end of its download.
 *
 * The pair stays consistent if the process is killed at any point: a new PATH.part has another inode than the one in
 * the old token, and its own token is saved before its first byte is written.
 */
#ifndef AFC_BODY_DOWNLOAD_FILE_H
#define AFC_BODY_DOWNLOAD_FILE_H

#include "message/resume.h"

#include <afcore/request.h>
#include <sys/types.h>

/** The state of a file. Initialise it with AFC__FILE_INIT. */
typedef struct afc__file {
    char *path;         /**< The destination. */
    char *partial_path; /**< The temporary name; NULL if it has none (base/temporary_file.h). */
    char *token_path;   /**< The token's file, if it is resumable. */
    unsigned flags;     /**< AFC_FILE_… */
    bool is_resumable;
    bool has_lost_bytes;    /**< The file system has reported that written bytes are lost. */
    bool has_saved_token;   /**< This task has saved the token. */
    bool is_device;         /**< The destination is a device, which is written to directly. */
    int descriptor;         /**< -1 if it isn't open. */
    mode_t mode;            /**< The mode that the destination gets. */
    int64_t size;           /**< Number of bytes in the file. */
    bool has_damaged_token; /**< The token's file can't be read or isn't a valid token. */
    bool is_touched;        /**< This task has created the file or written to it. */
    int overwritten; /**< Descriptor of the destination while it is overwritten; otherwise -1. */
    /** The token for the bytes in the file; empty if it can't be resumed. */
    afc__resume_token token;
} afc__file;

#define AFC__FILE_INIT ((afc__file){.descriptor = -1, .overwritten = -1})

/** Sets the names. Fails with AFC_EINVAL, AFC_EFILE (circular links) or AFC_ENOMEM. */
afc_status afc__file_init(afc__file *file, const char *path, unsigned flags, bool is_resumable,
                          afc_failure *failure);

/**
 * Frees everything. A file that is still open, so neither finished nor kept, is removed if this task has touched it.
 */
void afc__file_clear(afc__file *file);

/**
 * For resumable files: opens the file of an earlier task for `url` if it matches `given`, which may be NULL, or the
 * saved token. On success `token` exists and `size` isn't 0. Sets `has_damaged_token`. Fails with AFC_EFILE if another
 * task is writing it, it isn't a regular file, or the token can't be read now; or AFC_ENOMEM.
 */
afc_status afc__file_find(afc__file *file, afc_slice url, const afc__resume_token *given,
                          afc_failure *failure);

/**
 * For resumable files, before afc__file_create(): fails with AFC_EFILE (EEXIST) if PATH.part exists and isn't the file
 * of an earlier task for `url`, or if PATH.part.resume isn't a token. Also fails with AFC_ENOMEM.
 */
afc_status afc__file_check_partial(afc__file *file, afc_slice url, afc_failure *failure);

/** Creates an empty file, and removes an existing one with its temporary name. Fails with AFC_EFILE. */
afc_status afc__file_create(afc__file *file, afc_failure *failure);

/** Continues at the end of the file that was found. Fails with AFC_EFILE. */
afc_status afc__file_resume(afc__file *file, afc_failure *failure);

/** Makes `token` the file's token, and saves it beside the file. Fails with AFC_EFILE or AFC_ENOMEM. */
afc_status afc__file_write_token(afc__file *file, afc__resume_token *token, afc_failure *failure);

/**
 * Fails with AFC_EFILE if there is no space for `length` more bytes. Nothing is reserved: a server that announces a
 * length without sending anything would fill the disk.
 */
afc_status afc__file_check_space(const afc__file *file, int64_t length, afc_failure *failure);

/** Writes bytes. Fails with AFC_EFILE; `size` then includes the bytes that were written. */
afc_status afc__file_write(afc__file *file, const char *bytes, size_t size, afc_failure *failure);

/** Reads bytes at `offset`. Returns their number, 0 at the end, or -1 with errno. */
ssize_t afc__file_read(const afc__file *file, void *buffer, size_t size, int64_t offset);

/**
 * Gives the file its final name and closes it. With `may_overwrite`, a destination that can't be replaced is
 * overwritten, which takes long: if `*has_more` becomes true, call it again for the next piece. Fails with AFC_EFILE;
 * the file is then unchanged, unless only syncing its folder has failed.
 */
afc_status afc__file_finish(afc__file *file, bool may_overwrite, bool *has_more,
                            afc_failure *failure);

/** Returns whether afc__file_finish() must be called again. */
bool afc__file_is_overwriting(const afc__file *file);

/** Removes the file and its token. A file with the token's name that isn't a token stays. */
void afc__file_discard(afc__file *file);

/** Keeps the file for a later task. If it can't be resumed, or bytes of it are lost, removes it and returns false. */
bool afc__file_keep(afc__file *file);

/** Sets a failure of writing `path`, with the text of `error`. */
afc_status afc__file_failed(const afc__file *file, int error, afc_failure *failure);

#endif
