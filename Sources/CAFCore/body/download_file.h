/**
 * A file that a body is written to under a temporary name, until it is complete.
 *
 * A plain one (temporary_file.h) never outlives its task. A resumable one is PATH.part, locked
 * while a task uses it, and PATH.part.resume, the resume token for its bytes. The token identifies
 * the file by device, inode and birth time, so any other file in its place is foreign and is
 * replaced.
 *
 * The pair stays consistent if the process is killed at any point: a new PATH.part has another
 * inode than the token's, until its own token is saved, which happens before its first byte is
 * written.
 */
#ifndef AF_BODY_DOWNLOAD_FILE_H
#define AF_BODY_DOWNLOAD_FILE_H

#include "message/resume.h"

#include <afcore/task.h>
#include <sys/types.h>

/** Initialise it with AF__FILE_NONE. */
typedef struct af__file {
    char *path;         /**< The destination. */
    char *partial_path; /**< The temporary name. NULL: unnamed; see temporary_file.h. */
    char *token_path;   /**< Resumable: the token's file. */
    unsigned flags;     /**< AF_SINK_… */
    bool is_resumable;
    bool is_device;         /**< The destination is a device, which is written to directly. */
    int descriptor;         /**< -1: not open. */
    mode_t mode;            /**< The mode of the destination. */
    int64_t size;           /**< The number of bytes in it. */
    bool is_touched;        /**< Created or written to by this task. */
    af__resume_token token; /**< Of the bytes in it; none if it can't be resumed. */
} af__file;

#define AF__FILE_NONE ((af__file){.descriptor = -1})

/** Sets the names. AF_EINVAL, AF_EFILE (circular links), AF_ENOMEM. */
af_status af__file_init(af__file *file, const char *path, unsigned flags, bool is_resumable,
                        af_failure *failure);

/** Frees everything. An open file is removed, if this task touched it and it isn't kept. */
void af__file_clear(af__file *file);

/**
 * Resumable: opens the file of an earlier task for `url`, if it matches `given` (may be NULL) or
 * the saved token. On success `token` exists and `size` isn't 0. AF_EFILE: another task is writing
 * it, or it isn't a regular file. AF_ENOMEM.
 */
af_status af__file_find(af__file *file, af_slice url, const af__resume_token *given,
                        af_failure *failure);

/** Creates an empty file. Removes an existing file with its name. AF_EFILE. */
af_status af__file_create(af__file *file, af_failure *failure);

/** Continues at the end of the file that was found. AF_EFILE. */
af_status af__file_resume(af__file *file, af_failure *failure);

/** Makes `token` the file's token, and saves it beside the file. AF_EFILE, AF_ENOMEM. */
af_status af__file_note(af__file *file, af__resume_token *token, af_failure *failure);

/**
 * Checks whether there is space for `length` more bytes. AF_EFILE: there isn't. Nothing is
 * reserved: a server that announces a length without sending anything would fill the disk.
 */
af_status af__file_check_room(const af__file *file, int64_t length, af_failure *failure);

/** Writes bytes. AF_EFILE; `size` includes the bytes written until then. */
af_status af__file_write(af__file *file, const char *bytes, size_t size, af_failure *failure);

/** Reads bytes at `offset`. Returns their number, 0 at the end, or -1 with errno. */
ssize_t af__file_read(const af__file *file, void *buffer, size_t size, int64_t offset);

/** Gives the file its final name and closes it. AF_EFILE: it is unchanged. */
af_status af__file_finish(af__file *file, af_failure *failure);

/** Removes the file and its token. */
void af__file_discard(af__file *file);

/** Keeps the file for a later task. Returns false, and removes it, if it can't be resumed. */
bool af__file_keep(af__file *file);

/** Fills in the failure of writing `path`, with errno's text. */
af_status af__file_failed(const af__file *file, int error, af_failure *failure);

#endif
