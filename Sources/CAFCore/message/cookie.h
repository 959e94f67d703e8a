/**
 * Parses Set-Cookie and checks what doesn't depend on other cookies (RFC 6265bis). Pure functions.
 */
#ifndef AF_MESSAGE_COOKIE_H
#define AF_MESSAGE_COOKIE_H

#include <afcore/cookie.h>

enum {
    AF__COOKIE_LONGEST = 4096,           /**< Size of name and value together. */
    AF__COOKIE_LONGEST_ATTRIBUTE = 1024, /**< Longer attributes are ignored. */
    AF__COOKIE_LONGEST_LIFE = 400 * 86400
};

/** A parsed Set-Cookie. Its slices point into the line. */
typedef struct af__cookie_line {
    af_slice name, value;
    af_slice domain;   /**< Without a leading dot; empty if missing. */
    af_slice path;     /**< Empty: the default path. */
    int64_t expires_s; /**< From Max-Age, else Expires, else AF_COOKIE_SESSION. */
    bool is_secure, is_http_only;
    af_same_site same_site;
} af__cookie_line;

/** Parses a Set-Cookie. `now` is Unix time. false: invalid; `*why` is the reason. */
bool af__cookie_read(af__cookie_line *out, af_slice line, int64_t now, const char **why);

/** Parses a cookie date by the tolerant rules of RFC 6265 5.1.1. */
bool af__cookie_date(af_slice text, int64_t *seconds);

/** Returns whether name and value are valid; otherwise `*why` is the reason. */
bool af__cookie_is_clean(af_slice name, af_slice value, const char **why);

/** Returns whether a cookie meets the conditions of the prefixes "__Host-" and "__Secure-", ignoring case. */
bool af__cookie_prefix_ok(af_slice name, bool is_secure, bool is_host_only, af_slice path);

/** Returns the default path (RFC 6265 5.1.4): the path up to its last slash, or "/". */
af_slice af__cookie_default_path(af_slice url_path);

bool af__cookie_path_matches(af_slice url_path, af_slice cookie_path);

/** Returns whether `host` is the domain or a name (not an address) below it (RFC 6265 5.1.3). Both in lower case. */
bool af__cookie_domain_matches(af_slice host, af_slice domain);

#endif
