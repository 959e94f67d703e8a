/** Bodies of stored responses, read and written piece by piece, in memory or on disk. */
#ifndef AFC_HTTP_CACHE_STORE_BODY_H
#define AFC_HTTP_CACHE_STORE_BODY_H

#include "http_cache/store.h"

/* ---- Reading a body ------------------------------------------------------------------------ */

typedef struct afc__http_cache_reader afc__http_cache_reader;

/** Reads a body from `offset` on. Cache and response must outlive the reader. NULL: out of memory. */
afc__http_cache_reader *afc__http_cache_reader_open(afc_http_cache *cache,
                                                    afc__http_cache_stored *stored, uint64_t offset,
                                                    afc__http_cache_wake wake);

/** READY: `*piece` is valid until the next call. Every byte was verified against its checksum before. */
afc__http_cache_step afc__http_cache_read(afc__http_cache_reader *reader, afc_slice *piece);

/** NULL is allowed. */
void afc__http_cache_reader_close(afc__http_cache_reader *reader);

/* ---- Writing an entry ---------------------------------------------------------------------- */

typedef struct afc__http_cache_writing afc__http_cache_writing;

/*
 * Why a response isn't stored: AFC_ETOOBIG, it is larger than the cache stores; AFC_ENOMEM; AFC_EFILE, the cache can't
 * write it: the disk is full, broken or behind, or the process was forked.
 */

/** `expected` is the size of the body if it is known, else -1. On failure `*out` is NULL. */
afc_status afc__http_cache_begin(afc__http_cache_writing **out, afc_http_cache *cache,
                                 afc_slice key, const afc__http_cache_meta *meta, int64_t expected);

/** Copies bytes. After a failure, abandon the writing. */
afc_status afc__http_cache_append(afc__http_cache_writing *writing, afc_slice bytes,
                                  afc__http_cache_pace pace);

/** Returns the number of the body. */
uint64_t afc__http_cache_writing_content(const afc__http_cache_writing *writing);

/**
 * The moment when the response was requested, instead of the beginning of its writing: what was removed or received
 * since then may be newer.
 */
void afc__http_cache_set_mark(afc__http_cache_writing *writing, afc__http_cache_mark mark);

/** What became of a response that was complete. */
typedef enum afc__http_cache_outcome {
    AFC__HTTP_CACHE_COMMITTED,
    AFC__HTTP_CACHE_NO_ROOM,  /**< It isn't stored, nor is the one before any more. */
    AFC__HTTP_CACHE_OUTDATED, /**< Something of its key was removed meanwhile. */
    AFC__HTTP_CACHE_OLDER,    /**< A newer response was stored meanwhile. */
    AFC__HTTP_CACHE_SHORTER   /**< It is a part, and the whole or a longer part is stored. */
} afc__http_cache_outcome;

/** Names what was found before the request, so that a part doesn't replace more than it has. */
void afc__http_cache_set_seen(afc__http_cache_writing *writing, const afc__http_cache_seen *seen,
                              size_t count);

/** Stores the entry in place of the same variant, and evicts others. Frees `writing`. */
afc__http_cache_outcome afc__http_cache_commit(afc__http_cache_writing *writing,
                                               afc__http_cache_pace pace);

/**
 * Does the same with a body that has ended early: a 200 becomes the beginning of a representation of `total` bytes, as
 * a 206 would be.
 */
afc__http_cache_outcome afc__http_cache_commit_beginning(afc__http_cache_writing *writing,
                                                         int64_t total);

/** Frees `writing` without storing it. NULL is allowed. */
void afc__http_cache_abandon(afc__http_cache_writing *writing);

#endif
