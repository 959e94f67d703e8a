/** Answers to Digest challenges (RFC 7616). */
#ifndef AFC_TRANSFER_DIGEST_AUTH_H
#define AFC_TRANSFER_DIGEST_AUTH_H

#include "message/challenge.h"

/** The challenge that requests are answered with; zeroed before the first one. */
typedef struct afc__access {
    afc__access_terms terms; /**< The slices are copies, without backslashes. */
    char *texts;             /**< That they point into. */
    char *
        cnonce; /**< With a session: that of its first answer, which makes its key; empty before. */
    uint32_t count; /**< Answers given with this nonce. */
} afc__access;

/** Keeps a challenge. AFC_ENOMEM. */
afc_status afc__access_init(afc__access *access, const afc__access_terms *terms);
void afc__access_clear(afc__access *access);

/** The request that is to be answered for. */
typedef struct afc__access_request {
    const char *user, *password;
    const char *method, *target;
    afc_slice body;     /**< With auth-int. */
    const char *cnonce; /**< NULL: random bytes, new for each answer or each session. */
} afc__access_request;

/**
 * Makes the value of the field, "Digest …", with the next count. Ends in NUL; yours, afc__free_secret(). AFC_ENOMEM;
 * AFC_EAUTH if this OpenSSL is not allowed to compute such a hash.
 */
afc_status afc__access_answer(afc__access *access, const afc__access_request *request, char **out,
                              afc_failure *failure);

#endif
