/**
 * Parses Set-Cookie and checks what doesn't depend on other cookies (RFC 6265bis). Pure functions.
 */
#ifndef AFC_MESSAGE_COOKIE_H
#define AFC_MESSAGE_COOKIE_H

#include <afcore/cookie.h>

enum {
    AFC__COOKIE_MAX = 4096, /**< Maximum size of name and value together, in bytes. */
    /** Maximum size of an attribute's value in bytes; longer ones are ignored. */
    AFC__COOKIE_ATTRIBUTE_MAX = 1024,
    /** Maximum lifetime in seconds, 400 days (RFC 6265bis 5.5). */
    AFC__COOKIE_LIFE_MAX = 400 * 86400
};

/** A parsed Set-Cookie. Its slices point into the line. */
typedef struct afc__cookie_line {
    afc_slice name, value;
    afc_slice domain;  /**< Without a leading dot; empty if missing. */
    afc_slice path;    /**< Empty if the default path applies. */
    int64_t expires_s; /**< Unix time: from Max-Age, else Expires, else AFC_COOKIE_SESSION. */
    bool is_secure, is_http_only;
    afc_same_site same_site;
} afc__cookie_line;

/** Parses a Set-Cookie. `now` is Unix time. Returns false if it is invalid; `*why` is then the reason. */
bool afc__cookie_read(afc__cookie_line *out, afc_slice line, int64_t now, const char **why);

/** Parses a cookie date by the tolerant rules of RFC 6265 5.1.1. Declared for tests. */
bool afc__cookie_date(afc_slice text, int64_t *seconds);

/** Returns whether name and value are valid; otherwise `*why` is the reason. */
bool afc__cookie_is_clean(afc_slice name, afc_slice value, const char **why);

/** Returns whether a cookie meets the conditions of the prefixes "__Host-" and "__Secure-", ignoring case. */
bool afc__cookie_prefix_ok(afc_slice name, bool is_secure, bool is_host_only, afc_slice path);

/** Returns the default path (RFC 6265 5.1.4): the path up to its last slash, or "/". */
afc_slice afc__cookie_default_path(afc_slice url_path);

/** Returns whether a cookie with this path is sent with a URL of that path (RFC 6265 5.1.4). */
bool afc__cookie_path_matches(afc_slice url_path, afc_slice cookie_path);

/**
 * Returns whether `host` is the domain, or a name (not an address) below it (RFC 6265 5.1.3). Both must be in lower
 * case.
 */
bool afc__cookie_domain_matches(afc_slice host, afc_slice domain);

#endif
