/**
 * Cookies (RFC 6265bis): a jar stores the cookies that servers set; sessions send them from it.
 *
 * Several sessions may use the same jar. It has its own lock: every function may be called from any
 * thread, and none waits for a loop thread or for the network.
 */
#ifndef AFCORE_COOKIE_H
#define AFCORE_COOKIE_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** Value of `afc_cookie.expires_s` for a session cookie: it lives as long as the jar. */
#define AFC_COOKIE_SESSION INT64_MAX

/** The SameSite attribute. Stored and reported, not enforced: a request has no document that could be cross-site. */
typedef enum AFC_OPEN_ENUM afc_same_site {
    AFC_SAME_SITE_UNSET = 0,
    AFC_SAME_SITE_NONE = 1,
    AFC_SAME_SITE_LAX = 2,
    AFC_SAME_SITE_STRICT = 3
} afc_same_site;

/** Which cookies a session accepts from servers. Cookies in the jar are sent under every policy. */
typedef enum AFC_OPEN_ENUM afc_cookie_policy {
    AFC_COOKIES_ALWAYS = 0,
    AFC_COOKIES_NEVER = 1,
    /** Only from hosts of the same site (registrable domain) as afc_request.main_document_url. */
    AFC_COOKIES_MAIN_DOCUMENT = 2
} afc_cookie_policy;

/** A cookie. Start from AFC_COOKIE_INIT. */
typedef struct afc_cookie {
    /** Without control characters and semicolons, the name also without "="; one of the two may be empty. */
    const char *name, *value;
    const char *domain; /**< ASCII name or address, in lower case, without a leading dot. */
    const char *path;   /**< Begins with a slash; without control characters and semicolons. */
    int64_t expires_s;  /**< Unix time in seconds, or AFC_COOKIE_SESSION. */
    bool is_host_only;  /**< Valid for `domain` only, not for its subdomains. */
    bool is_secure;     /**< Sent over https only. */
    bool is_http_only;  /**< The HttpOnly attribute; stored only. */
    afc_same_site same_site;
    uint64_t reserved[4]; /**< 0. */
} afc_cookie;

#define AFC_COOKIE_INIT                                                                            \
    {                                                                                              \
        NULL, NULL, NULL, "/", AFC_COOKIE_SESSION, true, false, false, AFC_SAME_SITE_UNSET, {      \
            0                                                                                      \
        }                                                                                          \
    }

/** A cookie jar, with a reference count. */
typedef struct afc_cookie_jar afc_cookie_jar;

/** Options of a jar. Start from AFC_COOKIE_JAR_OPTIONS_INIT. */
typedef struct afc_cookie_jar_options {
    size_t size; /**< sizeof(afc_cookie_jar_options). */
    /**
     * File from which cookies are loaded, if it exists, and to which they are saved when the last reference is
     * released, or the process ends by exit(), and something has changed; see afc_cookie_jar_save(). Cookies without an
     * expiry (AFC_COOKIE_SESSION) aren't saved. In a folder that can't be written, a file can be loaded but not saved.
     * NULL means no file. Copied.
     */
    const char *path;
    /**
     * Maximum number of cookies per site and in total. Beyond it, expired cookies are evicted first; in a site, then
     * those without Secure, which any attacker on the network could set; then the least recently used. The new cookie
     * counts as the most recently used: if it isn't Secure and all others of its full site are, it is refused (RFC
     * 6265bis 5.7). If a file has more cookies, those nearer to its beginning are evicted. A site is a registrable
     * domain, "example.co.uk" with all its subdomains, so that one server can't evict the cookies of others. 0 means
     * the defaults, 180 and 3000.
     */
    uint32_t max_cookies_per_site, max_cookies;
} afc_cookie_jar_options;

#define AFC_COOKIE_JAR_OPTIONS_INIT                                                                \
    { sizeof(afc_cookie_jar_options), NULL, 0, 0 }

/**
 * Creates a jar. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_cookie_jar_release().
 * Fails: AFC_EINVAL (options without their INIT), AFC_EFILE (the file can't be read, has more than 32 MiB, or doesn't
 * exist and can't be created in its folder), AFC_EINTERNAL (the system has no random bytes), AFC_ENOMEM. Invalid lines
 * of the file are skipped.
 *
 * Saving replaces the file without reading it: if several processes use a file at the same time, the last one that
 * saves overwrites the others' cookies.
 */
