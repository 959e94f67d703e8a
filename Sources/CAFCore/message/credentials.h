/** Copies of credentials, and their field values for Basic (RFC 7617) and Bearer (RFC 6750). Pure functions. */
#ifndef AF_MESSAGE_CREDENTIALS_H
#define AF_MESSAGE_CREDENTIALS_H

#include <afcore/auth.h>
#include <stddef.h>

/** A copy of credentials in one block, which is overwritten before it is freed. */
typedef struct af__identity {
    af_credentials
        credentials; /**< Points into `texts`. If `user` isn't NULL, neither is `password`. */
    size_t size;     /**< Size of the whole block. */
    char texts[];
} af__identity;

/**
 * Checks and copies credentials. If they have neither user nor token, `userinfo` of a URL is used, which may be
 * NULL. AF_EINVAL (a control character, a text that is too long, an unknown scheme), AF_ENOMEM; `*out` is then
 * NULL.
 */
af_status af__identity_new(af__identity **out, const af_credentials *credentials,
                           const char *userinfo, af_failure *failure);

/** Overwrites and frees a copy. NULL is allowed. */
void af__identity_free(af__identity *identity);

/**
 * Returns the field value "Basic …" or "Bearer …", owned by the caller: af__free_secret(). NULL when out of
 * memory.
 */
char *af__basic_field(const char *user, const char *password);
char *af__bearer_field(const char *token);

/**
 * Returns the field value "Basic …" for the userinfo of a URL ("user:password", percent-encoded; a missing
 * password is empty), owned by the caller: af__free_secret(). NULL when out of memory.
 */
char *af__basic_credentials(const char *userinfo);

#endif
