/**
 * Decodes bodies with the libraries that libcurl has loaded, instead of libcurl, so that no more is decoded than the
 * caller takes. libcurl decodes all that it has read at once: 32 KiB of gzip can become 32 MiB, of Brotli and Zstandard
 * any number of bytes, and it holds them twice while the body is paused.
 */
#ifndef AFC_CURL_BODY_DECODER_H
#define AFC_CURL_BODY_DECODER_H

#include "message/head.h"

typedef struct afc__decoder afc__decoder;

typedef enum afc__decoding {
    /** A piece was decoded; the next call returns the same one, unless afc__decoder_took_piece() was called. */
    AFC__DECODED_PIECE,
    AFC__DECODED_ALL,       /**< All bytes are decoded, and their pieces are taken. */
    AFC__DECODE_INVALID,    /**< The bytes have another coding, or are damaged. */
    AFC__DECODE_BEHIND_END, /**< The encoded body has ended, but more bytes follow. */
    AFC__DECODE_NO_MEMORY
} afc__decoding;

/** Returns whether libcurl has loaded the library that decodes this coding. Any thread. */
bool afc__decoder_is_available(afc__content_coding coding);

/**
 * Makes a decoder for a coding that is available. Returns NULL when out of memory. Free it with afc__decoder_free().
 */
afc__decoder *afc__decoder_new(afc__content_coding coding);

/** Frees a decoder. NULL is allowed. */
void afc__decoder_free(afc__decoder *decoder);

/** Returns the name of the coding for error texts, a static string. */
const char *afc__decoder_name(const afc__decoder *decoder);

/** Returns what is wrong with the bytes after AFC__DECODE_INVALID, a static string. */
const char *afc__decoder_problem(const afc__decoder *decoder);

/**
 * Decodes the next piece of at most 16 KiB and sets `*piece`, which is valid until the next call. Until this returns
 * AFC__DECODED_ALL, call it with the same bytes, or with more behind them: it skips those that it has decoded.
 */
afc__decoding afc__decoder_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece);

/**
 * Returns whether the encoded body is whole: it may end behind the bytes that were decoded. Call it after
 * AFC__DECODED_ALL.
 */
bool afc__decoder_is_whole(const afc__decoder *decoder);

/** Call it when the piece was consumed, so that the next call of afc__decoder_next() decodes another one. */
void afc__decoder_took_piece(afc__decoder *decoder);

#endif
