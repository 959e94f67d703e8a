/**
 * HTTP Strict Transport Security (RFC 6797): hosts that asked to be reached over https only.
 *
 * A store may serve several sessions. It has a lock of its own, so every function may be called from
 * any thread; none waits for a loop or for the network.
 */
#ifndef AFCORE_HSTS_H
#define AFCORE_HSTS_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

typedef struct af_hsts af_hsts;

/** Start from AF_HSTS_OPTIONS_INIT. */
typedef struct af_hsts_options {
    size_t size; /**< sizeof(af_hsts_options), for growth. */
    /**
     * A file that the store begins with, if it is there, and is written to when the last reference goes
     * and something has changed; see af_hsts_save(). NULL: none. Copied.
     */
    const char *path;
    /**
     * Hosts; beyond it those go that would end first, of a file's also those that came late. One site,
     * "example.co.uk" with all names below it, has a twentieth of them at most. 0: 10000.
     */
    uint32_t most;
} af_hsts_options;

#define AF_HSTS_OPTIONS_INIT                                                                       \
    { sizeof(af_hsts_options), NULL, 0 }

/** The end of what never ends. */
#define AF_HSTS_FOREVER INT64_MAX

/**
 * Make a store. `options` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_hsts_release().
 * Fails: AF_EINVAL (options without their INIT), AF_EFILE (a file that can't be read), AF_EINTERNAL
 * (the system has no random bytes), AF_ENOMEM. Lines of the file that make no sense are left out.
 * `failure` may be NULL.
 */
AF_API af_status af_hsts_new(af_hsts **out, const af_hsts_options *options, af_failure *failure);

/**
 * A further reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_hsts *af_hsts_retain(af_hsts *hsts);

/**
 * Give a reference back; the last one writes the store's file, if it has one. NULL is fine.
 *
 * Thread: any.    Owns: takes `hsts`.    Fails: never; who must know calls af_hsts_save() before.
 */
AF_API void af_hsts_release(af_hsts *hsts);

/**
 * Remember a host until `expires` (seconds since 1970, AF_HSTS_FOREVER), in place of what was known of
 * it. A moment that has passed forgets it.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AF_EINVAL (no name in ASCII; an address), AF_ENOMEM.
 */
AF_API af_status af_hsts_add(af_hsts *hsts, const char *host, int64_t expires,
                             bool includes_subdomains, af_failure *failure);

/**
 * Is this host, a name in ASCII, reached over https only?
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API bool af_hsts_has(af_hsts *hsts, const char *host);

/**
 * Forget a host, NULL: all. The number of those that were known.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API size_t af_hsts_delete(af_hsts *hsts, const char *host);

/**
 * Write what is known to `path`, as curl writes it: as a new file with the mode 0600 that takes the old
 * one's place once it is on the disk. NULL: the store's own file. Blocks for the disk.
 *
 * Thread: any.    Owns: nothing.    Fails: AF_EFILE, AF_EINVAL (the store has no file), AF_ENOMEM.
 */
AF_API af_status af_hsts_save(af_hsts *hsts, const char *path, af_failure *failure);

AF_END_DECLS

#endif
