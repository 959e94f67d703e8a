/** Shared by the files that decide about authentication and that say what is sent. */
#ifndef AF_TRANSFER_AUTH_INTERNAL_H
#define AF_TRANSFER_AUTH_INTERNAL_H

#include "transfer/auth.h"
#include "transfer/digest_auth.h"
#include "transfer/transfer_internal.h"

enum { UNAUTHORIZED = 401, PROXY_AUTHENTICATION_REQUIRED = 407 };

/** Schemes that authenticate a connection: libcurl's work. */
enum { AF__AUTH_ON_CONNECTION = AF_AUTH_NTLM | AF_AUTH_NEGOTIATE };

/** What is known to and of the server, or the proxy. */
typedef struct af__auth_side {
    af__identity *given;     /**< By the request. */
    af__identity *answered;  /**< The last that on_challenge gave. */
    const af__identity *now; /**< Either, once it was sent or is about to be. */
    unsigned scheme;         /**< AF_AUTH_…, of `now`. */
    unsigned refused;        /**< AF_AUTH_…, with which `now` was of no avail. */
    unsigned failures, rounds;
    af__access access; /**< With AF_AUTH_DIGEST. */
    char *field;       /**< What this hop sends. A secret. */
} af__auth_side;

typedef struct af__auth {
    af__auth_side origin, proxy;
    const af__proxy *proxy_of; /**< Whose side that is; NULL: nobody's yet. */
    af__head_reader tunnel;    /**< What a proxy answers to CONNECT. */
    bool has_left;             /**< What the request gives is for an origin that lies behind us. */
    uint32_t number;           /**< Of the last challenge. */
    bool is_of_tunnel;         /**< That one was the answer to CONNECT. */
    /* ASKED. */
    af__buffer body; /**< That came on a connection which others share. */
    int64_t received;
    bool has_outcome;
    af__outcome outcome;
} af__auth;

static inline bool fail_memory(af__transfer *transfer) {
    return fail_text(transfer, AF_ENOMEM, "out of memory");
}

/** What the hop was to send to this side is overwritten and gone. */
void af__auth_free_field(af__auth_side *side);

/** Nothing is known of this side any more. */
void af__auth_clear_side(af__auth_side *side);

const char *af__auth_field_name(const af__auth *auth, const af__auth_side *side);

/** Of what a message to this side says; NULL: nothing, or it isn't known. */
const af_slice *af__auth_known_body(const af__transfer *transfer, const af__auth_side *side);

/** Only a proxy of this kind says 407. */
bool af__auth_has_http_proxy(const af__transfer *transfer);

#endif
