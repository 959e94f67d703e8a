/**
 * A private HTTP cache (RFC 9111): responses that are used again instead of being requested again.
 *
 * Several sessions may use the same cache. Every function may be called from any thread. A response that can't be
 * stored or read is treated as missing: no request fails because of the cache, except when a stored body of more than
 * 256 KiB turns out to be damaged after a part of it was passed on (AFC_ETRUNCATED). Responses of servers with
 * certificate errors, or whose certificate doesn't name the host, aren't stored, nor is a body of which 8 MiB wait to
 * be written, because responses don't wait for the disk. Nor is a decoded body, except gzip, over HTTP/1 without TLS
 * that has neither a length nor chunks, because a lost connection would look like its end. Of a body that is cut short
 * or abandoned, up to 1 MiB is kept if the rest can be requested with If-Range; the next request for all of it does
 * that. A final response to GET that isn't stored ends the use of the stored one, unless it is a 5xx or concerns the
 * request only (206, 401, 412, 416, 429 and others).
 *
 * With a folder, responses are kept in memory and on disk. Several processes may use the same folder at the same time.
 * Files are checked while they are read, and a damaged one counts as missing, so a process may be killed and the
 * machine lose power at any moment. Folders have mode 0700 and files 0600; nothing is encrypted. After the folder of an
 * open cache was removed, that cache stores in memory only.
 */
#ifndef AFCORE_HTTP_CACHE_H
#define AFCORE_HTTP_CACHE_H

#include <afcore/auth.h>
#include <afcore/message.h>

AFC_BEGIN_DECLS

/** An HTTP cache, with a reference count. */
typedef struct afc_http_cache afc_http_cache;

/** Options of a cache. Start from AFC_HTTP_CACHE_OPTIONS_INIT. All are copied. */
typedef struct afc_http_cache_options {
    size_t size; /**< sizeof(afc_http_cache_options). */
    /**
     * Capacity in memory, in bytes: heads, bodies and their bookkeeping. 0 is allowed with a directory only, else
     * AFC_EINVAL.
     */
    uint64_t memory_bytes;
    /**
     * Maximum size of a body in bytes; larger ones aren't stored. 0 means 5 % of the memory capacity, or, with a
     * directory, of the larger of both capacities: with the default capacities, 1 MiB or 7.5 MiB.
     */
    uint64_t max_entry_bytes;
    /** Folder on disk, which is created with mode 0700; its parent must exist. NULL means memory only. */
    const char *directory;
    /**
     * Capacity on disk, in bytes of files. Bodies that are still being received may use up to half as much in addition;
     * a single one, as much as `max_entry_bytes` allows.
     */
    uint64_t disk_bytes;
} afc_http_cache_options;

/** 20 MiB in memory; 150 MiB on disk once a directory is set. */
#define AFC_HTTP_CACHE_OPTIONS_INIT                                                                \
    { sizeof(afc_http_cache_options), UINT64_C(20) << 20, 0, NULL, UINT64_C(150) << 20 }

/** Values of a cache. The counters start when it is opened. */
typedef struct afc_http_cache_statistics {
    uint64_t entries;         /**< Stored responses. */
    uint64_t memory_used;     /**< Bytes in memory. */
    uint64_t memory_capacity; /**< As set. */
    uint64_t disk_used;       /**< Bytes of files, in units of 512. */
    uint64_t disk_capacity;   /**< As set. */
    uint64_t hits;            /**< Requests answered by the cache and not sent. */
    uint64_t misses;          /**< Requests that the cache couldn't answer. */
    uint64_t revalidated;     /**< Requests answered by the cache after the server returned 304. */
    uint64_t stale;           /**< Hits with a response that was no longer fresh. */
    uint64_t stored;          /**< Responses stored. */
    uint64_t refused;         /**< Responses that weren't stored. */
    uint64_t reserved[4];     /**< 0. */
} afc_http_cache_statistics;

/** How a request uses the session's HTTP cache. If the session has no cache, AFC_HTTP_CACHE_ONLY is AFC_EINVAL. */
typedef enum afc_http_cache_policy {
    AFC_HTTP_CACHE_PROTOCOL = 0, /**< By the rules of HTTP (RFC 9111). */
    AFC_HTTP_CACHE_RELOAD = 1,   /**< Request the whole response from the server, and store it. */
    /** Use a stored response of any age; send the request if there is none. */
    AFC_HTTP_CACHE_ELSE_LOAD = 2,
    /** Like ELSE_LOAD, but if there is none, the response is a 504 made by this library. */
    AFC_HTTP_CACHE_ONLY = 3,
    /** Validate a stored response with the server, unless it is fresh and immutable (RFC 8246). */
    AFC_HTTP_CACHE_REVALIDATE = 4,
    AFC_HTTP_CACHE_BYPASS = 5 /**< Neither use nor store responses. */
} afc_http_cache_policy;

