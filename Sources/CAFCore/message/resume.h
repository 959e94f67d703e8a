/**
 * Resuming a download: the token, the fields of the request, and the meaning of the response (RFC 9110 8.8,
 * 13.1.5, 14, 15.3.7, 15.5.17). Pure functions.
 */
#ifndef AFC_MESSAGE_RESUME_H
#define AFC_MESSAGE_RESUME_H

#include "message/digest.h"
#include "message/head.h"

enum {
    AFC__RESUME_MAX = 72 * 1024, /**< Maximum size of a token's text in bytes. */
    AFC__RESUME_VALIDATOR_MAX = 1024,
    AFC__RESUME_RANGE_SIZE = 32 /**< "bytes=9223372036854775807-" */
};

/** A parsed token. Zeroed if there is none. The slices point into `block`. */
typedef struct afc__resume_token {
    char *block;
    afc_slice url; /**< URL of the first request, before redirects. */
    afc_slice validator;
    bool is_date;  /**< The validator is a Last-Modified, not an ETag. */
    int64_t total; /**< Size of the whole file in bytes, or AFC_LENGTH_UNKNOWN. */
    /** Size of the file when the download ended. 0 in the token of a download that is under way, or was killed. */
    int64_t received;
    afc__digest digest; /**< Digest of the whole file. */
    /** Identify the partial file. The creation time is one of them because inode numbers are reused. */
    uint64_t device, inode, birth_time;
} afc__resume_token;

void afc__resume_clear(afc__resume_token *token);

/**
 * Returns whether a body is multipart/byteranges. It contains several parts with heads, not the bytes of one range (RFC
 * 9110 15.3.7.2).
 */
bool afc__has_several_ranges(const afc_head *head);

/** Returns whether the server refuses range requests for what it sends with this head (Accept-Ranges: none). */
bool afc__refuses_ranges(const afc_head *head);

/** Returns whether there is a token. */
bool afc__resume_exists(const afc__resume_token *token);

/**
 * Makes a token from the head of the first response, which was received at `now` (Unix time). If the download can't be
 * resumed, `*reason` says why and the token is empty; otherwise `*reason` is NULL. Fails with AFC_ENOMEM.
 */
afc_status afc__resume_make(afc__resume_token *out, afc_slice url, const afc_head *head,
                            const afc__framing *framing, int64_t now, const char **reason);

/**
 * Parses a token's text. The format is strict: every line is required, in this order, and nothing else is allowed.
 *
 *     afcore-resume 1
 *     url https://example.org/file
 *     etag "abc"                       or: modified Sun, 06 Nov 1994 08:49:37 GMT
 *     total 4096                       or: total unknown
 *     received 1024
 *     digest sha-256=BASE64            optional
 *     file 2049 131072 1700000000000   device, inode, creation time
 *     end
 *
 * Fails with AFC_EINVAL, whose text says what is damaged, or AFC_ENOMEM; `*out` is then zeroed.
 */
afc_status afc__resume_read(afc__resume_token *out, afc_slice text, afc_failure *failure);

/** Appends the token's text to `out`. Fails with AFC_ENOMEM or AFC_ETOOBIG. */
afc_status afc__resume_write(const afc__resume_token *token, afc__buffer *out);

/**
 * Sets the two fields, Range and If-Range, of a request that resumes at `offset`. They point into the token and
 * `range`.
 */
void afc__resume_ask(const afc__resume_token *token, int64_t offset,
                     char range[AFC__RESUME_RANGE_SIZE], afc_header out[2]);

typedef enum afc__resume_verdict {
    AFC__RESUME_APPEND,   /**< Append the body to the partial file. */
    AFC__RESUME_RESTART,  /**< The body is the whole file: discard the partial one. */
    AFC__RESUME_COMPLETE, /**< The partial file is complete. */
    AFC__RESUME_REFUSE,   /**< The body is unusable: request the whole file. */
    AFC__RESUME_KEEP,     /**< Another response, such as a 500: keep the partial file. */
    AFC__RESUME_FAIL, /**< A success without the file, such as a 204: keep the partial file, and fail. */
    AFC__RESUME_GONE /**< The resource is gone (404, 410): remove the partial file. */
} afc__resume_verdict;

typedef struct afc__resume_decision {
    afc__resume_verdict verdict;
    int64_t end;        /**< With APPEND: offset after the last byte of the body. */
    int64_t total;      /**< With APPEND and COMPLETE: size of the whole file. */
    const char *reason; /**< The reason, except for APPEND and COMPLETE. Static. */
} afc__resume_decision;

/**
 * Decides what the response to a request with the fields of afc__resume_ask() means for a partial file of `offset`
 * bytes.
 */
afc__resume_decision afc__resume_decide(const afc__resume_token *token, int64_t offset,
                                        const afc_head *head, const afc__framing *framing);

/** Does the same for the status of a response to a request for the whole file. */
afc__resume_verdict afc__resume_decide_whole(int status);

#endif
