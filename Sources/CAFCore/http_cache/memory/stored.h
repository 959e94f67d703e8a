/**
 * A stored response: its meta in one block, and its body in memory or in a file.
 *
 * The block is encoded once, when the response is stored. Memory and files hold the same block, and one function
 * decodes it.
 */
#ifndef AFC_HTTP_CACHE_MEMORY_STORED_H
#define AFC_HTTP_CACHE_MEMORY_STORED_H

#include "base/buffer.h"
#include "http_cache/store.h"

#include <stdatomic.h>

enum {
    AFC__HTTP_CACHE_META_MAX = 1 << 20, /**< Maximum size of an encoded meta, with its key. */
    AFC__HTTP_CACHE_FIELDS_MAX = 4096   /**< Maximum number of fields of a response or a request. */
};

/** The bytes of a body in memory, shared by the responses that have this body. */
typedef struct afc__http_cache_body {
    atomic_uint references;
    afc_bytes bytes;
} afc__http_cache_body;

/** Takes ownership of `bytes`, even on failure. Returns NULL if out of memory. */
afc__http_cache_body *afc__http_cache_body_new(afc_bytes bytes);

/** Whether the terms of a response were parsed and kept; any thread may be the first to need them. */
typedef enum afc__terms_state {
    AFC__TERMS_UNREAD,
    AFC__TERMS_WRITING, /**< A thread is keeping them in `terms`. */
    AFC__TERMS_READ     /**< `terms` no longer changes. */
} afc__terms_state;

struct afc__http_cache_stored {
    atomic_uint references;
    afc__http_cache_id id;
    afc__http_cache_body *body; /**< NULL if the body is in the file. */
    int descriptor;             /**< The file, locked against reuse; -1 if the body is in memory. */
    uint64_t body_size;
    /** Date in Unix seconds; the time of receipt if there is no Date. */
    int64_t date;
    /** The number of its head in this process; 0 if it was read from a file. */
    uint32_t order;
    afc__http_cache_meta meta;
    afc_slice key;
    afc_slice block; /**< The encoded meta, which follows `headers`. */
    atomic_int terms_state;
    afc__http_cache_terms terms;
    afc_header headers[];
};

/** Returns the size of an encoded key and meta in bytes, or 0 if that is too large. Declared for tests. */
size_t afc__http_cache_encoded_size(afc_slice key, const afc__http_cache_meta *meta);

/** Encodes a key and a meta at `at`, where there must be room for that size. Declared for tests. */
void afc__http_cache_encode(char *at, afc_slice key, const afc__http_cache_meta *meta);

/** Returns the selecting fields in an encoded meta; the bytes are equal for the same variant. */
afc_slice afc__http_cache_selecting_part(afc_slice block);

/**
 * Makes a response and encodes its key and meta. Its body is empty until the caller sets it. Returns NULL if out of
 * memory, or if the meta is too large.
 */
afc__http_cache_stored *afc__http_cache_stored_new(afc_slice key, const afc__http_cache_meta *meta);

/**
 * Does the same with an encoded meta, which is copied. Returns NULL if `block` is invalid or memory is out; only then
 * `*has_memory` becomes false.
 */
afc__http_cache_stored *afc__http_cache_stored_decode(afc_slice block, bool *has_memory);

/**
 * Turns a 200 into the beginning of a representation of `total` bytes, as a 206 would be. Call it before other threads
 * know the response.
 */
void afc__http_cache_stored_cut(afc__http_cache_stored *stored, int64_t total);

/**
 * Returns how much of the representation it has: the size of its body in bytes for a part (206), or UINT64_MAX for the
 * whole.
 */
uint64_t afc__http_cache_stored_extent(const afc__http_cache_stored *stored);

/** Returns about how many bytes of memory it takes, with its body. */
uint64_t afc__http_cache_stored_cost(const afc__http_cache_stored *stored);

#endif
