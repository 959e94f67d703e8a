/**
 * The cookie jar: which cookies are stored, replaced, evicted and sent (RFC 6265bis 5.7 and 5.8). Any thread may call
 * these functions. Nothing that could block is done while the jar's lock is held.
 */
#ifndef AFC_STORE_COOKIE_JAR_H
#define AFC_STORE_COOKIE_JAR_H

#include "base/keyed_hash.h"
#include "base/list.h"
#include "message/cookie.h"
#include "store/at_exit.h"

#include <pthread.h>
#include <stdatomic.h>

/** The target of a request, for which cookies are selected. */
typedef struct afc__cookie_site {
    const char *host; /**< ASCII in lower case, without a trailing dot; NUL-terminated. */
    afc_slice path;   /**< Path of the URL, without its query. */
    /** The URL is https. */
    bool is_secure;
} afc__cookie_site;

enum {
    /** Maximum size in bytes and number of the cookies of one request, as common servers accept them. */
    AFC__COOKIES_SIZE_MAX = 8190,
    AFC__COOKIES_MAX = 150,
    AFC__COOKIE_FIRST_BUCKETS = 64
};

/** A stored cookie, followed by its texts. */
typedef struct afc__jar_cookie {
    struct afc__jar_cookie *next;
    afc__node use;                       /**< Position in the jar's order of use. */
    afc_slice name, value, domain, path; /**< NUL-terminated. */
    afc_slice site;                      /**< The registrable domain; a suffix of `domain`. */
    /** A suffix of `site`, whose hash selects the bucket; see afc__suffixes_root(). */
    afc_slice root;
    int64_t expires_s;
    uint64_t created, used; /**< Times of the jar's logical clock, for ordering. */
    bool is_host_only, is_secure, is_http_only;
    afc_same_site same_site;
} afc__jar_cookie;

struct afc_cookie_jar {
    atomic_uint references;
    /**
     * Held while the jar is saved, so that no save replaces the file of a later one. It is taken before `lock`, which
     * isn't held while the file is written.
     */
    pthread_mutex_t saving;
    pthread_mutex_t lock;
    char *path; /**< The jar's file; NULL if it has none. */
    afc__at_exit at_exit;
    uint32_t max_cookies_per_site, max_cookies;
    afc__hash_seed seed;
    /* Under the lock. */
    /** Lists of cookies by the hash of their root. Their number grows with the jar. */
    afc__jar_cookie **buckets;
    size_t bucket_count;
    afc__list by_use; /**< Least recently used first. */
    size_t count;
    int64_t earliest_expiry; /**< No cookie expires before this time. */
    uint64_t clock;
    bool has_changed; /**< A persistent cookie has changed since the file was saved. */
};

/**
 * Stores a cookie that `site` has set with Set-Cookie. Fails with AFC_EINVAL if it is refused, with the reason in
 * `*why`, or AFC_ENOMEM.
 */
afc_status afc__cookie_jar_keep(afc_cookie_jar *jar, const afc__cookie_site *site, afc_slice line,
                                int64_t now, const char **why);

/** Stores a cookie from a program or a file. Fails as afc__cookie_jar_keep() does. */
afc_status afc__cookie_jar_put(afc_cookie_jar *jar, const afc_cookie *cookie, int64_t now,
                               const char **why);

/**
 * Writes the value of the Cookie field for `site`, which the caller owns: `given`, which may be empty, and the cookies
 * of the jar except those whose names are in `given`. `*out` is NULL if the jar has nothing to send. Fails with
 * AFC_ENOMEM.
 */
afc_status afc__cookie_jar_write(afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                                 afc_slice given, char **out);

/** Copies the cookies for `site`, or all cookies if it is NULL, in the form of afc_cookie_jar_copy(). */
afc_status afc__cookie_jar_list(afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                                afc_cookie_list **out);

#endif
