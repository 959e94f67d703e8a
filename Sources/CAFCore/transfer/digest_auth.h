/** Answers to Digest challenges (RFC 7616). */
#ifndef AF_TRANSFER_DIGEST_AUTH_H
#define AF_TRANSFER_DIGEST_AUTH_H

#include "message/challenge.h"

/** A challenge that requests are answered with; zeroed there is none. */
typedef struct af__access {
    af__access_terms terms; /**< The slices are copies, without backslashes. */
    char *texts;            /**< That they point into. */
    uint32_t count;         /**< Answers given with this nonce. */
} af__access;

/** Keep a challenge. AF_ENOMEM. */
af_status af__access_init(af__access *access, const af__access_terms *terms);
void af__access_clear(af__access *access);

/** The request that is to be answered for. */
typedef struct af__access_request {
    const char *user, *password;
    const char *method, *target;
    af_slice body;      /**< With auth-int. */
    const char *cnonce; /**< NULL: a new one, of random bytes. */
} af__access_request;

/**
 * The value of the field, "Digest …", with the next count. Ends in NUL; yours, af__free_secret(). AF_ENOMEM;
 * AF_EAUTH if this OpenSSL is not allowed to compute such a hash.
 */
af_status af__access_answer(af__access *access, const af__access_request *request, char **out,
                            af_failure *failure);

#endif
