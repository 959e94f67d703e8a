/**
 * A file that a body is written to under a temporary name, until it is complete.
 *
 * A plain one (base/temporary_file.h) outlives its task only if the process is killed in the instant in which it
 * replaces another file. A resumable one is PATH.part, locked while a task uses it, and PATH.part.resume, the resume
 * token for its bytes. The token identifies the file by device, inode and birth time, so any other file in its place is
 * foreign and is replaced. So is one that has grown since its download ended, whose size the token has.
 *
 * The pair stays consistent if the process is killed at any point: a new PATH.part has another
 * inode than the token's, until its own token is saved, which happens before its first byte is
 * written.
 */
#ifndef AFC_BODY_DOWNLOAD_FILE_H
#define AFC_BODY_DOWNLOAD_FILE_H

#include "message/resume.h"

#include <afcore/request.h>
#include <sys/types.h>

/** Initialise it with AFC__FILE_NONE. */
typedef struct afc__file {
    char *path;         /**< The destination. */
    char *partial_path; /**< The temporary name. NULL: unnamed; see base/temporary_file.h. */
    char *token_path;   /**< Resumable: the token's file. */
    unsigned flags;     /**< AFC_FILE_… */
    bool is_resumable;
    bool has_lost_bytes;    /**< The file system has reported that written bytes are lost. */
    bool has_saved_token;   /**< This task has saved the token. */
    bool is_device;         /**< The destination is a device, which is written to directly. */
    int descriptor;         /**< -1: not open. */
    mode_t mode;            /**< The mode of the destination. */
    int64_t size;           /**< The number of bytes in it. */
    bool has_damaged_token; /**< The file has a token that can't be read. */
    bool is_touched;        /**< Created or written to by this task. */
    int overwritten;        /**< The destination while it is written over; otherwise -1. */
    afc__resume_token
        token; /**< The token of the bytes in the file; empty if it can't be resumed. */
} afc__file;

#define AFC__FILE_NONE ((afc__file){.descriptor = -1, .overwritten = -1})

/** Sets the names. AFC_EINVAL, AFC_EFILE (circular links), AFC_ENOMEM. */
afc_status afc__file_init(afc__file *file, const char *path, unsigned flags, bool is_resumable,
                          afc_failure *failure);

/** Frees everything. An open file is removed, if this task touched it and it isn't kept. */
void afc__file_clear(afc__file *file);

/**
 * Resumable: opens the file of an earlier task for `url`, if it matches `given` (may be NULL) or
 * the saved token. On success `token` exists and `size` isn't 0. AFC_EFILE: another task is writing
 * it, it isn't a regular file, or the token can't be read now. AFC_ENOMEM. Sets `has_damaged_token`.
 */
afc_status afc__file_find(afc__file *file, afc_slice url, const afc__resume_token *given,
                          afc_failure *failure);

/**
 * Resumable, before afc__file_create(): fails with EEXIST if PATH.part exists and isn't of an earlier task for `url`,
 * or PATH.part.resume isn't a token. AFC_EFILE, AFC_ENOMEM.
 */
afc_status afc__file_spare_others(afc__file *file, afc_slice url, afc_failure *failure);

/** Creates an empty file. Removes an existing file with its name. AFC_EFILE. */
afc_status afc__file_create(afc__file *file, afc_failure *failure);

/** Continues at the end of the file that was found. AFC_EFILE. */
afc_status afc__file_resume(afc__file *file, afc_failure *failure);

/** Makes `token` the file's token, and saves it beside the file. AFC_EFILE, AFC_ENOMEM. */
afc_status afc__file_write_token(afc__file *file, afc__resume_token *token, afc_failure *failure);

/**
 * Checks whether there is space for `length` more bytes. AFC_EFILE: there isn't. Nothing is
 * reserved: a server that announces a length without sending anything would fill the disk.
 */
afc_status afc__file_check_space(const afc__file *file, int64_t length, afc_failure *failure);

/** Writes bytes. AFC_EFILE; `size` includes the bytes written until then. */
afc_status afc__file_write(afc__file *file, const char *bytes, size_t size, afc_failure *failure);

/** Reads bytes at `offset`. Returns their number, 0 at the end, or -1 with errno. */
ssize_t afc__file_read(const afc__file *file, void *buffer, size_t size, int64_t offset);

/**
 * Gives the file its final name and closes it. `may_overwrite`: a file that can't be replaced may be written over,
 * which takes long; `*goes_on` says to call it again then, for the next piece. AFC_EFILE: the file is unchanged.
 */
afc_status afc__file_finish(afc__file *file, bool may_overwrite, bool *goes_on,
                            afc_failure *failure);

/** Returns whether afc__file_finish() is to be called again. */
bool afc__file_is_overwriting(const afc__file *file);

/** Removes the file and its token. A file in the token's place that isn't one stays. */
void afc__file_discard(afc__file *file);

/** Keeps the file for a later task. Returns false, and removes it, if it can't be resumed, or bytes of it are lost. */
bool afc__file_keep(afc__file *file);

/** Fills in the failure of writing `path`, with errno's text. */
afc_status afc__file_failed(const afc__file *file, int error, afc_failure *failure);

#endif
