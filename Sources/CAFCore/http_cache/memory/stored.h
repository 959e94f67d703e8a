/**
 * A stored response: its meta in one block, and its body in memory or in a file.
 *
 * The block is what the disk has, too: encoded once, when the response is stored, and read back by the same function
 * from memory and from files.
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

/** Bytes of a body in memory, shared by the responses that have it. */
typedef struct afc__http_cache_body {
    atomic_uint references;
    afc_bytes bytes;
} afc__http_cache_body;

/** Takes `bytes`, also on failure. NULL: out of memory. */
afc__http_cache_body *afc__http_cache_body_new(afc_bytes bytes);

/** Whether the terms of a response were read; any thread may be the first. */
typedef enum afc__terms_state {
    AFC__TERMS_UNREAD,
    AFC__TERMS_WRITING, /**< By the first thread that has read them. */
    AFC__TERMS_READ     /**< They don't change any more. */
} afc__terms_state;

struct afc__http_cache_stored {
    atomic_uint references;
    afc__http_cache_id id;
    afc__http_cache_body *body; /**< NULL: the body is in the file. */
    int descriptor;             /**< The file, locked against reuse; -1: the body is in memory. */
    uint64_t body_size;
    int64_t
        date; /**< When the server made it, in Unix seconds; without Date, when it was received. */
    uint32_t order; /**< The number of its head in this process; 0: it was read from a file. */
    afc__http_cache_meta meta;
    afc_slice key;
    afc_slice block; /**< The encoded meta, behind the headers. */
    atomic_int terms_state;
    afc__http_cache_terms terms;
    afc_header headers[];
};

/** Returns the size of an encoded key and meta. 0: it would be too large. Declared for tests. */
size_t afc__http_cache_encoded_size(afc_slice key, const afc__http_cache_meta *meta);

/** Writes them where there is room for that size. Declared for tests. */
void afc__http_cache_encode(char *at, afc_slice key, const afc__http_cache_meta *meta);

/** Returns the part of an encoded meta that the selecting fields are; the same for the same variant. */
afc_slice afc__http_cache_selecting_part(afc_slice block);

/**
 * Makes a response of a key and a meta, which are encoded. Its body is empty until the caller sets it. NULL: out of
 * memory, or too large.
 */
afc__http_cache_stored *afc__http_cache_stored_new(afc_slice key, const afc__http_cache_meta *meta);

/**
 * Does the same with an encoded meta, which is copied. NULL: not an encoded meta, or out of memory; only then
 * `*has_memory` becomes false.
 */
afc__http_cache_stored *afc__http_cache_stored_decode(afc_slice block, bool *has_memory);

/** Makes a 200 the beginning of a representation of `total` bytes, as a 206 would be. Before others know it. */
void afc__http_cache_stored_cut(afc__http_cache_stored *stored, int64_t total);

/** Returns how much of the representation it has: the bytes of a part, or UINT64_MAX. */
uint64_t afc__http_cache_stored_extent(const afc__http_cache_stored *stored);

/** Returns about how much memory it takes, with its body. */
uint64_t afc__http_cache_stored_cost(const afc__http_cache_stored *stored);

#endif
