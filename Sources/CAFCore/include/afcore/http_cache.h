/**
 * A private HTTP cache (RFC 9111): responses that are used again instead of being requested again.
 *
 * Several sessions may use the same cache. Every function may be called from any thread. A response that can't be
 * stored or read is one that isn't there: no request fails because of the cache.
 *
 * With a folder, responses are kept in memory and on disk. Several processes may use the same folder at the same time.
 * Files are checked while they are read, and a damaged one counts as missing, so a process may be killed and the
 * machine lose power at any moment. Folders have mode 0700 and files 0600; nothing is encrypted.
 */
#ifndef AFCORE_HTTP_CACHE_H
#define AFCORE_HTTP_CACHE_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** An HTTP cache, with a reference count. */
typedef struct afc_http_cache afc_http_cache;

/** Options of a cache. Start from AFC_HTTP_CACHE_OPTIONS_INIT. All are copied. */
typedef struct afc_http_cache_options {
    size_t size; /**< sizeof(afc_http_cache_options). */
    /** Capacity in memory, in bytes: heads, bodies and their bookkeeping. With a folder also 0. */
    uint64_t memory_bytes;
    /** Maximum size of a body in bytes; larger ones aren't stored. 0: 5 % of the larger capacity. */
    uint64_t max_entry_bytes;
    /** Folder on disk; it is made with mode 0700 if only it is missing. NULL: memory only. */
    const char *directory;
    uint64_t disk_bytes; /**< Capacity on disk, in bytes of files. */
} afc_http_cache_options;

/** 20 MiB in memory; 150 MiB on disk, in no folder yet. */
#define AFC_HTTP_CACHE_OPTIONS_INIT                                                                \
    { sizeof(afc_http_cache_options), UINT64_C(20) << 20, 0, NULL, UINT64_C(150) << 20 }

/** Values of a cache. The counters start when it is opened. */
typedef struct afc_http_cache_statistics {
    uint64_t entries;         /**< Stored responses. */
    uint64_t memory_used;     /**< Bytes in memory. */
    uint64_t memory_capacity; /**< As set. */
    uint64_t disk_used;       /**< Bytes of files, in units of 512. */
    uint64_t disk_capacity;   /**< As set. */
    uint64_t hits;            /**< Requests answered by the cache without asking the server. */
    uint64_t misses;          /**< Requests that the cache couldn't answer. */
    uint64_t revalidated;     /**< Requests answered by the cache after the server returned 304. */
    uint64_t stale;           /**< Hits with a response that was no longer fresh. */
    uint64_t stored;          /**< Responses stored. */
    uint64_t refused;         /**< Responses that weren't stored. */
    uint64_t reserved[4];     /**< 0. */
} afc_http_cache_statistics;

/**
 * Opens a cache. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_http_cache_release().
 * Fails: AFC_EINVAL (options without their INIT), AFC_EFILE (the folder can't be made or used, or belongs to others),
 * AFC_EINTERNAL (the system has no random bytes), AFC_ENOMEM; `*out` is then NULL. `failure` may be NULL.
 */
AFC_API afc_status afc_http_cache_open(afc_http_cache **out, const afc_http_cache_options *options,
                                       afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_http_cache *afc_http_cache_retain(afc_http_cache *cache);

/**
 * Releases a reference; the last one closes the cache. What waits for the disk is still written, by another thread;
 * afc_http_cache_flush() waits for it. NULL is allowed.
 *
 * Thread: any.    Owns: takes `cache`.    Fails: never.
 */
AFC_API void afc_http_cache_release(afc_http_cache *cache);

/**
 * Waits until everything is on disk that was stored before. Not needed for anything but the end of a process, and
 * not allowed in a callback of a session.
 *
 * Thread: any but loops.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_flush(afc_http_cache *cache);

/**
 * Changes the capacities in bytes. If more is used, the least recently used responses are evicted.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_set_capacity(afc_http_cache *cache, uint64_t memory_bytes,
                                         uint64_t disk_bytes);

/**
 * Removes all responses to requests for a URL, with an internationalised host as A-labels. `partition` is that of the
 * requests; NULL: the empty one.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (an invalid URL, or a partition with a line feed), AFC_ENOMEM. `failure` may be NULL.
 */
AFC_API afc_status afc_http_cache_remove_url(afc_http_cache *cache, const char *partition,
                                             const char *url, afc_failure *failure);

/**
 * Removes the responses of a host, of all its ports and in all partitions. `host` is an ASCII name or an address
 * without brackets, in any case.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_remove_host(afc_http_cache *cache, const char *host);

/**
 * Removes the responses that were stored at a time, in Unix seconds, or later.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_remove_since(afc_http_cache *cache, int64_t unix_seconds);

/**
 * Removes every response.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_remove_all(afc_http_cache *cache);

/**
 * Reads the statistics.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_get_statistics(afc_http_cache *cache, afc_http_cache_statistics *out);

AFC_END_DECLS

#endif
