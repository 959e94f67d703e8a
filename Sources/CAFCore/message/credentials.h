/** The Basic scheme of RFC 7617. Pure. */
#ifndef AF_MESSAGE_CREDENTIALS_H
#define AF_MESSAGE_CREDENTIALS_H

/**
 * "Basic …" for the userinfo of a URL ("user:password", percent-encoded; a missing password is
 * empty). Yours: af__free_secret(). NULL when out of memory.
 */
char *af__basic_credentials(const char *userinfo);

#endif
