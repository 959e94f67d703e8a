/** Answers to Digest challenges (RFC 7616): the value of Authorization or Proxy-Authorization. */
#ifndef AFC_TRANSFER_DIGEST_AUTH_H
#define AFC_TRANSFER_DIGEST_AUTH_H

#include "message/challenge.h"

/** The Digest challenge that is being answered; zeroed before the first one. */
typedef struct afc__access {
    afc__access_terms terms; /**< Copies in `texts`, with quoted pairs unescaped. */
    char *texts;             /**< The memory of `terms`. */
    /** With a -sess algorithm: the cnonce of the first answer, or "" before it. NULL with other algorithms. */
    char *cnonce;
    uint32_t count; /**< Number of answers with this nonce (nc). */
} afc__access;

/** Copies a challenge. Fails with AFC_ENOMEM. */
afc_status afc__access_init(afc__access *access, const afc__access_terms *terms);
void afc__access_clear(afc__access *access);

/** The request that the answer is for. */
typedef struct afc__access_request {
    const char *user, *password;
    const char *method, *target;
    afc_slice body;     /**< The request body; used with qop=auth-int. */
    const char *cnonce; /**< For tests; NULL makes a random one for each answer, or each session. */
} afc__access_request;

/**
 * Makes the value of the field, "Digest …", with the next count, and a NUL. The caller frees it with
 * afc__free_secret(). Fails with AFC_ENOMEM, or with AFC_EAUTH if this OpenSSL isn't allowed to compute the hash, such
 * as MD5 in FIPS mode.
 */
afc_status afc__access_answer(afc__access *access, const afc__access_request *request, char **out,
                              afc_failure *failure);

#endif
