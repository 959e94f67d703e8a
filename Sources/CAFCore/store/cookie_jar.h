/**
 * The jar: which cookies are kept, replaced, given up and sent (RFC 6265bis 5.7, 5.8). Any thread; under
 * the jar's lock nothing is done but that.
 */
#ifndef AF_STORE_COOKIE_JAR_H
#define AF_STORE_COOKIE_JAR_H

#include "base/keyed_hash.h"
#include "base/list.h"
#include "message/cookie.h"

#include <pthread.h>
#include <stdatomic.h>

/** Where a request goes. */
typedef struct af__cookie_site {
    const char *host; /**< In ASCII and lower case, without a dot at its end; ends in NUL. */
    af_slice path;    /**< Of the URL, without its query. */
    bool is_secure;
} af__cookie_site;

enum {
    /** Bytes and number of cookies of one request: what servers are known to take. */
    AF__COOKIES_LONGEST = 8190,
    AF__COOKIES_MOST = 150,
    AF__COOKIE_BUCKETS = 256
};

/** Text behind it. */
typedef struct af__jar_cookie {
    struct af__jar_cookie *next;
    af__node use;                       /**< In the jar's order of use. */
    af_slice name, value, domain, path; /**< Each ends in NUL. */
    af_slice site;                      /**< The end of `domain` that its owner has registered. */
    int64_t expires_s;
    uint64_t created, used; /**< Marks of the jar's clock, which orders them. */
    bool is_host_only, is_secure, is_http_only;
    af_same_site same_site;
} af__jar_cookie;

struct af_cookie_jar {
    atomic_uint references;
    pthread_mutex_t lock;
    char *path; /**< NULL: none. */
    uint32_t max_cookies_per_site, max_cookies;
    af__hash_seed seed;
    /* Under the lock. */
    af__jar_cookie *buckets[AF__COOKIE_BUCKETS]; /**< By site. */
    af__list by_use; /**< The one that was not used for longest first. */
    size_t count;
    int64_t earliest_expiry; /**< No cookie ends before. */
    uint64_t clock;
    bool has_changed; /**< Since it was written. */
};

/** Keep what `site` has set, or say why not. AF_EINVAL: refused; AF_ENOMEM. */
af_status af__cookie_jar_keep(af_cookie_jar *jar, const af__cookie_site *site, af_slice line,
                              int64_t now, const char **why);

/** A cookie that a program or a file has. */
af_status af__cookie_jar_put(af_cookie_jar *jar, const af_cookie *cookie, int64_t now,
                             const char **why);

/** The value of Cookie for a request to `site`, yours; NULL if there is nothing to send. AF_ENOMEM. */
af_status af__cookie_jar_write(af_cookie_jar *jar, const af__cookie_site *site, int64_t now,
                               char **out);

/** The cookies for `site`, NULL: all; a list as af_cookie_jar_copy() makes it. */
af_status af__cookie_jar_list(af_cookie_jar *jar, const af__cookie_site *site, int64_t now,
                              af_cookie_list **out);

/** Read a file into the jar. Lines that make no sense are left out. */
af_status af__cookie_file_load(af_cookie_jar *jar, const char *path, int64_t now,
                               af_failure *failure);

/** Write what of the list outlives the jar. */
af_status af__cookie_file_save(const af_cookie_list *list, const char *path, af_failure *failure);

#endif
