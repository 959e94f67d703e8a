/** Checks UTF-8 (RFC 3629) that arrives in pieces, and stops at the first wrong byte. Pure functions. */
#ifndef AFC_WEBSOCKET_UTF8_H
#define AFC_WEBSOCKET_UTF8_H

#include <afcore/base.h>

/** The state within a character. Zeroed at the start of one. */
typedef struct afc__utf8 {
    uint8_t missing;      /**< Bytes of the character that are still missing. */
    uint8_t lowest, last; /**< Range of the next of these bytes. */
} afc__utf8;

/** Checks the next piece. Returns false if the text can't be UTF-8, whatever follows. */
bool afc__utf8_take(afc__utf8 *text, afc_slice bytes);

/** Returns whether the text may end here. */
static inline bool afc__utf8_is_complete(const afc__utf8 *text) {
    return text->missing == 0;
}

/** Checks a whole text. */
bool afc__is_utf8(afc_slice text);

#endif
