/**
 * The store of the HTTP cache: responses by key, in memory and on disk.
 *
 * Any thread may call these functions, and none of them waits for a disk. Failures of the store are misses: a
 * response that can't be stored or read is one that isn't there. Times are Unix seconds. A key is opaque here.
 */
#ifndef AFC_HTTP_CACHE_STORE_H
#define AFC_HTTP_CACHE_STORE_H

#include "http_cache/rules/freshness.h"

#include <afcore/http_cache.h>
#include <afcore/message.h>

enum {
    /** Maximum number of variants of one key; the least recently used one is evicted. */
    AFC__HTTP_CACHE_VARIANTS_MAX = 8,
    /** Maximum size of a key in bytes. */
    AFC__HTTP_CACHE_KEY_MAX = 65535
};

/** Called when an operation that has returned PENDING can continue: once for each PENDING, on the disk's thread. */
typedef struct afc__http_cache_wake {
    void (*wake)(void *context);
    void *context;
} afc__http_cache_wake;

typedef enum afc__http_cache_step {
    AFC__HTTP_CACHE_READY,
    AFC__HTTP_CACHE_PENDING, /**< `wake` will be called, even if the operation is closed before. */
    AFC__HTTP_CACHE_END,     /**< The body is complete. */
    AFC__HTTP_CACHE_BROKEN   /**< The body is damaged or gone; its entry was removed. */
} afc__http_cache_step;

/** What to do with bytes while too many others wait to be written to disk (AFC__DISK_QUEUED_MAX). */
typedef enum afc__http_cache_pace {
    AFC__HTTP_CACHE_DROP, /**< Give up: the response isn't stored. */
    /** Block the calling thread, which must not be a loop's, until the disk has written others. */
    AFC__HTTP_CACHE_WAIT
} afc__http_cache_pace;

/** The flags of afc__http_cache_meta. */
enum {
    AFC__META_DECODED = 1u << 0, /**< The body is stored without its Content-Encoding. */
    /** Stored by the program (afc_http_cache_store()), and not confirmed by a server since. */
    AFC__META_OF_PROGRAM = 1u << 1
};

/** What is stored with a body. The store copies all of it. */
typedef struct afc__http_cache_meta {
    afc_head head;
    /**
     * The selecting fields: those of the request that Vary names; see rules/vary.h. Two responses are the same variant
     * if these are equal, in the same order.
     */
    const afc_header *request_fields;
    size_t request_field_count;
    int64_t request_time, response_time;
    uint32_t flags;      /**< AFC__META_… bits; stored unchanged. */
    int64_t range_start; /**< Offset of the body's first byte in the representation. */
    int64_t total;       /**< Size of the representation in bytes; -1 if unknown. */
} afc__http_cache_meta;

/**
 * A stored response: immutable and reference-counted. A reference keeps it and its body readable after it was replaced
 * or removed.
 */
typedef struct afc__http_cache_stored afc__http_cache_stored;

/** Identifies a stored response. */
typedef struct afc__http_cache_id {
    uint64_t primary; /**< Hash of the key. */
    uint64_t variant; /**< Hash of the key and the selecting fields. */
    uint64_t content; /**< A random number, another one for each body that is stored. */
} afc__http_cache_id;

afc__http_cache_id afc__http_cache_stored_id(const afc__http_cache_stored *stored);

/** A response that a lookup has found: its id, and how much of the representation it has. */
typedef struct afc__http_cache_seen {
    afc__http_cache_id id;
    uint64_t extent; /**< Size in bytes if it is a part (206); UINT64_MAX if it is the whole. */
} afc__http_cache_seen;

/** Describes a response that was found, for afc__http_cache_set_seen() and afc__http_cache_supersede(). */
afc__http_cache_seen afc__http_cache_see(const afc__http_cache_stored *stored);

/** Return what a stored response consists of. Pointers are valid as long as the caller's reference. */
const afc__http_cache_meta *afc__http_cache_stored_meta(const afc__http_cache_stored *stored);
afc_slice afc__http_cache_stored_key(const afc__http_cache_stored *stored);
uint64_t afc__http_cache_stored_body_size(const afc__http_cache_stored *stored);

/** What the head of a stored response says about its use. */
typedef struct afc__http_cache_terms {
    afc__http_cache_control control;
    afc__freshness freshness;
    bool is_encoded; /**< Content-Encoding names something other than identity. */
} afc__http_cache_terms;

