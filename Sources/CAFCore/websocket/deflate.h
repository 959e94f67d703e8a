/** Negotiates permessage-deflate (RFC 7692 section 7). Pure functions. */
#ifndef AFC_WEBSOCKET_DEFLATE_H
#define AFC_WEBSOCKET_DEFLATE_H

#include <afcore/error.h>

/** Parameters that are offered, or that both sides have agreed on. */
typedef struct afc__deflate {
    bool is_used;
    uint8_t server_window_bits, client_window_bits; /**< 8 to 15. */
    bool server_no_context_takeover, client_no_context_takeover;
} afc__deflate;

enum {
    AFC__DEFLATE_BITS_MIN = 8,
    AFC__DEFLATE_BITS_MAX = 15,
    AFC__DEFLATE_OFFER_SIZE = 160 /**< Size of the longest offer, with its NUL. */
};

/** Writes the value of Sec-WebSocket-Extensions that offers this. */
void afc__deflate_write_offer(char out[AFC__DEFLATE_OFFER_SIZE], const afc__deflate *offer);

/**
 * Reads a Sec-WebSocket-Extensions field of the response. Call it for each such field with the same `agreed`, which
 * must be zeroed before the first call. Fails with AFC_EPROTOCOL for an extension that wasn't offered or is named
 * twice, for unknown, repeated or invalid parameters, and for a window larger than offered.
 */
afc_status afc__deflate_read_response(afc__deflate *agreed, const afc__deflate *offer,
                                      afc_slice value, afc_failure *failure);

#endif
