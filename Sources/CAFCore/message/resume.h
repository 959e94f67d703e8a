/**
 * Going on with a download: what to remember, what to ask, and what the answer means (RFC 9110 8.8, 13.1.5,
 * 14, 15.3.7, 15.5.17). Pure.
 */
#ifndef AF_MESSAGE_RESUME_H
#define AF_MESSAGE_RESUME_H

#include "message/digest.h"
#include "message/head.h"

enum {
    AF__RESUME_LONGEST = 72 * 1024, /**< Bytes of a token's text. */
    AF__RESUME_VALIDATOR_LONGEST = 1024,
    /** A Last-Modified is strong once it is so much older than the answer: servers' clocks differ. */
    AF__RESUME_STRONG_AGE_S = 60,
    AF__RESUME_RANGE_ROOM = 32 /**< "bytes=9223372036854775807-" */
};

/** Zeroed it is none. The slices point into `block`. */
typedef struct af__resume_token {
    char *block;
    af_slice url; /**< As it was asked for first. */
    af_slice validator;
    bool is_date;      /**< The validator is a Last-Modified, not an ETag. */
    int64_t total;     /**< Or AF_LENGTH_UNKNOWN. */
    int64_t received;  /**< Bytes there when it was written; the file itself knows better. */
    af__digest digest; /**< Of the whole. */
    /** Of the file that the bytes are in: inode numbers are used again. */
    uint64_t device, inode, birth_time;
} af__resume_token;

void af__resume_clear(af__resume_token *token);

/** Is there one? */
bool af__resume_exists(const af__resume_token *token);

/**
 * From the head of the first answer, which came at `now`, in seconds since 1970. `*reason` is NULL then; otherwise it says why the download
 * can't be resumed, and the token is none. AF_ENOMEM.
 */
af_status af__resume_make(af__resume_token *out, af_slice url, const af_head *head,
                          const af__framing *framing, int64_t now, const char **reason);

/**
 * The text is strict: every line is there, in order, and nothing else.
 *
 *     afcore-resume 1
 *     url https://example.org/file
 *     etag "abc"                       or: modified Sun, 06 Nov 1994 08:49:37 GMT
 *     total 4096                       or: total unknown
 *     received 1024
 *     digest sha-256=BASE64            may be missing
 *     file 2049 131072 1700000000000   device, inode, and when it was made
 *     end
 *
 * AF_EINVAL with a text that says what is damaged, AF_ENOMEM; `*out` is then none.
 */
af_status af__resume_read(af__resume_token *out, af_slice text, af_failure *failure);

/** Add the text to `out`. AF_ENOMEM, AF_ETOOBIG. */
af_status af__resume_write(const af__resume_token *token, af__buffer *out);

/**
 * The two fields of a request that goes on at `offset`. They point into the token and `range`.
 */
void af__resume_ask(const af__resume_token *token, int64_t offset,
                    char range[AF__RESUME_RANGE_ROOM], af_header out[2]);

typedef enum af__resume_verdict {
    AF__RESUME_APPEND,   /**< The body follows on what is there. */
    AF__RESUME_RESTART,  /**< The body is the whole: what is there is void. */
    AF__RESUME_COMPLETE, /**< Everything is there. */
    AF__RESUME_REFUSE,   /**< The body is of no use: ask for the whole. */
    AF__RESUME_KEEP,     /**< An answer about something else; what is there stays good. */
    AF__RESUME_GONE      /**< There is no such thing any more: what is there is void. */
} af__resume_verdict;

typedef struct af__resume_answer {
    af__resume_verdict verdict;
    int64_t end;        /**< APPEND: the offset after the last byte of the body. */
    int64_t total;      /**< APPEND, COMPLETE: the length of the whole. */
    const char *reason; /**< In words, for all but APPEND and COMPLETE. Static. */
} af__resume_answer;

/** What the answer to such a request means, with `offset` bytes there. */
af__resume_answer af__resume_judge(const af__resume_token *token, int64_t offset,
                                   const af_head *head, const af__framing *framing);

#endif
