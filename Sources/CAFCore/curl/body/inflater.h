/**
 * Decodes gzip bodies (RFC 1952) with the zlib that libcurl has loaded, piece by piece: no more is decoded than is taken. As
 * with libcurl, they may have the format of zlib (RFC 1950), which some servers send under the name of gzip.
 * libcurl decodes all that it has read at once: 32 KiB can become 32 MiB, which it collects twice while the body is paused.
 */
#ifndef AFC_CURL_BODY_INFLATER_H
#define AFC_CURL_BODY_INFLATER_H

#include <afcore/base.h>

typedef struct afc__inflater afc__inflater;

typedef enum afc__inflating {
    AFC__INFLATED_PIECE, /**< There is a piece; it comes again until afc__inflater_took_piece() is called. */
    AFC__INFLATED_ALL,       /**< All the bytes are used, and their pieces are taken. */
    AFC__INFLATE_INVALID,    /**< The bytes are neither gzip nor zlib, or are damaged. */
    AFC__INFLATE_BEHIND_END, /**< The body has ended, and bytes follow. */
    AFC__INFLATE_NO_MEMORY
} afc__inflating;

/** Returns whether libcurl has loaded a zlib. */
bool afc__inflater_is_available(void);

/** Returns NULL when out of memory. Free it with afc__inflater_free(). */
afc__inflater *afc__inflater_new(void);

/** NULL is allowed. */
void afc__inflater_free(afc__inflater *inflater);

/**
 * Decodes the next piece of at most 16 KiB. Until AFC__INFLATED_ALL, call it with the same bytes, or with more behind them:
 * it skips what it has used.
 */
afc__inflating afc__inflater_next(afc__inflater *inflater, afc_slice bytes, afc_slice *piece);

/** Returns zlib's words for what is wrong with the bytes, after AFC__INFLATE_INVALID. Borrowed, static. */
const char *afc__inflater_problem(const afc__inflater *inflater);

void afc__inflater_took_piece(afc__inflater *inflater);

#endif
