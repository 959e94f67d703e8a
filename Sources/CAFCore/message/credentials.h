/** Users, passwords and tokens as they were given, and as Basic (RFC 7617) and Bearer (RFC 6750) send them. Pure. */
#ifndef AF_MESSAGE_CREDENTIALS_H
#define AF_MESSAGE_CREDENTIALS_H

#include <afcore/auth.h>
#include <stddef.h>

/** A copy of somebody's credentials, in one block of memory that holds a secret. */
typedef struct af__identity {
    af_credentials
        credentials; /**< Points into `texts`; `password` is not NULL where `user` is not. */
    size_t size;     /**< Of the whole block. */
    char texts[];
} af__identity;

/**
 * Check and copy. `userinfo` of a URL counts where there is neither user nor token; it may be NULL. AF_EINVAL
 * (a control character, something too long, an unknown scheme), AF_ENOMEM; `*out` is then NULL.
 */
af_status af__identity_new(af__identity **out, const af_credentials *credentials,
                           const char *userinfo, af_failure *failure);

/** Overwrite and free. NULL is fine. */
void af__identity_free(af__identity *identity);

/** "Basic …" or "Bearer …", the value of the field. Yours: af__free_secret(). NULL when out of memory. */
char *af__basic_field(const char *user, const char *password);
char *af__bearer_field(const char *token);

/**
 * "Basic …" for the userinfo of a URL ("user:password", percent-encoded; a missing password is
 * empty). Yours: af__free_secret(). NULL when out of memory.
 */
char *af__basic_credentials(const char *userinfo);

#endif
