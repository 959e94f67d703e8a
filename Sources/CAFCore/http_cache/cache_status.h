/** The head of an answer from the cache, as header lines: Age (RFC 9111 5.1) and Cache-Status (RFC 9211). Pure functions. */
#ifndef AFC_HTTP_CACHE_CACHE_STATUS_H
#define AFC_HTTP_CACHE_CACHE_STATUS_H

#include "base/buffer.h"
#include "http_cache/ranges.h"

#include <afcore/message.h>

enum {
    AFC__ANSWER_HEAD_LONGEST = 2 * 1024 * 1024, /**< In bytes; no stored head has longer lines. */
    /** The most that is added to a stored head: Age, Cache-Status, Content-Range, Content-Length. */
    AFC__ANSWER_MORE_FIELDS = 4,
    AFC__ANSWER_MORE_BYTES = 512
};

/** How the cache came to its answer. */
typedef enum afc__answer_kind {
    AFC__ANSWER_HIT,
    AFC__ANSWER_VALIDATED, /**< The server said 304. */
    AFC__ANSWER_COMPLETED, /**< A 200 of a stored part and the rest, which the server sends. */
    AFC__ANSWER_MISSING    /**< There is nothing, and the server may not be asked: 504. */
} afc__answer_kind;

typedef struct afc__answer {
    afc__answer_kind kind;
    const afc_head *head;  /**< The stored one; NULL with MISSING. It may have been updated. */
    int64_t age, lifetime; /**< Seconds; ttl is what is left. */
    bool is_not_modified;  /**< 304: the client has it. */
    const afc__byte_range *range; /**< 206 of a whole: this part; NULL: what is stored. */
    int64_t total;                /**< Of the representation; with `range` or COMPLETED. */
} afc__answer;

/** Appends the status line, the fields and the empty line, each with CR LF. AFC_ETOOBIG, AFC_ENOMEM. */
afc_status afc__answer_write_head(afc__buffer *out, const afc__answer *answer);

#endif
