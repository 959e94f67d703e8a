/** The Basic scheme of RFC 7617. Pure. */
#ifndef AF_MESSAGE_CREDENTIALS_H
#define AF_MESSAGE_CREDENTIALS_H

#include <stddef.h>

/**
 * The octets of a percent-encoded text; what is no escape stays. `out` has room for as many as
 * `text` has, and may be `text` itself. Adds no NUL.
 */
size_t af__percent_decode(unsigned char *out, const char *text);

/**
 * "Basic …" for the userinfo of a URL ("user:password", percent-encoded; a missing password is
 * empty). Yours: af__free_secret(). NULL when out of memory.
 */
char *af__basic_credentials(const char *userinfo);

#endif
