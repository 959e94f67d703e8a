/** Resume tokens: the data for resuming an interrupted download. */
#ifndef AFCORE_RESUME_H
#define AFCORE_RESUME_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** The contents of a resume token. The slices point into its text. */
typedef struct afc_resume_info {
    afc_slice url;       /**< URL of the request before redirects, without userinfo and fragment. */
    afc_slice validator; /**< A strong ETag, or a Last-Modified date, for If-Range. */
    int64_t
        received; /**< Bytes received; 0 in the file of a download that is under way, or whose process was killed. */
    int64_t total;        /**< Size of the whole file in bytes; -1 if unknown. */
    uint64_t reserved[2]; /**< 0. */
} afc_resume_info;

/**
 * Parses a resume token, from afc_result_get_resume_token() or the file PATH.part.resume. A token is
 * opaque text of a few lines, at most 72 KiB; store it unchanged.
 *
 * Thread: any.    Owns: borrowed from `text`.
 * Fails: AFC_EINVAL (damaged; `failure` says where), AFC_ENOMEM; `*out` is then empty.
 */
AFC_API afc_status afc_resume_info_read(afc_resume_info *out, afc_slice text, afc_failure *failure);

/** The number of bytes from the beginning of a file that afc_resume_is_token() looks at. */
#define AFC_RESUME_MARK_SIZE 14

/**
 * Returns whether a text begins as a resume token does, of any version of this library; it may be damaged. Its first
 * AFC_RESUME_MARK_SIZE bytes are enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_resume_is_token(afc_slice text);

AFC_END_DECLS

#endif
