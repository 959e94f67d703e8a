/**
 * HTTP Strict Transport Security (RFC 6797): a store of hosts that must be reached over https only.
 *
 * Several sessions may use the same store. It has its own lock: every function may be called from any
 * thread, and none waits for a loop thread or for the network.
 */
#ifndef AFCORE_HSTS_H
#define AFCORE_HSTS_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** An HSTS store, with a reference count. */
typedef struct afc_hsts afc_hsts;

/** Options of a store. Start from AFC_HSTS_OPTIONS_INIT. */
typedef struct afc_hsts_options {
    size_t size; /**< sizeof(afc_hsts_options). */
    /**
     * File from which hosts are loaded, if it exists, and to which they are saved when the last reference is released,
     * or the process ends by exit(), and something has changed; see afc_hsts_save(). In a folder that can't be written,
     * a file can be loaded but not saved. NULL means no file. Copied.
     */
    const char *path;
    /**
     * Maximum number of hosts. Beyond it, the entry that expires first is evicted; if a file has more hosts, also those
     * nearer to its end. A site (registrable domain, "example.co.uk" with all its subdomains) may have at most a
     * twentieth of them. 0 means the default, 10000.
     */
    uint32_t max_hosts;
    uint32_t reserved; /**< 0. */
} afc_hsts_options;

#define AFC_HSTS_OPTIONS_INIT                                                                      \
    { sizeof(afc_hsts_options), NULL, 0, 0 }

/** Value of `expires_s` for an entry that never expires. */
#define AFC_HSTS_FOREVER INT64_MAX

/**
 * Creates a store. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_hsts_release().
 * Fails: AFC_EINVAL (options without their INIT), AFC_EFILE (the file can't be read, has more than 8 MiB, or doesn't
 * exist and can't be created in its folder), AFC_EINTERNAL (the system has no random bytes), AFC_ENOMEM. Invalid lines
 * of the file are skipped.
 *
 * Saving replaces the file without reading it: if several processes use a file at the same time, the last one that
 * saves overwrites the others' hosts.
 */
AFC_API afc_status afc_hsts_new(afc_hsts **out, const afc_hsts_options *options,
                                afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_hsts *afc_hsts_retain(afc_hsts *hsts);

/**
 * Releases a reference; the last one saves the store's file, if it has one and something has changed, which blocks on
 * the disk. A session's reference: see afc_session_release(). NULL is allowed.
 *
 * Thread: any.    Owns: takes `hsts`.    Fails: never; to get errors, call afc_hsts_save() first.
 */
AFC_API void afc_hsts_release(afc_hsts *hsts);

/**
 * Stores a host until `expires_s` (Unix time in seconds, or AFC_HSTS_FOREVER) and replaces its entry. A time
 * in the past removes the host.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (`host` isn't an ASCII name, or is an address), AFC_ENOMEM.
 */
AFC_API afc_status afc_hsts_add(afc_hsts *hsts, const char *host, int64_t expires_s,
                                bool include_subdomains, afc_failure *failure);

/**
 * Returns whether a host, an ASCII name, must be reached over https only.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_hsts_has(afc_hsts *hsts, const char *host);

/**
 * Removes a host, or every host if `host` is NULL. Returns the number of removed entries.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_hsts_remove(afc_hsts *hsts, const char *host);

/**
 * Saves the hosts to `path`, or to the store's file if it is NULL, in the format of curl's HSTS cache (CURLOPT_HSTS).
 * Writes a new file with mode 0600 and syncs it before it replaces the old one, or the one that a symbolic link leads
 * to. Blocks on the disk, and until saves of other threads have ended.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EFILE (also more than 8 MiB), AFC_EINVAL (no path, and the store has no file), AFC_ENOMEM.
 */
AFC_API afc_status afc_hsts_save(afc_hsts *hsts, const char *path, afc_failure *failure);

/**
 * Writes the text that afc_hsts_save() saves into memory.
 *
 * Thread: any.    Owns: `out->bytes` is yours, afc_free().
 * Fails: AFC_EFILE (more than 8 MiB), AFC_ENOMEM; `*out` is then empty.
 */
AFC_API afc_status afc_hsts_export(afc_hsts *hsts, afc_bytes *out, afc_failure *failure);

AFC_END_DECLS

#endif
