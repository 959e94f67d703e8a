/**
 * Cookies (RFC 6265bis): a jar that sessions keep what servers set in, and send it from.
 *
 * A jar may serve several sessions. It has a lock of its own, so every function may be called from
 * any thread; none waits for a loop or for the network.
 */
#ifndef AFCORE_COOKIE_H
#define AFCORE_COOKIE_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** `af_cookie.expires` of one that ends with the jar. */
#define AF_COOKIE_SESSION INT64_MAX

/** Kept and told, but not obeyed: there are no documents here that could be of another site. */
typedef enum AF_OPEN_ENUM af_same_site {
    AF_SAME_SITE_UNSET = 0,
    AF_SAME_SITE_NONE = 1,
    AF_SAME_SITE_LAX = 2,
    AF_SAME_SITE_STRICT = 3
} af_same_site;

/** Which cookies of servers are kept. What is in the jar is sent whatever this says. */
typedef enum AF_OPEN_ENUM af_cookie_policy {
    AF_COOKIES_ALWAYS = 0,
    AF_COOKIES_NEVER = 1,
    /** Of hosts of the same site (registrable domain) as af_request.main_document_url. */
    AF_COOKIES_MAIN_DOCUMENT = 2
} af_cookie_policy;

/** Start from AF_COOKIE_INIT. */
typedef struct af_cookie {
    size_t size;              /**< sizeof(af_cookie), for growth. */
    const char *name, *value; /**< No control characters; one of them may be empty. */
    const char *domain; /**< A name in ASCII or an address, lower case, without a dot in front. */
    const char *path;   /**< Begins with a slash. */
    int64_t expires;    /**< Seconds since 1970; AF_COOKIE_SESSION. */
    bool host_only;     /**< For `domain` itself, not for the names below it. */
    bool secure;        /**< Sent over https only. */
    bool http_only;     /**< Not for scripts. */
    af_same_site same_site;
} af_cookie;

#define AF_COOKIE_INIT                                                                             \
    {                                                                                              \
        sizeof(af_cookie), NULL, NULL, NULL, "/", AF_COOKIE_SESSION, true, false, false,           \
            AF_SAME_SITE_UNSET                                                                     \
    }

typedef struct af_cookie_jar af_cookie_jar;

/** Start from AF_COOKIE_JAR_OPTIONS_INIT. */
typedef struct af_cookie_jar_options {
    size_t size; /**< sizeof(af_cookie_jar_options), for growth. */
    /**
     * A file that the jar begins with, if it is there, and is written to when the last reference goes and
     * something has changed; see af_cookie_jar_save(). NULL: none. Copied.
     */
    const char *path;
    /**
     * Beyond them expired cookies go, then those that were not used for longest; of a file with more,
     * those further up. A domain here is a site, "example.co.uk" with all names below it, so that one
     * server can't crowd out the cookies of others. 0: 180, 3000.
     */
    uint32_t most_per_domain, most;
} af_cookie_jar_options;

#define AF_COOKIE_JAR_OPTIONS_INIT                                                                 \
    { sizeof(af_cookie_jar_options), NULL, 0, 0 }

/**
 * Make a jar. `options` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_cookie_jar_release().
 * Fails: AF_EINVAL (options without their INIT), AF_EFILE (a file that can't be read), AF_EINTERNAL
 * (the system has no random bytes), AF_ENOMEM. Lines of the file that are no cookies are left out.
 * `failure` may be NULL.
 */
AF_API af_status af_cookie_jar_new(af_cookie_jar **out, const af_cookie_jar_options *options,
                                   af_failure *failure);

/**
 * A further reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_cookie_jar *af_cookie_jar_retain(af_cookie_jar *jar);

/**
 * Give a reference back; the last one writes the jar's file, if it has one. NULL is fine.
 *
 * Thread: any.    Owns: takes `jar`.    Fails: never; who must know calls af_cookie_jar_save() before.
 */
AF_API void af_cookie_jar_release(af_cookie_jar *jar);

/**
 * Put a cookie into the jar, in place of the one of its name, domain, host_only and path. One that has
 * expired only takes that one out.
 *
 * Thread: any.    Owns: `cookie` is copied.
 * Fails: AF_EINVAL names what is wrong: control characters, a public suffix as the domain of more than
 * its host, what a prefix of the name (__Host-, __Secure-) asks for, too long; AF_ENOMEM.
 */
AF_API af_status af_cookie_jar_set(af_cookie_jar *jar, const af_cookie *cookie,
                                   af_failure *failure);

/**
 * Do what a session does with the value of a Set-Cookie that `url` answered with.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AF_EINVAL (no URL with a host in ASCII; a cookie that is refused, the text says why), AF_ENOMEM.
 */
AF_API af_status af_cookie_jar_receive(af_cookie_jar *jar, const char *url, af_slice set_cookie,
                                       af_failure *failure);

/** Cookies as they were. */
typedef struct af_cookie_list {
    const af_cookie *cookies;
    size_t count;
} af_cookie_list;

/**
 * The cookies that would be sent to `url`, in their order; NULL: all. Expired ones are not among them.
 *
 * Thread: any.    Owns: `*out` is yours, af_cookie_list_free().
 * Fails: AF_EINVAL (no URL with a host in ASCII), AF_ENOMEM; `*out` is then NULL.
 */
AF_API af_status af_cookie_jar_copy(af_cookie_jar *jar, const char *url, af_cookie_list **out,
                                    af_failure *failure);

/**
 * Free a list. NULL is fine.
 *
 * Thread: any, one.    Owns: takes `list`.    Fails: never.
 */
AF_API void af_cookie_list_free(af_cookie_list *list);

/**
 * Take out the cookies of this name, domain and path; each that is NULL is any. Their number.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API size_t af_cookie_jar_delete(af_cookie_jar *jar, const char *name, const char *domain,
                                   const char *path);

/**
 * Write the cookies that don't end with the jar to `path`, in Netscape's format, which other programs
 * read too: as a new file with the mode 0600 that takes the old one's place once it is on the disk. NULL:
 * the jar's own file. Blocks for the disk: not on a loop thread.
 *
 * Thread: any.    Owns: nothing.    Fails: AF_EFILE, AF_EINVAL (the jar has no file), AF_ENOMEM.
 */
AF_API af_status af_cookie_jar_save(af_cookie_jar *jar, const char *path, af_failure *failure);

AF_END_DECLS

#endif