/** How the HTTP cache took part in a hop. */
typedef enum AFC_OPEN_ENUM afc_http_cache_use {
    AFC_CACHE_USE_UNUSED = 0, /**< The response came from the server. */
    AFC_CACHE_USE_HIT = 1,    /**< A stored response that was fresh. */
    /** A stored response that was stale, where the response or the request allows that. */
    AFC_CACHE_USE_STALE = 2,
    /** A stored response that the server confirmed in the previous hop. */
    AFC_CACHE_USE_VALIDATED = 3,
    /** A 504 made by this library: nothing is stored, and the request isn't sent. */
    AFC_CACHE_USE_MISSING = 4
} afc_http_cache_use;

/**
 * Opens a cache. `options` may be NULL for the defaults. Waits up to 5 seconds for other processes that use the folder.
 *
 * Thread: any.    Owns: `*out` is yours, afc_http_cache_release().
 * Fails: AFC_EINVAL (options without their INIT), AFC_EFILE (the folder can't be made or used, belongs to others, or
 * stays locked), AFC_EINTERNAL (the system has no random bytes), AFC_ENOMEM; `*out` is then NULL.
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
 * Releases a reference; the last one closes the cache. Responses that wait for the disk are still written, by another
 * thread; call afc_http_cache_flush() first to wait for that. NULL is allowed.
 *
 * Thread: any.    Owns: takes `cache`.    Fails: never.
 */
AFC_API void afc_http_cache_release(afc_http_cache *cache);

/**
 * Waits until all responses stored so far are on disk. Only needed before the end of a process. Not allowed in a
 * callback of a session.
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
 * requests; NULL means the empty one.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL (an invalid URL, or a partition with a line feed), AFC_ENOMEM.
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
 * Removes every response. As with each removal, responses to requests that this process has already sent aren't stored
 * afterwards.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_remove_all(afc_http_cache *cache);

/* ---- Responses by value -------------------------------------------------------------------- */

/** The request that a stored response answers. Start from AFC_HTTP_CACHE_REQUEST_INIT. */
typedef struct afc_http_cache_request {
    size_t size;           /**< sizeof(afc_http_cache_request). */
    const char *url;       /**< Absolute, with an internationalised host as A-labels. Required. */
    const char *partition; /**< The session's cache_partition; NULL means the empty one. */
    /** The request's fields. Those that Vary names, and Authorization, select a response. */
    const afc_header *headers;
    size_t header_count;
    /** The credentials of the session or the request, if there is no field Authorization; NULL if there are none. */
    const afc_credentials *credentials;
    /** afc_http_cache_lookup() returns the newest response to the URL, whichever request it was stored for. */
    bool accepts_any;
} afc_http_cache_request;

#define AFC_HTTP_CACHE_REQUEST_INIT                                                                \
    { sizeof(afc_http_cache_request), NULL, NULL, NULL, 0, NULL, false }

/** A response with its body. Start from AFC_HTTP_CACHE_RESPONSE_INIT to store one. */
typedef struct afc_http_cache_response {
    size_t size; /**< sizeof(afc_http_cache_response). */
    afc_head head;
    afc_slice body;
    bool is_decoded; /**< `body` is without its Content-Encoding. */
    /**
     * When the response was received, in Unix seconds. To store one, 0 means now; a time up to one second ahead of
     * time() counts as now, too. Negative is AFC_EINVAL.
     */
    int64_t response_time_s;
    int64_t age_s; /**< The age now, in seconds. Ignored by afc_http_cache_store(). */
    /** The response is fresh while its age is less. Ignored by afc_http_cache_store(). */
    int64_t lifetime_s;
} afc_http_cache_response;

#define AFC_HTTP_CACHE_RESPONSE_INIT                                                               \
    {                                                                                              \
        sizeof(afc_http_cache_response), {200, AFC_HTTP_1_1, {NULL, 0}, NULL, 0}, {NULL, 0},       \
            false, 0, 0, 0                                                                         \
    }

/**
 * Returns the newest stored response to a GET request, fresh or stale, with the whole body; `*out` is NULL if there is
 * none. User-Agent and Accept-Encoding, which sessions add, select only if the request has them. Trust policies don't
 * select: it may be a response that another session's policy accepted. A request with a Host of its own, or with
 * another method in a field such as X-HTTP-Method-Override, has none. The lookup doesn't count as a use: neither for
 * statistics nor for evictions. Blocks while the disk is read.
 *
 * Thread: any but loops.    Owns: `*out` is yours, afc_http_cache_response_free().
 * Fails: AFC_EINVAL (no INIT, an invalid URL, one of more than 64 KiB, a partition with a line feed), AFC_ETOOBIG (URL
 * and partition together exceed 64 KiB), AFC_ENOMEM; `*out` is then NULL.
 */
AFC_API afc_status afc_http_cache_lookup(const afc_http_cache_response **out, afc_http_cache *cache,
                                         const afc_http_cache_request *request,
                                         afc_failure *failure);

