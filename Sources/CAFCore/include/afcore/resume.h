/**
 * What has to be remembered to go on with a download that broke off.
 */
#ifndef AFCORE_RESUME_H
#define AFCORE_RESUME_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** What a resume token says. The slices point into its text. */
typedef struct af_resume_info {
    af_slice url;       /**< That was asked, before redirects; without userinfo and fragment. */
    af_slice validator; /**< The strong ETag, or the Last-Modified date. */
    int64_t received;   /**< Bytes that were there. */
    int64_t total;      /**< Of the whole file; -1 if unknown. */
} af_resume_info;

/**
 * Read a token (af_result_get_resume_token(), or the file PATH.part.resume): a few lines of text, at
 * most 72 KiB, to be kept as it is.
 *
 * Thread: any.    Owns: borrowed from `text`.
 * Fails: AF_EINVAL says what is damaged (`*out` is then empty); AF_ENOMEM. `failure` may be NULL.
 */
AF_API af_status af_resume_info_read(af_slice text, af_resume_info *out, af_failure *failure);

AF_END_DECLS

#endif