/**
 * Returns the terms of a stored response. They are parsed at the first use and kept in `stored`; a thread that needs
 * them while another one is keeping them gets them in `storage`. They refer to the head.
 */
const afc__http_cache_terms *afc__http_cache_stored_terms(afc__http_cache_stored *stored,
                                                          afc__http_cache_terms *storage);

afc__http_cache_stored *afc__http_cache_stored_retain(afc__http_cache_stored *stored);
/** Releases a reference. NULL is allowed. */
void afc__http_cache_stored_release(afc__http_cache_stored *stored);

/* ---- Finding ------------------------------------------------------------------------------- */

/** The variants of a key, ordered by Date, newest first. The receiver owns the references. */
typedef struct afc__http_cache_found {
    afc__http_cache_stored *stored[AFC__HTTP_CACHE_VARIANTS_MAX];
    size_t count;      /**< 0 is a miss. */
    bool lacks_memory; /**< Memory ran out: there may be more variants. */
} afc__http_cache_found;

typedef struct afc__http_cache_find afc__http_cache_find;

/**
 * Begins to find all variants of a key. READY: `*out` holds them, `*op` is NULL, and `wake` isn't called. PENDING: call
 * afc__http_cache_find_take() after `wake` was called; free `*op` with afc__http_cache_find_free(), at any time.
 */
afc__http_cache_step afc__http_cache_find_begin(afc_http_cache *cache, afc_slice key,
                                                afc__http_cache_wake wake,
                                                afc__http_cache_find **op,
                                                afc__http_cache_found *out);
void afc__http_cache_find_take(afc__http_cache_find *op, afc__http_cache_found *out);
/** Frees a lookup, and releases what wasn't taken. NULL is allowed. */
void afc__http_cache_find_free(afc__http_cache_find *op);

/** Marks a response as used just now. */
void afc__http_cache_touch(afc_http_cache *cache, const afc__http_cache_stored *stored);

/** Hashes a key. Each cache has its own seed, so that a server can't choose keys with equal hashes. */
uint64_t afc__http_cache_hash_key(const afc_http_cache *cache, afc_slice key);

/* ---- Removals ------------------------------------------------------------------------------ */

/**
 * A moment in the history of a key, as this process knows it: how many removals there were, and which head was received
 * last. A response that was requested before a later removal may be outdated. Removals by other processes are read from
 * the journal, at the latest before a response is written to disk.
 */
typedef struct afc__http_cache_mark {
    unsigned key_removals, all_removals;
    uint32_t order; /**< Number of the last head that was received for storage. */
} afc__http_cache_mark;

/** Returns the mark of this moment. */
afc__http_cache_mark afc__http_cache_take_mark(afc_http_cache *cache, afc_slice key);

/**
 * Returns whether nothing of the key was removed since the mark. Keys share counters, so that it is rarely also false
 * because of another key.
 */
bool afc__http_cache_is_current(afc_http_cache *cache, afc_slice key, afc__http_cache_mark mark);

/* ---- Changing and removing ----------------------------------------------------------------- */

/**
 * Gives the body of `stored` a new meta. Does nothing unless `stored` is still the current response of its variant.
 * Without memory, the response is removed.
 */
void afc__http_cache_update(afc_http_cache *cache, afc__http_cache_stored *stored,
                            const afc__http_cache_meta *meta);

/** Removes one response, unless another one has taken its place. */
void afc__http_cache_drop(afc_http_cache *cache, const afc__http_cache_stored *stored);

/**
 * Removes responses of one key that the server has replaced by one that isn't stored, unless others have taken their
 * place. Responses of the key that were requested before this call won't be stored either: they may be older.
 */
void afc__http_cache_supersede(afc_http_cache *cache, const afc__http_cache_seen *seen,
                               size_t count);

/** Removes all variants of a key. */
void afc__http_cache_remove_key(afc_http_cache *cache, afc_slice key);

/* ---- Statistics ---------------------------------------------------------------------------- */

typedef enum afc__http_cache_event {
    AFC__HTTP_CACHE_HIT,
    AFC__HTTP_CACHE_MISS,
    AFC__HTTP_CACHE_REVALIDATED,
    AFC__HTTP_CACHE_STALE,
    AFC__HTTP_CACHE_STORED,
    AFC__HTTP_CACHE_REFUSED,
    AFC__HTTP_CACHE_EVENTS
} afc__http_cache_event;

/** Counts an event for afc_http_cache_get_statistics(). */
void afc__http_cache_count(afc_http_cache *cache, afc__http_cache_event event);

#endif