/**
 * Frees a response that afc_http_cache_lookup() returned. NULL is allowed.
 *
 * Thread: any.    Owns: takes `response`.    Fails: never.
 */
AFC_API void afc_http_cache_response_free(const afc_http_cache_response *response);

/**
 * Stores a response to a GET request instead of the one that the same request would select. Sessions with any trust
 * policy use it, because the program vouches for it. The rules of HTTP apply: they decide whether the response may be
 * stored, also `no-store` of the request, and its fields decide how long it is fresh. All is copied. After a failed
 * write the response counts as missing. Waits while more than 8 MiB wait to be written.
 *
 * Thread: any but loops.    Owns: nothing.
 * Fails: AFC_EINVAL (as afc_http_cache_lookup(); a response that must not be stored, as the text explains; an invalid
 * field, or a Content-Length that isn't the body's), AFC_ETOOBIG (larger than the cache stores), AFC_ENOMEM. `failure`
 * may be NULL.
 */
AFC_API afc_status afc_http_cache_store(afc_http_cache *cache,
                                        const afc_http_cache_request *request,
                                        const afc_http_cache_response *response,
                                        afc_failure *failure);

/* ---- Enumeration --------------------------------------------------------------------------- */

/** A stored response without its body. The pointers are valid until the next call with its list. */
typedef struct afc_http_cache_entry {
    const char *url;
    const char *partition; /**< Empty if there is none. */
    afc_head head;
    uint64_t body_bytes; /**< Size of the body, as stored. */
    /** When the response was received or last validated, in Unix seconds. */
    int64_t response_time_s;
    int64_t age_s;      /**< Its age now, in seconds. */
    int64_t lifetime_s; /**< It is fresh while it is younger than this. */
    bool is_in_memory, is_on_disk;
    uint64_t reserved[2]; /**< 0. */
} afc_http_cache_entry;

/** An iteration over the responses that were stored when it began. */
typedef struct afc_http_cache_list afc_http_cache_list;

/**
 * Begins to list the stored responses, those of other processes included, in no particular order. Waits as
 * afc_http_cache_flush() does.
 *
 * Thread: any but loops.    Owns: `*out` is yours, afc_http_cache_list_free().
 * Fails: AFC_ENOMEM; `*out` is then NULL.
 */
AFC_API afc_status afc_http_cache_list_begin(afc_http_cache_list **out, afc_http_cache *cache,
                                             afc_failure *failure);

/**
 * Reads the next response. Responses that were removed meanwhile or are damaged are omitted. Returns false if there are
 * no more.
 *
 * Thread: one at a time, any but loops.    Owns: `*out` borrows from `list`.
 * Fails: never; without memory a response is left out.
 */
AFC_API bool afc_http_cache_list_next(afc_http_cache_list *list, afc_http_cache_entry *out);

/**
 * Ends a list. NULL is allowed.
 *
 * Thread: any.    Owns: takes `list`.    Fails: never.
 */
AFC_API void afc_http_cache_list_free(afc_http_cache_list *list);

/** The result of afc_http_cache_verify(). */
typedef struct afc_http_cache_verification {
    uint64_t entries;     /**< Responses whose every byte was read and is valid. */
    uint64_t body_bytes;  /**< Total size of the bodies of those responses. */
    uint64_t damaged;     /**< Damaged responses; they were removed. */
    uint64_t reserved[4]; /**< 0. */
} afc_http_cache_verification;

/**
 * Reads every response of the folder, compares all checksums, and removes damaged ones. Not needed for correct
 * responses, because every byte is checked when it is used. All numbers are 0 without a folder. Waits as
 * afc_http_cache_flush() does, and blocks while it reads.
 *
 * Thread: any but loops.    Owns: nothing.
 * Fails: AFC_ENOMEM.
 */
AFC_API afc_status afc_http_cache_verify(afc_http_cache_verification *out, afc_http_cache *cache,
                                         afc_failure *failure);

/* ---- Partitions ---------------------------------------------------------------------------- */

/** Size of a fingerprint as text, with its NUL. */
#define AFC_HTTP_CACHE_FINGERPRINT_SIZE 65

/**
 * Writes the fingerprint of a text: SHA-256 (FIPS 180-4) as 64 hexadecimal digits in lower case. Used as
 * afc_session_options.cache_partition, it identifies secrets, such as cookies, that must not be readable in the folder.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_ENOMEM, also if OpenSSL doesn't allow SHA-256; `out` is then empty.
 */
AFC_API afc_status afc_http_cache_fingerprint(char out[AFC_HTTP_CACHE_FINGERPRINT_SIZE],
                                              afc_slice text);

/* ---- Statistics ---------------------------------------------------------------------------- */

/**
 * Reads the statistics.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_http_cache_get_statistics(afc_http_cache *cache, afc_http_cache_statistics *out);

AFC_END_DECLS

#endif
