/**
 * A file that a body is written to under another name, until it is complete.
 *
 * A plain one is temporary (temporary_file.h) and never outlives its task. A resumable one is PATH.part, locked
 * while a task has it, with PATH.part.resume beside it: the token of the bytes in it. The token names
 * the file by device, inode and birth, so whatever else takes its place is foreign and is replaced.
 *
 * Killed at any point it leaves a pair that is right: a new PATH.part is another inode than the token's
 * until its own token stands beside it, which is before its first byte.
 */
#ifndef AF_BODY_DOWNLOAD_FILE_H
#define AF_BODY_DOWNLOAD_FILE_H

#include "message/resume.h"

#include <afcore/task.h>
#include <sys/types.h>

/** Begin from AF__FILE_NONE. */
typedef struct af__file {
    char *path;         /**< The destination. */
    char *partial_path; /**< Written until the end. NULL: without a name; see temporary_file.h. */
    char *token_path;   /**< Resumable: the token's file. */
    unsigned flags;     /**< AF_SINK_… */
    bool is_resumable;
    bool is_device;         /**< The destination is one: it is written to as it is. */
    int descriptor;         /**< -1: not open. */
    mode_t mode;            /**< That the destination gets. */
    int64_t size;           /**< Bytes in it. */
    bool is_touched;        /**< Created or written to by this task. */
    af__resume_token token; /**< Of what is in it; none if it can't be resumed. */
} af__file;

#define AF__FILE_NONE ((af__file){.descriptor = -1})

/** Fill in the names. AF_EINVAL, AF_EFILE (links that lead in a circle), AF_ENOMEM. */
af_status af__file_init(af__file *file, const char *path, unsigned flags, bool is_resumable,
                        af_failure *failure);

/** Frees all; what is still open is removed, if this task touched it and nothing keeps it. */
void af__file_clear(af__file *file);

/**
 * Resumable: open what an earlier task left for `url`, if it is ours by `given` (may be NULL) or by the
 * token beside it. Then `token` exists and `size` is not 0. AF_EFILE: another task is writing it, or it
 * is no regular file. AF_ENOMEM.
 */
af_status af__file_find(af__file *file, af_slice url, const af__resume_token *given,
                        af_failure *failure);

/** Begin with an empty file. What was there under its name is removed. AF_EFILE. */
af_status af__file_create(af__file *file, af_failure *failure);

/** Go on behind what was found. AF_EFILE. */
af_status af__file_resume(af__file *file, af_failure *failure);

/** Take `token` as that of the file from now on, and put it beside it. AF_EFILE, AF_ENOMEM. */
af_status af__file_note(af__file *file, af__resume_token *token, af_failure *failure);

/**
 * Is there room for `length` more bytes? AF_EFILE: surely not. Nothing is reserved: a server that announces a
 * length without sending anything would fill the disk.
 */
af_status af__file_check_room(const af__file *file, int64_t length, af_failure *failure);

/** AF_EFILE; what could be written is counted in `size`. */
af_status af__file_write(af__file *file, const char *bytes, size_t size, af_failure *failure);

/** Bytes at `offset`: their number, 0 at the end, or -1 with errno. */
ssize_t af__file_read(const af__file *file, void *buffer, size_t size, int64_t offset);

/** Give it its final name; it is closed. AF_EFILE: it is as before. */
af_status af__file_finish(af__file *file, af_failure *failure);

/** Remove it and its token. */
void af__file_discard(af__file *file);

/** Leave it for a later task; false, and it is removed, if it can't be gone on with. */
bool af__file_keep(af__file *file);

/** The failure of writing `path`, with errno's text. */
af_status af__file_failed(const af__file *file, int error, af_failure *failure);

#endif