AFC_API afc_status afc_cookie_jar_new(afc_cookie_jar **out, const afc_cookie_jar_options *options,
                                      afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_cookie_jar *afc_cookie_jar_retain(afc_cookie_jar *jar);

/**
 * Releases a reference; the last one saves the jar's file, if it has one and something has changed, which blocks on
 * the disk. A session's reference: see afc_session_release(). NULL is allowed.
 *
 * Thread: any.    Owns: takes `jar`.    Fails: never; to get errors, call afc_cookie_jar_save() first.
 */
AFC_API void afc_cookie_jar_release(afc_cookie_jar *jar);

/**
 * Stores a cookie and replaces the one with the same name, domain, is_host_only and path. An expired cookie only
 * removes that one.
 *
 * Thread: any.    Owns: `cookie` is copied.
 * Fails: AFC_EINVAL, `failure` says why: a text that is NULL or breaks a rule of afc_cookie, a public suffix or an
 * address as a domain with subdomains, a missing condition of a name prefix (__Host-, __Secure-), a text that is too
 * long; AFC_ENOMEM.
 */
AFC_API afc_status afc_cookie_jar_set(afc_cookie_jar *jar, const afc_cookie *cookie,
                                      afc_failure *failure);

/**
 * Processes the value of a Set-Cookie field in a response from `url`, as a session does.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (`url` isn't http or https, or has no ASCII host, for a WebSocket see afc_url_from_websocket(); or
 * the cookie is refused; `failure` says why), AFC_ENOMEM.
 */
AFC_API afc_status afc_cookie_jar_receive(afc_cookie_jar *jar, const char *url,
                                          afc_slice set_cookie, afc_failure *failure);

/** A copied list of cookies. */
typedef struct afc_cookie_list {
    const afc_cookie *cookies;
    size_t count;
} afc_cookie_list;

/**
 * Copies the cookies that would be sent to `url`, in the order of sending; all cookies if `url` is NULL. Expired ones
 * are omitted. A request sends at most 150 cookies and 8190 bytes of them: those with the longest paths first, and of
 * equal paths the oldest first. The first 50 Set-Cookie fields of a response are read.
 *
 * Thread: any.    Owns: `*out` is yours, afc_cookie_list_free().
 * Fails: AFC_EINVAL (`url` isn't http or https, or has no ASCII host; for a WebSocket see afc_url_from_websocket()),
 * AFC_ENOMEM; `*out` is then NULL.
 */
AFC_API afc_status afc_cookie_jar_copy(afc_cookie_list **out, afc_cookie_jar *jar, const char *url,
                                       afc_failure *failure);

/**
 * Frees a list. NULL is allowed.
 *
 * Thread: any, once.    Owns: takes `list`.    Fails: never.
 */
AFC_API void afc_cookie_list_free(afc_cookie_list *list);

/**
 * Removes the cookies with this name, domain and path; NULL matches any. Returns their number.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_cookie_jar_remove(afc_cookie_jar *jar, const char *name, const char *domain,
                                     const char *path);

/**
 * Saves the persistent cookies to `path`, or to the jar's file if it is NULL, in the Netscape format, which curl and
 * other programs read. Writes a new file with mode 0600 and syncs it before it replaces the old one, or the one that a
 * symbolic link leads to. Blocks on the disk, and until saves of other threads have ended: don't call it on a loop
 * thread.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EFILE (also more than 32 MiB), AFC_EINVAL (no path, and the jar has no file), AFC_ENOMEM.
 */
AFC_API afc_status afc_cookie_jar_save(afc_cookie_jar *jar, const char *path, afc_failure *failure);

/**
 * Writes the text that afc_cookie_jar_save() saves into memory. With `includes_session`, it includes the cookies
 * without an expiry, which are written with the time 0, as curl does.
 *
 * Thread: any.    Owns: `out->bytes` is yours, afc_free().
 * Fails: AFC_EFILE (more than 32 MiB), AFC_ENOMEM; `*out` is then empty.
 */
AFC_API afc_status afc_cookie_jar_export(afc_cookie_jar *jar, bool includes_session, afc_bytes *out,
                                         afc_failure *failure);

AFC_END_DECLS

#endif
