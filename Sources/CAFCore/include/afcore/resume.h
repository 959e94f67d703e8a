/**
 * Resume tokens: what is needed to resume an interrupted download.
 */
#ifndef AFCORE_RESUME_H
#define AFCORE_RESUME_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** The contents of a resume token. The slices point into its text. */
typedef struct af_resume_info {
    af_slice url;       /**< URL of the request before redirects, without userinfo and fragment. */
    af_slice validator; /**< A strong ETag, or a Last-Modified date, for If-Range. */
    int64_t received;   /**< Bytes received so far. */
    int64_t total;      /**< Size of the whole file in bytes; -1 if unknown. */
} af_resume_info;

/**
 * Parses a resume token, from af_result_get_resume_token() or the file PATH.part.resume. A token is
 * opaque text of a few lines, at most 72 KiB; store it unchanged.
 *
 * Thread: any.    Owns: borrowed from `text`.
 * Fails: AF_EINVAL (damaged; `failure` says where), AF_ENOMEM; `*out` is then empty. `failure` may be NULL.
 */
AF_API af_status af_resume_info_read(af_slice text, af_resume_info *out, af_failure *failure);

AF_END_DECLS

#endif
