/**
 * The store of the HTTP cache: responses by key, in memory and on disk.
 *
 * Any thread may call these functions, and none of them waits for a disk. Failures of the store are misses: a
 * response that can't be stored or read is one that isn't there. Times are Unix seconds. A key is opaque here.
 */
#ifndef AFC_HTTP_CACHE_STORE_H
#define AFC_HTTP_CACHE_STORE_H

#include "http_cache/freshness.h"

#include <afcore/http_cache.h>
#include <afcore/message.h>

enum {
    /** Maximum number of variants of one key; the least recently used one is evicted. */
    AFC__CACHE_MOST_VARIANTS = 8,
    /** Maximum size of a key in bytes. */
    AFC__CACHE_LONGEST_KEY = 65535
};

/** How a slow operation reports that it can go on: once for each PENDING, on the store's thread. */
typedef struct afc__cache_wake {
    void (*wake)(void *context);
    void *context;
} afc__cache_wake;

typedef enum afc__cache_step {
    AFC__CACHE_READY,
    AFC__CACHE_PENDING, /**< `wake` will be called, also if the operation is closed before. */
    AFC__CACHE_END,     /**< The body is complete. */
    AFC__CACHE_BROKEN   /**< The body is damaged or gone; its entry was removed. */
} afc__cache_step;

/** The flags of afc__cache_meta. */
enum { AFC__META_DECODED = 1u << 0 /**< The body is stored without its Content-Encoding. */ };

/** What is stored beside a body. The store copies all of it. */
typedef struct afc__cache_meta {
    afc_head head;
    /** The selecting fields of the request. Two variants are the same if these are equal, in order. */
    const afc_header *request_fields;
    size_t request_field_count;
    int64_t request_time, response_time;
    uint32_t flags;      /**< AFC__META_… bits; stored unchanged. */
    int64_t range_start; /**< Offset of the body's first byte in the representation. */
    int64_t total;       /**< Size of the representation in bytes; -1: unknown. */
} afc__cache_meta;

/** A stored response: immutable, reference counted. It outlives its replacement and its removal, with its body. */
typedef struct afc__cache_stored afc__cache_stored;

/** The pointers are valid as long as the reference. */
const afc__cache_meta *afc__cache_stored_meta(const afc__cache_stored *stored);
afc_slice afc__cache_stored_key(const afc__cache_stored *stored);
uint64_t afc__cache_stored_body_size(const afc__cache_stored *stored);

/** What the head of a stored response says of its use. */
typedef struct afc__cache_terms {
    afc__cache_control control;
    afc__freshness freshness;
    bool is_encoded; /**< Content-Encoding names something other than identity. */
} afc__cache_terms;

/**
 * Reads them; they are kept for the next time. They refer to the head, and live as long as it, or as `room`, which is used
 * while another thread reads them, too.
 */
const afc__cache_terms *afc__cache_stored_terms(afc__cache_stored *stored, afc__cache_terms *room);

afc__cache_stored *afc__cache_stored_retain(afc__cache_stored *stored);
/** NULL is allowed. */
void afc__cache_stored_release(afc__cache_stored *stored);

/* ---- Finding ------------------------------------------------------------------------------- */

/** The variants of a key, by response time, newest first. The receiver owns the references. */
typedef struct afc__cache_found {
    afc__cache_stored *stored[AFC__CACHE_MOST_VARIANTS];
    size_t count; /**< 0: a miss. */
} afc__cache_found;

typedef struct afc__cache_find afc__cache_find;

/**
 * Finds all variants of a key. READY: `*out` holds them, and `*op` is NULL. PENDING: after the wake,
 * afc__cache_find_take() returns them; free `*op` with afc__cache_find_free(), at any time.
 */
afc__cache_step afc__cache_find_begin(afc_http_cache *cache, afc_slice key, afc__cache_wake wake,
                                      afc__cache_find **op, afc__cache_found *out);
void afc__cache_find_take(afc__cache_find *op, afc__cache_found *out);
/** Also releases what wasn't taken. NULL is allowed. */
void afc__cache_find_free(afc__cache_find *op);

/** Marks a response as used just now. */
void afc__cache_touch(afc_http_cache *cache, const afc__cache_stored *stored);

/* ---- Reading a body ------------------------------------------------------------------------ */

typedef struct afc__cache_reader afc__cache_reader;

/** Reads a body from `offset` on. Cache and response must outlive the reader. NULL: out of memory. */
afc__cache_reader *afc__cache_reader_open(afc_http_cache *cache, afc__cache_stored *stored,
                                          uint64_t offset, afc__cache_wake wake);

/** READY: `*piece` is valid until the next call. Every byte was verified against its checksum before. */
afc__cache_step afc__cache_read(afc__cache_reader *reader, afc_slice *piece);

/** NULL is allowed. */
void afc__cache_reader_close(afc__cache_reader *reader);

/* ---- Writing an entry ---------------------------------------------------------------------- */

typedef struct afc__cache_writing afc__cache_writing;

/** `expected` is the size of the body if it is known, else -1. NULL: the response isn't stored. */
afc__cache_writing *afc__cache_begin(afc_http_cache *cache, afc_slice key,
                                     const afc__cache_meta *meta, int64_t expected);

/** What happens to bytes for which a slow disk has no room yet. */
typedef enum afc__cache_pace {
    AFC__CACHE_DROP, /**< The response isn't stored. */
    AFC__CACHE_WAIT /**< The calling thread, which mustn't be a loop's, waits until the disk has written others. */
} afc__cache_pace;

/** Copies bytes. false: given up, because the body is too large, the disk too slow or memory out. */
bool afc__cache_append(afc__cache_writing *writing, afc_slice bytes, afc__cache_pace pace);

/** Stores the entry in place of the same variant and evicts others. Frees `writing`. */
void afc__cache_commit(afc__cache_writing *writing, afc__cache_pace pace);

/**
 * Does the same with a body that has ended early: a 200 becomes the beginning of a representation of `total` bytes, as a
 * 206 would be.
 */
void afc__cache_commit_beginning(afc__cache_writing *writing, int64_t total);

/** Frees `writing` without storing it. NULL is allowed. */
void afc__cache_abandon(afc__cache_writing *writing);

/* ---- Changing and removing ----------------------------------------------------------------- */

/** Gives the body of `stored` a new meta. Ignored unless it is still the stored variant. */
void afc__cache_update(afc_http_cache *cache, afc__cache_stored *stored,
                       const afc__cache_meta *meta);

/** Removes one response, unless another one took its place. */
void afc__cache_drop(afc_http_cache *cache, const afc__cache_stored *stored);

/** Removes all variants of a key. */
void afc__cache_remove_key(afc_http_cache *cache, afc_slice key);

/* ---- Statistics ---------------------------------------------------------------------------- */

typedef enum afc__cache_event {
    AFC__CACHE_HIT,
    AFC__CACHE_MISS,
    AFC__CACHE_REVALIDATED,
    AFC__CACHE_STALE,
    AFC__CACHE_STORED,
    AFC__CACHE_REFUSED,
    AFC__CACHE_EVENTS
} afc__cache_event;

void afc__cache_count(afc_http_cache *cache, afc__cache_event event);

#endif
