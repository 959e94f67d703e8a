/** The opening handshake (RFC 6455 section 4): fields of the request, checks of the response. No I/O. */
#ifndef AFC_WEBSOCKET_HANDSHAKE_H
#define AFC_WEBSOCKET_HANDSHAKE_H

#include "base/buffer.h"
#include "websocket/deflate.h"

#include <afcore/message.h>

enum { AFC__WEBSOCKET_KEY_SIZE = 25 /**< Base64 of 16 bytes, with its NUL. */ };

/** What the client asks for. A zeroed one asks for nothing. */
typedef struct afc__handshake {
    char key[AFC__WEBSOCKET_KEY_SIZE];
    afc__buffer protocols; /**< The value of Sec-WebSocket-Protocol; empty if there is none. */
    afc__deflate deflate;  /**< What is offered. */
    char extensions[AFC__DEFLATE_OFFER_SIZE];
} afc__handshake;

/** What both sides agreed on. */
typedef struct afc__agreement {
    afc_slice protocol; /**< Points into the head; empty if there is none. */
    afc__deflate deflate;
} afc__agreement;

/** Maximum number of fields that afc__handshake_write_fields() writes. */
enum { AFC__HANDSHAKE_FIELDS = 6 };

/**
 * Makes a key and checks the subprotocols. Fails with AFC_EINVAL if one isn't a token or is repeated; AFC_ENOMEM;
 * AFC_EINTERNAL if the system has no random bytes.
 */
afc_status afc__handshake_init(afc__handshake *handshake, const char *const *protocols,
                               size_t count, const afc__deflate *deflate, afc_failure *failure);
void afc__handshake_clear(afc__handshake *handshake);

/**
 * Makes another key, as each connection must have one of its own (RFC 6455 4.1), and replaces the one in the fields of
 * a request, in place. Fails with AFC_EINTERNAL if the system has no random bytes.
 */
afc_status afc__handshake_renew(afc__handshake *handshake, afc_header *headers, size_t count,
                                afc_failure *failure);

/** Writes the fields of the request. They point into `handshake`. Returns their number. */
size_t afc__handshake_write_fields(const afc__handshake *handshake,
                                   afc_header out[AFC__HANDSHAKE_FIELDS]);

/** Returns whether the handshake sets this field, so that the caller must not. */
bool afc__handshake_owns_field(afc_slice name);

/**
 * Checks the response. Fails with AFC_EAUTH for 401 and 407, AFC_EPROTOCOL for every other refusal and for what RFC
 * 6455 4.1 forbids, with the reason as its text, or AFC_EUNSUPPORTED if OpenSSL has no SHA-1.
 */
afc_status afc__handshake_check(const afc__handshake *handshake, const afc_head *head,
                                afc__agreement *out, afc_failure *failure);

#endif
