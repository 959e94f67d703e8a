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

/** How a slow operation reports that it can go on: once for each PENDING, on the store's thread. */
typedef struct afc__http_cache_wake {
    void (*wake)(void *context);
    void *context;
} afc__http_cache_wake;

typedef enum afc__http_cache_step {
    AFC__HTTP_CACHE_READY,
    AFC__HTTP_CACHE_PENDING, /**< `wake` will be called, also if the operation is closed before. */
    AFC__HTTP_CACHE_END,     /**< The body is complete. */
    AFC__HTTP_CACHE_BROKEN   /**< The body is damaged or gone; its entry was removed. */
} afc__http_cache_step;

/** What happens to bytes for which a slow disk has no room yet. */
typedef enum afc__http_cache_pace {
    AFC__HTTP_CACHE_DROP, /**< The response isn't stored. */
    AFC__HTTP_CACHE_WAIT /**< The calling thread, which mustn't be a loop's, waits until the disk has written others. */
} afc__http_cache_pace;

/** The flags of afc__http_cache_meta. */
enum {
    AFC__META_DECODED = 1u << 0, /**< The body is stored without its Content-Encoding. */
    AFC__META_OF_PROGRAM =
        1u << 1 /**< A program has stored it, and no server has confirmed it since. */
};

/** What is stored beside a body. The store copies all of it. */
typedef struct afc__http_cache_meta {
    afc_head head;
    /** The selecting fields of the request. Two variants are the same if these are equal, in order. */
    const afc_header *request_fields;
    size_t request_field_count;
    int64_t request_time, response_time;
    uint32_t flags;      /**< AFC__META_… bits; stored unchanged. */
    int64_t range_start; /**< Offset of the body's first byte in the representation. */
    int64_t total;       /**< Size of the representation in bytes; -1: unknown. */
} afc__http_cache_meta;

/** A stored response: immutable, reference counted. It outlives its replacement and its removal, with its body. */
typedef struct afc__http_cache_stored afc__http_cache_stored;

/** Names a stored response. */
typedef struct afc__http_cache_id {
    uint64_t primary; /**< Hash of the key. */
    uint64_t variant; /**< Hash of the key and the selecting fields. */
    uint64_t content; /**< A random number for each body that is stored. */
} afc__http_cache_id;

afc__http_cache_id afc__http_cache_stored_id(const afc__http_cache_stored *stored);

/** A response that a lookup has found: its name, and how much of the representation it has. */
typedef struct afc__http_cache_seen {
    afc__http_cache_id id;
    uint64_t extent; /**< Bytes of a part; UINT64_MAX: the whole. */
} afc__http_cache_seen;

afc__http_cache_seen afc__http_cache_see(const afc__http_cache_stored *stored);

/** The pointers are valid as long as the reference. */
const afc__http_cache_meta *afc__http_cache_stored_meta(const afc__http_cache_stored *stored);
afc_slice afc__http_cache_stored_key(const afc__http_cache_stored *stored);
uint64_t afc__http_cache_stored_body_size(const afc__http_cache_stored *stored);

/** What the head of a stored response says of its use. */
typedef struct afc__http_cache_terms {
    afc__http_cache_control control;
    afc__freshness freshness;
    bool is_encoded; /**< Content-Encoding names something other than identity. */
} afc__http_cache_terms;

/**
 * Reads them; they are kept for the next time. They refer to the head, and live as long as it, or as `storage`, which
 * is used while another thread reads them, too.
 */
const afc__http_cache_terms *afc__http_cache_stored_terms(afc__http_cache_stored *stored,
                                                          afc__http_cache_terms *storage);

afc__http_cache_stored *afc__http_cache_stored_retain(afc__http_cache_stored *stored);
/** NULL is allowed. */
void afc__http_cache_stored_release(afc__http_cache_stored *stored);

/* ---- Finding ------------------------------------------------------------------------------- */

/** The variants of a key, by the time when the server made them, newest first. The receiver owns the references. */
typedef struct afc__http_cache_found {
    afc__http_cache_stored *stored[AFC__HTTP_CACHE_VARIANTS_MAX];
    size_t count;      /**< 0: a miss. */
    bool lacks_memory; /**< There may be more, which couldn't be read. */
} afc__http_cache_found;

typedef struct afc__http_cache_find afc__http_cache_find;

/**
 * Finds all variants of a key. READY: `*out` holds them, and `*op` is NULL. PENDING: after the wake,
 * afc__http_cache_find_take() returns them; free `*op` with afc__http_cache_find_free(), at any time.
 */
afc__http_cache_step afc__http_cache_find_begin(afc_http_cache *cache, afc_slice key,
                                                afc__http_cache_wake wake,
                                                afc__http_cache_find **op,
                                                afc__http_cache_found *out);
void afc__http_cache_find_take(afc__http_cache_find *op, afc__http_cache_found *out);
/** Also releases what wasn't taken. NULL is allowed. */
void afc__http_cache_find_free(afc__http_cache_find *op);

/** Marks a response as used just now. */
void afc__http_cache_touch(afc_http_cache *cache, const afc__http_cache_stored *stored);

/** Hashes a key. Other caches hash it differently, so that a server can't choose keys with equal hashes. */
uint64_t afc__http_cache_hash_key(const afc_http_cache *cache, afc_slice key);

/* ---- Removals ------------------------------------------------------------------------------ */

/**
 * What was removed of a key and received before some moment, as far as this process knows. A response that was
 * requested before then may be outdated. What other processes have changed is also looked up before a response is
 * written to disk.
 */
typedef struct afc__http_cache_mark {
    unsigned of_key, of_all;
    uint32_t order; /**< The number of the last head that was received to be stored. */
} afc__http_cache_mark;

/** Takes the mark of this moment. */
afc__http_cache_mark afc__http_cache_take_mark(afc_http_cache *cache, afc_slice key);

/** Returns whether nothing of the key was removed since. Rarely also false because of another key. */
bool afc__http_cache_is_current(afc_http_cache *cache, afc_slice key, afc__http_cache_mark mark);

/* ---- Changing and removing ----------------------------------------------------------------- */

/** Gives the body of `stored` a new meta. Ignored unless it is still the stored variant. */
void afc__http_cache_update(afc_http_cache *cache, afc__http_cache_stored *stored,
                            const afc__http_cache_meta *meta);

/** Removes one response, unless another one took its place. */
void afc__http_cache_drop(afc_http_cache *cache, const afc__http_cache_stored *stored);

/**
 * Removes responses of one key, as above, as the server has replaced them by one that isn't stored. Responses of the
 * key that were requested before aren't stored either: they may be older.
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

void afc__http_cache_count(afc_http_cache *cache, afc__http_cache_event event);

#endif
