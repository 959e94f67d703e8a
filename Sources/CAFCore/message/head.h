/**
 * Parses header lines to heads: status line, fields, 1xx responses, trailers, limits, framing. Pure functions.
 */
#ifndef AF_MESSAGE_HEAD_H
#define AF_MESSAGE_HEAD_H

#include "message/fields.h"

#include <afcore/message.h>

/** Limits for all lines of a hop, 1xx heads and trailers included. */
typedef struct af__head_limits {
    uint32_t bytes;         /**< Bytes, with line ends. */
    uint32_t count;         /**< Fields. */
    uint32_t informational; /**< 1xx heads. */
} af__head_limits;

typedef enum af__head_step {
    AF__HEAD_MORE,          /**< The head isn't complete. */
    AF__HEAD_INFORMATIONAL, /**< A 1xx head is complete; `head` is valid until the next line. */
    AF__HEAD_FINAL,         /**< The final head is complete; `head` is valid from now on. */
    AF__HEAD_TRAILER        /**< A line of the trailers, after the final head. */
} af__head_step;

typedef enum af__head_state {
    AF__HEAD_AT_STATUS,
    AF__HEAD_IN_FIELDS,
    AF__HEAD_DONE
} af__head_state;

/** A parser of one hop's heads. */
typedef struct af__head_reader {
    af__head_limits limits;
    uint64_t bytes;         /**< Bytes of all lines so far. */
    uint32_t field_count;   /**< All fields so far. */
    uint32_t informational; /**< 1xx heads so far. */
    af__head_state state;
    af_head head;
    af__fields fields;   /**< Fields of `head`; their text starts with the reason phrase. */
    af__fields trailers; /**< After the final head. */
} af__head_reader;

void af__head_reader_init(af__head_reader *reader, af__head_limits limits);
void af__head_reader_clear(af__head_reader *reader);

/**
 * Parses one line with its end (CR LF, or a bare LF), as libcurl passes it to CURLOPT_HEADERFUNCTION:
 *
 *     "HTTP/1.1 200 OK\r\n", "HTTP/2 200 \r\n"   A status line: first, and after a 1xx head.
 *     "Name: value\r\n"                          A field. Spaces around the value are removed.
 *     " more\r\n"                                A fold: joined to the value before with a space.
 *     "\r\n"                                     The end of a head.
 *
 * AF_EPROTOCOL: an invalid status line, a 101 (no request asks for it), a status line after the final head; a
 * field without a colon, or with a name that isn't a token, spaces before the colon included; NUL or a bare CR;
 * a fold without a previous line. AF_ETOOBIG: a limit is exceeded. AF_ENOMEM. After a failure the reader can
 * only be cleared.
 */
af_status af__head_reader_feed(af__head_reader *reader, af_slice line, af__head_step *step,
                               af_failure *failure);

/** Reopens the reader after a final head, because another one follows. Counters continue. */
void af__head_reader_reopen(af__head_reader *reader);

/** Sets the pointers of `trailers.headers`; call it once after the last line. */
void af__head_reader_finish(af__head_reader *reader);

typedef enum af__framing_kind {
    AF__FRAMING_NONE, /**< No body: HEAD, 1xx, 204 and 304. */
    AF__FRAMING_LENGTH,
    AF__FRAMING_CHUNKED,
    AF__FRAMING_CLOSE /**< Until the connection, or the HTTP/2 stream, ends. */
} af__framing_kind;

typedef struct af__framing {
    af__framing_kind kind;
    int64_t length;  /**< Content-Length, also with NONE; or AF_LENGTH_UNKNOWN. */
    bool is_encoded; /**< Content-Encoding names something other than identity. */
    bool has_coding; /**< Transfer-Encoding names something other than chunked and identity. */
} af__framing;

/**
 * Determines how the body ends (RFC 9112 6.3). AF_EPROTOCOL for an invalid, overflowing or conflicting
 * Content-Length (equal repetitions are allowed, also "5, 5"), and for Content-Length together with
 * Transfer-Encoding over HTTP/1.x: two recipients could disagree about the end of the body.
 */
af_status af__head_framing(const af_head *head, bool is_head_request, af__framing *out,
                           af_failure *failure);

#endif
