/** Reads and writes bodies of stored responses piece by piece, in memory or on disk. */
#ifndef AFC_HTTP_CACHE_STORE_BODY_H
#define AFC_HTTP_CACHE_STORE_BODY_H

#include "http_cache/store.h"

/* ---- Reading a body ------------------------------------------------------------------------ */

typedef struct afc__http_cache_reader afc__http_cache_reader;

/**
 * Opens a reader of a body from byte `offset` on. Cache and response must outlive the reader. Returns NULL if out of
 * memory.
 */
afc__http_cache_reader *afc__http_cache_reader_open(afc_http_cache *cache,
                                                    afc__http_cache_stored *stored, uint64_t offset,
                                                    afc__http_cache_wake wake);

/**
 * Reads the next piece of a body. READY: `*piece` is valid until the next call; bytes from disk have passed their
 * checksums. PENDING: call again after the wake.
 */
afc__http_cache_step afc__http_cache_read(afc__http_cache_reader *reader, afc_slice *piece);

/** Closes a reader. NULL is allowed. */
void afc__http_cache_reader_close(afc__http_cache_reader *reader);

/* ---- Writing an entry ---------------------------------------------------------------------- */

typedef struct afc__http_cache_writing afc__http_cache_writing;

/*
 * These functions fail with AFC_ETOOBIG if the response is larger than the cache stores, AFC_ENOMEM, or AFC_EFILE if
 * the cache can't write it: the disk is full, broken or behind, or the process was forked.
 */

/**
 * Begins to store a response. `expected` is the size of its body in bytes, or -1 if it is unknown. On failure `*out` is
 * NULL.
 */
afc_status afc__http_cache_begin(afc__http_cache_writing **out, afc_http_cache *cache,
                                 afc_slice key, const afc__http_cache_meta *meta, int64_t expected);

/** Appends a copy of `bytes` to the body. After a failure, call afc__http_cache_abandon(). */
afc_status afc__http_cache_append(afc__http_cache_writing *writing, afc_slice bytes,
                                  afc__http_cache_pace pace);

/** Returns the body's number, the `content` of its id. */
uint64_t afc__http_cache_writing_content(const afc__http_cache_writing *writing);

/**
 * Sets when the response was requested; without this call, it is when afc__http_cache_begin() was called. What was
 * removed or received since then may be newer than this response.
 */
void afc__http_cache_set_mark(afc__http_cache_writing *writing, afc__http_cache_mark mark);

/** What has become of a complete response. It is stored only if COMMITTED. */
typedef enum afc__http_cache_outcome {
    AFC__HTTP_CACHE_COMMITTED,
    /** There is no room for it; the previous response of its variant is removed, too. */
    AFC__HTTP_CACHE_NO_ROOM,
    AFC__HTTP_CACHE_OUTDATED, /**< Something of its key was removed since it was requested. */
    AFC__HTTP_CACHE_OLDER,    /**< A newer response was stored since it was requested. */
    AFC__HTTP_CACHE_SHORTER   /**< It is a part, and a longer part or the whole is stored. */
} afc__http_cache_outcome;

/** Sets what a lookup has found before the request, so that a part doesn't replace a longer one. */
void afc__http_cache_set_seen(afc__http_cache_writing *writing, const afc__http_cache_seen *seen,
                              size_t count);

/** Stores the response in place of the previous one of its variant, and evicts others if needed. Frees `writing`. */
afc__http_cache_outcome afc__http_cache_commit(afc__http_cache_writing *writing,
                                               afc__http_cache_pace pace);

/**
 * Stores a body that has ended early, without waiting for the disk: a 200 becomes the beginning of a representation of
 * `total` bytes, as a 206 would be. Frees `writing`.
 */
afc__http_cache_outcome afc__http_cache_commit_beginning(afc__http_cache_writing *writing,
                                                         int64_t total);

/** Frees `writing` without storing the response. NULL is allowed. */
void afc__http_cache_abandon(afc__http_cache_writing *writing);

#endif
