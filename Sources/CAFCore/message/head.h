/**
 * Parses header lines to heads: status line, fields, 1xx responses, trailers, limits, framing. Pure functions.
 */
#ifndef AFC_MESSAGE_HEAD_H
#define AFC_MESSAGE_HEAD_H

#include "message/fields.h"

#include <afcore/message.h>

/** Limits for all lines of a hop (a request and its response), including 1xx heads and trailers. */
typedef struct afc__head_limits {
    uint32_t bytes;         /**< Maximum number of bytes, with line ends. */
    uint32_t count;         /**< Maximum number of fields. */
    uint32_t informational; /**< Maximum number of 1xx heads. */
} afc__head_limits;

typedef enum afc__head_step {
    AFC__HEAD_MORE,          /**< The head isn't complete. */
    AFC__HEAD_INFORMATIONAL, /**< A 1xx head is complete; `head` is valid until the next line. */
    AFC__HEAD_FINAL,         /**< The final head is complete; `head` is valid from now on. */
    AFC__HEAD_TRAILER        /**< A line of the trailers, after the final head. */
} afc__head_step;

typedef enum afc__head_state {
    AFC__HEAD_AT_STATUS,
    AFC__HEAD_IN_FIELDS,
    AFC__HEAD_DONE
} afc__head_state;

/** A parser of one hop's heads. */
typedef struct afc__head_reader {
    afc__head_limits limits;
    uint64_t bytes;         /**< Bytes of all lines so far. */
    uint32_t field_count;   /**< All fields so far. */
    uint32_t informational; /**< 1xx heads so far. */
    bool awaits_upgrade;    /**< The request asks for an upgrade, so a 101 is the final head. */
    afc__head_state state;
    afc_head head;
    afc__fields fields;   /**< Fields of `head`; their text starts with the reason phrase. */
    afc__fields trailers; /**< Fields after the final head. */
} afc__head_reader;

void afc__head_reader_init(afc__head_reader *reader, afc__head_limits limits);

/** Frees the memory. The reader can then be used again, with the same limits. */
void afc__head_reader_clear(afc__head_reader *reader);

/**
 * Returns whether libcurl treats a line as a status line: it begins with "HTTP/" in any case. Code that follows
 * libcurl's steps must decide in the same way, although afc__head_reader_feed() refuses any case but that of RFC 9112
 * 2.3.
 */
bool afc__is_status_line(afc_slice line);

/**
 * Parses one line with its end (CR LF, or a bare LF), as libcurl passes it to CURLOPT_HEADERFUNCTION:
 *
 *     "HTTP/1.1 200 OK\r\n", "HTTP/2 200 \r\n"   A status line: first, and after a 1xx head.
 *     "Name: value\r\n"                          A field. Spaces around the value are removed.
 *     " more\r\n"                                A fold: joined to the value before with a space.
 *     "\r\n"                                     The end of a head.
 *
 * Fails with AFC_EPROTOCOL for an invalid status line, a 101 that isn't awaited, a status line after the final head; a
 * field without a colon, or with a name that isn't a token (also because of spaces before the colon); NUL or a bare CR;
 * a fold without a previous line. Fails with AFC_ETOOBIG if a limit is exceeded, and AFC_ENOMEM. After a failure the
 * reader can only be cleared.
 */
afc_status afc__head_reader_feed(afc__head_reader *reader, afc_slice line, afc__head_step *step,
                                 afc_failure *failure);

/** Makes the reader accept another head after a final one. The counters continue. */
void afc__head_reader_reopen(afc__head_reader *reader);

/** Returns whether the lines of a head would fit what is left of the limits. */
bool afc__head_reader_fits(const afc__head_reader *reader, const afc_head *head);

/**
 * Sets the final head to a copy of `head`, as if its lines had been fed. `head` was parsed before, and must not be a
 * part of the reader. It counts against the limits as its lines would. Fails with AFC_ETOOBIG or AFC_ENOMEM, as
 * afc__head_reader_feed() does.
 */
afc_status afc__head_reader_set(afc__head_reader *reader, const afc_head *head,
                                afc_failure *failure);

/** Sets the pointers of `trailers.headers`; call it once after the last line. */
void afc__head_reader_finish(afc__head_reader *reader);

typedef enum afc__framing_kind {
    AFC__FRAMING_NONE, /**< No body: HEAD, 1xx, 204 and 304. */
    AFC__FRAMING_LENGTH,
    AFC__FRAMING_CHUNKED,
    AFC__FRAMING_CLOSE /**< The body ends with the connection, or with the HTTP/2 stream. */
} afc__framing_kind;

typedef struct afc__framing {
    afc__framing_kind kind;
    int64_t length;  /**< Content-Length, even with NONE; AFC_LENGTH_UNKNOWN without it. */
    bool is_encoded; /**< Content-Encoding names something other than identity. */
    bool must_close; /**< The connection must not be used again (RFC 9112 6.1). */
} afc__framing;

/**
 * Determines how the body ends (RFC 9112 6.3). Fails with AFC_EPROTOCOL for an invalid, overflowing or conflicting
 * Content-Length (equal repetitions are allowed, also "5, 5"), for a transfer coding after "chunked", and for
 * Content-Length together with Transfer-Encoding: two recipients could disagree about the end of the body. Also fails
 * for a body with a transfer coding other than "chunked", which no request asks for.
 */
afc_status afc__head_framing(const afc_head *head, bool is_head_request, afc__framing *out,
                             afc_failure *failure);

/**
 * Returns whether a member of Content-Encoding leaves the bytes as they are: an empty one, "identity", or "none", which
 * some servers send instead (curl and browsers accept it).
 */
bool afc__coding_is_none(afc_slice name);

/** Returns whether a Content-Encoding field names a coding that changes the bytes; see afc__coding_is_none(). */
bool afc__head_is_encoded(const afc_head *head);

#endif
