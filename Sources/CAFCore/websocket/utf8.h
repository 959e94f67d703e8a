/** Checks UTF-8 (RFC 3629) that arrives in pieces, at the first wrong byte. Pure. */
#ifndef AFC_WEBSOCKET_UTF8_H
#define AFC_WEBSOCKET_UTF8_H

#include <afcore/base.h>

/** Where the text is within a character. Zeroed: at the start of one. */
typedef struct afc__utf8 {
    uint8_t missing;      /**< Bytes of the character that haven't come. */
    uint8_t lowest, last; /**< Range of the next one. */
} afc__utf8;

/** Takes the next piece. false: it can't be UTF-8, whatever follows. */
bool afc__utf8_take(afc__utf8 *text, afc_slice bytes);

/** Returns whether the text may end here. */
static inline bool afc__utf8_is_complete(const afc__utf8 *text) {
    return text->missing == 0;
}

/** Checks a whole text. */
bool afc__is_utf8(afc_slice text);

#endif
