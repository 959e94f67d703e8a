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
 * Why a response isn't stored: AFC_ETOOBIG, it is larger than the cache stores; AFC_ENOMEM; AFC_EFILE, the cache can't write
 * it: the disk is full, broken or behind, or the process was forked.
 */

/** `expected` is the size of the body if it is known, else -1. On failure `*out` is NULL. */
afc_status afc__http_cache_begin(afc__http_cache_writing **out, afc_http_cache *cache,
                                 afc_slice key, const afc__http_cache_meta *meta, int64_t expected);

/** Copies bytes. After a failure, abandon the writing. */
afc_status afc__http_cache_append(afc__http_cache_writing *writing, afc_slice bytes,
                                  afc__http_cache_pace pace);

/** The entry isn't stored if something of its key was removed since this mark, instead of since the beginning. */
void afc__http_cache_set_mark(afc__http_cache_writing *writing, afc__http_cache_mark mark);

/**
 * Stores the entry in place of the same variant and evicts others, unless something of its key was removed meanwhile. Frees
 * `writing`. false: it isn't stored because of a removal.
 */
bool afc__http_cache_commit(afc__http_cache_writing *writing, afc__http_cache_pace pace);

/**
 * Does the same with a body that has ended early: a 200 becomes the beginning of a representation of `total` bytes, as a
 * 206 would be.
 */
bool afc__http_cache_commit_beginning(afc__http_cache_writing *writing, int64_t total);

/** Frees `writing` without storing it. NULL is allowed. */
void afc__http_cache_abandon(afc__http_cache_writing *writing);

#endif
