/**
 * The internals of the store, for its own files.
 *
 * `table` has a record for each stored response; `memory`, an LRU cache, holds the responses that are in memory, as one
 * set for each key. The table always says which of them are in memory. Both change under the lock, on the caller's
 * thread, so that every later call sees the change.
 */
#ifndef AFC_HTTP_CACHE_MEMORY_STORE_INTERNAL_H
#define AFC_HTTP_CACHE_MEMORY_STORE_INTERNAL_H

#include "http_cache/memory/entry_table.h"
#include "http_cache/memory/response_set.h"

#include <afcore/lru.h>
#include <pthread.h>

typedef struct afc__disk afc__disk;

/** Identifies an entry: the hash of its key, and that of its key and selecting fields. */
typedef struct afc__cache_store_name {
    uint64_t primary, variant;
} afc__cache_store_name;

/** Selects the entries that meet all of these conditions. */
typedef struct afc__cache_store_filter {
    bool has_host;
    uint32_t host;
    int64_t since; /**< Unix seconds; entries stored earlier aren't selected. */
} afc__cache_store_filter;

/** Number of `key_removals`. Keys share them: the hash of a key selects one. */
enum { AFC__CACHE_STORE_REMOVALS = 1024 };

struct afc_http_cache {
    atomic_uint references;
    unsigned generation;      /**< afc__process_generation(): a forked child sees an empty cache. */
    uint64_t key_seed[2];     /**< Seed of the hashes of keys, hosts and variants. */
    uint64_t content_seed[2]; /**< Seed of the numbers of bodies. */
    atomic_uint_fast64_t content_count;
    atomic_uint_fast32_t order; /**< Number of the last head that was received to be stored. */
    atomic_uint_fast64_t events[AFC__HTTP_CACHE_EVENTS];
    /**
     * Numbers of removals: from a key, and of many entries at once. Raised under the lock. A response that was
     * requested before a removal isn't stored; see afc__http_cache_mark.
     */
    atomic_uint key_removals[AFC__CACHE_STORE_REMOVALS], removals;
    afc_lru *memory; /**< Sets of responses (afc__response_set), by the hash of their key. */
    afc__disk *disk; /**< NULL if the cache is in memory only. */
    /**
     * Recursive: `memory` reports an eviction (afc__cache_store_on_evict()) while this thread adds to it under the
     * lock.
     */
    pthread_mutex_t lock;
    /* Under the lock. */
    afc__entry_table table;
    uint64_t clock; /**< Stamp of the latest use. */
    /** Removals of many entries that are under way; they release the lock between their slices. */
    unsigned removing;
    uint64_t memory_bytes, max_entry_bytes;
};

/** Returns whether this process has opened the cache. False in a forked child. */
bool afc__cache_store_is_usable(const afc_http_cache *cache);

/** Hashes a host; upper and lower case have the same hash. */
uint32_t afc__cache_store_hash_host(const afc_http_cache *cache, afc_slice host);

/** Returns whether a filter selects this entry. */
bool afc__cache_store_matches(const afc__entry_record *record,
                              const afc__cache_store_filter *filter);

/** Returns the hash of a variant: that of the hash of its key and the selecting fields in its encoded meta. */
uint64_t afc__cache_store_hash_variant(const afc_http_cache *cache, uint64_t primary,
                                       afc_slice block);

/**
 * Returns whether a response that was read from a file has these hashes. It doesn't after the folder's key was lost:
 * hashes depend on it.
 */
bool afc__cache_store_is_at_home(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                                 uint64_t primary, uint64_t variant);

/** Do the same as afc__http_cache_take_mark() and afc__http_cache_is_current(), for the hash of a key. */
afc__http_cache_mark afc__cache_store_take_mark(afc_http_cache *cache, uint64_t primary);
bool afc__cache_store_is_current(afc_http_cache *cache, uint64_t primary,
                                 afc__http_cache_mark mark);

/** Returns the number of a head that has just been received. Never 0; the numbers wrap around. */
uint32_t afc__cache_store_new_order(afc_http_cache *cache);

/** Returns the Date of a response in the form of `date_s` of a record. */
uint32_t afc__cache_store_date(const afc__http_cache_stored *stored);

/**
 * Returns whether a response, requested at the mark, is older than the stored one of its variant: that one was received
 * since the mark, and has a later Date or, with the same Date, was received later (RFC 9111 4.1). Under the lock.
 */
bool afc__cache_store_is_older(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                               afc__http_cache_mark mark);

/**
 * Returns whether more than this part is stored as its variant, such as the whole. `seen` is how many bytes a lookup
 * found there before the part was requested, 0 if nothing: for what is on disk only, the table doesn't know. Under the
 * lock.
 */
bool afc__cache_store_has_more(afc_http_cache *cache, const afc__http_cache_stored *part,
                               afc__http_cache_mark mark, uint64_t seen);

/** Counts a removal from a key, so that responses requested before it aren't stored. Under the lock. */
void afc__cache_store_count_removal(afc_http_cache *cache, uint64_t primary);

/** Returns a random number for a new body. */
uint64_t afc__cache_store_new_content(afc_http_cache *cache);

/* ---- The table and the memory, under the lock -------------------------------------------------- */

/**
 * Returns the variants of a key that are in memory, which are then all that are stored; NULL if the key isn't in
 * memory. The caller owns the reference.
 */
afc__response_set *afc__cache_store_copy_set(afc_http_cache *cache, uint64_t primary);

/** Puts all variants of a key into memory. If there are none, or that fails, the key has none in memory afterwards. */
void afc__cache_store_set_variants(afc_http_cache *cache, uint64_t primary,
                                   const afc__http_cache_found *found);

/** Removes all variants of a key from memory. */
void afc__cache_store_leave_memory(afc_http_cache *cache, uint64_t primary);

/** Records that an entry is no longer on disk. */
void afc__cache_store_leave_disk(afc_http_cache *cache, uint64_t primary, uint64_t variant);

/** Removes an entry from table and memory. */
void afc__cache_store_forget(afc_http_cache *cache, uint64_t primary, uint64_t variant);

/** Called when `memory` has evicted a set: updates the table. */
void afc__cache_store_on_evict(void *context, afc_slice key, void *value, afc_lru_reason reason);

/** Evicts from memory what exceeds its capacity. */
void afc__cache_store_trim(afc_http_cache *cache);

/* ---- Shared by the store's files ---------------------------------------------------------------- */

/**
 * Adds a response, or replaces its variant; doesn't take the caller's reference. Returns false if there is no room for
 * it: then nothing of its variant is stored.
 */
bool afc__cache_store_put(afc_http_cache *cache, afc__http_cache_stored *stored);

/**
 * Adds the record of a response to the table, or replaces that of its variant; evicts another variant if the key has
 * too many. Returns false if out of memory. Under the lock.
 */
bool afc__cache_store_put_record(afc_http_cache *cache, const afc__http_cache_stored *stored);

/** Removes entries from table, memory and disk. Under the lock. */
void afc__cache_store_remove(afc_http_cache *cache, const afc__cache_store_name *names,
                             size_t count);

#endif
