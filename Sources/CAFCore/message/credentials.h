/** Copies of credentials, and their field values for Basic (RFC 7617) and Bearer (RFC 6750). Pure functions. */
#ifndef AFC_MESSAGE_CREDENTIALS_H
#define AFC_MESSAGE_CREDENTIALS_H

#include <afcore/auth.h>
#include <stddef.h>

/** A copy of credentials in one block, which is overwritten before it is freed. */
typedef struct afc__identity {
    /** Points into `texts`. If `user` isn't NULL, neither is `password`. */
    afc_credentials credentials;
    size_t size; /**< Size of the whole block. */
    char texts[];
} afc__identity;

/**
 * Checks and copies credentials. If they have neither user nor token, the userinfo of a URL is used, which may be NULL.
 * Fails with AFC_EINVAL (a control character, a text that is too long, an unknown scheme, a user with a colon for whom
 * only Basic is allowed) or AFC_ENOMEM; `*out` is then NULL.
 */
afc_status afc__identity_new(afc__identity **out, const afc_credentials *credentials,
                             const char *userinfo, afc_failure *failure);

/** Overwrites and frees a copy. NULL is allowed. */
void afc__identity_free(afc__identity *identity);

/**
 * Return the field value "Basic …" or "Bearer …", owned by the caller, who frees it with afc__free_secret(). They
 * return NULL if out of memory.
 */
char *afc__basic_field(const char *user, const char *password);
char *afc__bearer_field(const char *token);

/**
 * Makes the field value "Basic …" for the userinfo of a URL ("user:password", percent-encoded; a missing password is
 * empty). The caller owns it and frees it with afc__free_secret(). Fails with AFC_EINVAL (a colon in the user, which
 * Basic doesn't allow; a control character; a text that is too long) or AFC_ENOMEM.
 */
afc_status afc__basic_credentials(char **out, const char *userinfo, afc_failure *failure);

#endif
