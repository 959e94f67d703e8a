/**
 * From header lines to heads: status line, fields, 1xx answers, trailers, limits, framing. Pure.
 */
#ifndef AF_MESSAGE_HEAD_H
#define AF_MESSAGE_HEAD_H

#include "message/fields.h"

#include <afcore/message.h>

/** All are counted over every line of the hop: 1xx heads and trailers included. */
typedef struct af__head_limits {
    uint32_t bytes;         /**< Lines with their ends. */
    uint32_t count;         /**< Fields. */
    uint32_t informational; /**< 1xx heads. */
} af__head_limits;

typedef enum af__head_step {
    AF__HEAD_MORE,          /**< Lines are missing. */
    AF__HEAD_INFORMATIONAL, /**< A 1xx head is complete: in `head` until the next line. */
    AF__HEAD_FINAL,         /**< The final head is complete: in `head` from now on. */
    AF__HEAD_TRAILER        /**< A trailer line was taken (lines after the final head). */
} af__head_step;

typedef enum af__head_state {
    AF__HEAD_AT_STATUS,
    AF__HEAD_IN_FIELDS,
    AF__HEAD_DONE
} af__head_state;

/** Reads the heads of one hop. */
typedef struct af__head_reader {
    af__head_limits limits;
    uint64_t bytes;         /**< All lines so far. */
    uint32_t field_count;   /**< All fields so far. */
    uint32_t informational; /**< 1xx heads so far. */
    af__head_state state;
    af_head head;
    af__fields fields;   /**< Of `head`; its text begins with the reason phrase. */
    af__fields trailers; /**< After the final head. */
} af__head_reader;

void af__head_reader_init(af__head_reader *reader, af__head_limits limits);
void af__head_reader_clear(af__head_reader *reader);

/**
 * One line with its end (CR LF, or a bare LF), as libcurl's header callback gives it:
 *
 *     "HTTP/1.1 200 OK\r\n", "HTTP/2 200 \r\n"   A status line: first, and after a 1xx head.
 *     "Name: value\r\n"                          A field. Blanks around the value are dropped.
 *     " more\r\n"                                A fold: joined to the value before with a space.
 *     "\r\n"                                     The end of a head.
 *
 * AF_EPROTOCOL: a bad status line, 101 (nobody asks for it), one after the final head; no colon; a
 * name that is empty or no token, blanks before the colon included; NUL or a bare CR; a fold with
 * nothing before it. AF_ETOOBIG: a limit is passed. AF_ENOMEM. After a failure the reader can only
 * be cleared.
 */
af_status af__head_reader_feed(af__head_reader *reader, af_slice line, af__head_step *step,
                               af_failure *failure);

/** The final head was not the last: another one follows. What was counted stays counted. */
void af__head_reader_reopen(af__head_reader *reader);

/** Make `trailers.headers` point into its text; call once after the last line. */
void af__head_reader_finish(af__head_reader *reader);

typedef enum af__framing_kind {
    AF__FRAMING_NONE, /**< No body: HEAD, 1xx, 204, 304. */
    AF__FRAMING_LENGTH,
    AF__FRAMING_CHUNKED,
    AF__FRAMING_CLOSE /**< Until the connection closes; over HTTP/2, until the stream ends. */
} af__framing_kind;

typedef struct af__framing {
    af__framing_kind kind;
    int64_t length;  /**< What Content-Length says, also with NONE; or AF_LENGTH_UNKNOWN. */
    bool is_encoded; /**< Content-Encoding names something else than identity. */
    bool has_coding; /**< Transfer-Encoding names something else than chunked and identity. */
} af__framing;

/**
 * How the body ends (RFC 9112 6.3). AF_EPROTOCOL for an invalid, overflowing or conflicting
 * Content-Length (equal repeats are fine, "5, 5" too), and for Content-Length beside
 * Transfer-Encoding over HTTP/1.x: two readers could then disagree on where the body ends.
 */
af_status af__head_framing(const af_head *head, bool is_head_request, af__framing *out,
                           af_failure *failure);

#endif
