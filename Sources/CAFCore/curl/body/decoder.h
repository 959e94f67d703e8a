/**
 * Decodes bodies with content codings (RFC 9110 section 8.4.1), instead of libcurl, so that no more is decoded than the
 * caller takes. libcurl would decode all that it has read at once: 32 KiB of gzip can become 32 MiB, of Brotli and
 * Zstandard any number of bytes. It would hold them twice while the body is paused, and not report a missing end.
 *
 * The libraries of the codings are loaded when they are needed, as the core isn't linked with them. Those of libcurl's
 * package are loaded already.
 */
#ifndef AFC_CURL_BODY_DECODER_H
#define AFC_CURL_BODY_DECODER_H

#include "message/head.h"

typedef struct afc__decoder afc__decoder;

typedef enum afc__decoding {
    /** A piece was decoded; the next call returns the same one, unless afc__decoder_took_piece() was called. */
    AFC__DECODED_PIECE,
    /** Bytes were decoded for the next coding. Call again, unless afc__decoder_between() exceeds a limit. */
    AFC__DECODED_BETWEEN,
    AFC__DECODED_ALL,       /**< All bytes are decoded, and their pieces are taken. */
    AFC__DECODE_INVALID,    /**< The bytes have another coding, or are damaged. */
    AFC__DECODE_BEHIND_END, /**< The encoded body has ended, but more bytes follow. */
    AFC__DECODE_NO_MEMORY
} afc__decoding;

/**
 * Returns the codings to ask for in Accept-Encoding: those whose libraries are installed, such as "gzip, br, zstd".
 * NULL if no library is. A static string. Any thread.
 */
const char *afc__decodable_codings(void);

/**
 * Makes a decoder of the codings that the fields Content-Encoding of `head` list: up to five, in the order in which they
 * were applied. Fails with AFC_EPROTOCOL for more of them and for one that can't be decoded. Free it with
 * afc__decoder_free().
 */
afc_status afc__decoder_new(afc__decoder **out, const afc_head *head, afc_failure *failure);

/** Frees a decoder. NULL is allowed. */
void afc__decoder_free(afc__decoder *decoder);

/**
 * Returns the name of a coding for error texts, a static string: of the one that is damaged, or else of one that isn't
 * whole.
 */
const char *afc__decoder_name(const afc__decoder *decoder);

/** Returns what is wrong with the bytes after AFC__DECODE_INVALID, a static string. */
const char *afc__decoder_problem(const afc__decoder *decoder);

/**
 * Decodes the next piece of at most 16 KiB and sets `*piece`, which is valid until the next call. Until this returns
 * AFC__DECODED_ALL, call it with the same bytes, or with more behind them: it skips those that it has decoded.
 */
afc__decoding afc__decoder_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece);

/**
 * Returns how many bytes were passed from one coding to the next. A body can be short on the wire and in the end, but
 * not between.
 */
uint64_t afc__decoder_between(const afc__decoder *decoder);

/**
 * Returns whether the encoded body is whole: it may end behind the bytes that were decoded. Call it after
 * AFC__DECODED_ALL.
 */
bool afc__decoder_is_whole(const afc__decoder *decoder);

/** Call it when the piece was consumed, so that the next call of afc__decoder_next() decodes another one. */
void afc__decoder_took_piece(afc__decoder *decoder);

#endif
