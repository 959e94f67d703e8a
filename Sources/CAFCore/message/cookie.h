/**
 * Set-Cookie taken apart and judged by RFC 6265bis, as far as no other cookie matters. Pure.
 */
#ifndef AF_MESSAGE_COOKIE_H
#define AF_MESSAGE_COOKIE_H

#include <afcore/cookie.h>

enum {
    AF__COOKIE_LONGEST = 4096,           /**< Name and value together. */
    AF__COOKIE_LONGEST_ATTRIBUTE = 1024, /**< Longer ones are not heeded. */
    AF__COOKIE_LONGEST_LIFE = 400 * 86400
};

/** A line as it was understood. Slices point into it. */
typedef struct af__cookie_line {
    af_slice name, value;
    af_slice domain;   /**< Without a dot in front; empty if there is none. */
    af_slice path;     /**< Empty: the default. */
    int64_t expires_s; /**< Max-Age before Expires; AF_COOKIE_SESSION. */
    bool is_secure, is_http_only;
    af_same_site same_site;
} af__cookie_line;

/** `now` in seconds since 1970. false, and why, if it is none. */
bool af__cookie_read(af__cookie_line *out, af_slice line, int64_t now, const char **why);

/** A date in any of the ways that servers write one (RFC 6265 5.1.1). */
bool af__cookie_date(af_slice text, int64_t *seconds);

/** May a name and a value be those of a cookie? */
bool af__cookie_is_clean(af_slice name, af_slice value, const char **why);

/** What "__Host-" and "__Secure-" in front of a name promise; case aside. */
bool af__cookie_prefix_ok(af_slice name, bool is_secure, bool is_host_only, af_slice path);

/** The path up to its last slash, or "/". */
af_slice af__cookie_default_path(af_slice url_path);

bool af__cookie_path_matches(af_slice url_path, af_slice cookie_path);

/** Is `host` the domain itself, or a name (not an address) below it? Both in lower case. */
bool af__cookie_domain_matches(af_slice host, af_slice domain);

#endif
