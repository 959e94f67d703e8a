/**
 * Decodes bodies with the libraries that libcurl has loaded, piece by piece: no more is decoded than is taken. libcurl
 * decodes all that it has read at once: 32 KiB of gzip can become 32 MiB, of Brotli and Zstandard any number of bytes,
 * which it collects twice while the body is paused.
 */
#ifndef AFC_CURL_BODY_DECODER_H
#define AFC_CURL_BODY_DECODER_H

#include "message/head.h"

typedef struct afc__decoder afc__decoder;

typedef enum afc__decoding {
    AFC__DECODED_PIECE, /**< There is a piece; it comes again until afc__decoder_took_piece() is called. */
    AFC__DECODED_ALL,       /**< All the bytes are used, and their pieces are taken. */
    AFC__DECODE_INVALID,    /**< The bytes aren't of this coding, or are damaged. */
    AFC__DECODE_BEHIND_END, /**< The body has ended, and bytes follow. */
    AFC__DECODE_NO_MEMORY
} afc__decoding;

/** Returns whether libcurl has loaded what decodes this coding. */
bool afc__decoder_is_available(afc__content_coding coding);

/** For a coding that is available. Returns NULL when out of memory. Free it with afc__decoder_free(). */
afc__decoder *afc__decoder_new(afc__content_coding coding);

/** NULL is allowed. */
void afc__decoder_free(afc__decoder *decoder);

/** Returns the name of the coding for error texts; static. */
const char *afc__decoder_name(const afc__decoder *decoder);

/** Returns words for what is wrong with the bytes, after AFC__DECODE_INVALID; static. */
const char *afc__decoder_problem(const afc__decoder *decoder);

/**
 * Decodes the next piece of at most 16 KiB. Until AFC__DECODED_ALL, call it with the same bytes, or with more behind
 * them: it skips what it has used.
 */
afc__decoding afc__decoder_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece);

void afc__decoder_took_piece(afc__decoder *decoder);

#endif
