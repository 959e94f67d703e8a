/**
 * What libcurl's error and debug texts tell beyond its result codes. The texts aren't part of libcurl's interface, so
 * every new version must be compared with the table in error_texts.c. Pure functions.
 */
#ifndef AFC_CURL_ERROR_TEXTS_H
#define AFC_CURL_ERROR_TEXTS_H

#include <afcore/base.h>
#include <stdbool.h>

typedef enum afc__text_meaning {
    AFC__TEXT_BAD_CHUNK,           /**< The chunks of a body are invalid. */
    AFC__TEXT_LONG_TRAILER,        /**< A trailer line exceeds libcurl's buffer. */
    AFC__TEXT_CUT_TLS,             /**< The peer ended a TLS connection without close_notify. */
    AFC__TEXT_PROTOCOL_ERROR,      /**< A stream was reset because the protocol was violated. */
    AFC__TEXT_BAD_FRAME,           /**< nghttp2 refused a frame. */
    AFC__TEXT_DIFFERENT_LOCATIONS, /**< A head has several Location fields. */
    AFC__TEXT_EXCESS,              /**< Bytes behind a response were discarded. */
    AFC__TEXT_NOT_TLS,             /**< The peer doesn't speak TLS. */
    AFC__TEXT_TLS_VERSION,         /**< The peers have no version of TLS in common. */
    AFC__TEXT_CUT_HANDSHAKE,       /**< The transport ended during the TLS handshake. */
    AFC__TEXT_NOT_BOUND            /**< The chosen interface or address can't be used. */
} afc__text_meaning;

/** Returns whether `text` is known to have this meaning. */
bool afc__text_means(afc_slice text, afc__text_meaning meaning);

#endif
