/**
 * The internals of the store, for its own files.
 *
 * One table says what is stored, one LRU cache holds the responses that are in memory. The table always knows what the
 * memory has. Both change under the lock, on the caller's thread, so that every later call sees it.
 */
#ifndef AFC_HTTP_CACHE_MEMORY_STORE_INTERNAL_H
#define AFC_HTTP_CACHE_MEMORY_STORE_INTERNAL_H

#include "http_cache/memory/entry_table.h"
#include "http_cache/memory/response_set.h"

#include <afcore/lru.h>
#include <pthread.h>

typedef struct afc__disk afc__disk;

/** The name of an entry. */
typedef struct afc__cache_store_name {
    uint64_t primary, variant;
} afc__cache_store_name;

/** Selects entries. */
typedef struct afc__cache_store_filter {
    bool has_primary, has_host;
    uint64_t primary;
    uint32_t host;
    int64_t since; /**< Stored then, in Unix seconds, or later. */
} afc__cache_store_filter;

/** Counters of removals; keys share them. */
enum { AFC__CACHE_STORE_REMOVALS = 1024 };

struct afc_http_cache {
    atomic_uint references;
    unsigned generation;      /**< afc__process_generation(): a forked child sees an empty cache. */
    uint64_t key_seed[2];     /**< For the hashes of keys. */
    uint64_t content_seed[2]; /**< For the numbers of bodies. */
    atomic_uint_fast64_t content_count;
    atomic_uint_fast32_t order; /**< Number of the last head that was received to be stored. */
    atomic_uint_fast64_t events[AFC__HTTP_CACHE_EVENTS];
    /**
     * How often something was removed: of a key, and of many. Raised under the lock; what is requested later may be
     * stored.
     */
    atomic_uint key_removals[AFC__CACHE_STORE_REMOVALS], removals;
    afc_lru *memory; /**< Response sets, by the hash of their key. */
    afc__disk *disk; /**< NULL: memory only. */
    /** Recursive: the memory reports evictions to this store while this store adds to it. */
    pthread_mutex_t lock;
    /* Under the lock. */
    afc__entry_table table;
    uint64_t clock; /**< The last stamp. */
    unsigned
        removing; /**< Removals of many entries that have begun and not ended; they leave the lock in between. */
    uint64_t memory_bytes, max_entry_bytes;
};

/** Returns whether the cache belongs to this process. */
bool afc__cache_store_is_usable(const afc_http_cache *cache);

/** Hashes a host, in any case. */
uint32_t afc__cache_store_hash_host(const afc_http_cache *cache, afc_slice host);

bool afc__cache_store_matches(const afc__entry_record *record,
                              const afc__cache_store_filter *filter);

/** Returns the hash of a variant: of the hash of its key, and the selecting fields of its meta. */
uint64_t afc__cache_store_hash_variant(const afc_http_cache *cache, uint64_t primary,
                                       afc_slice block);

/** Returns whether a response is where its key belongs. It isn't after the folder's key was lost. */
bool afc__cache_store_is_at_home(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                                 uint64_t primary, uint64_t variant);

/** afc__http_cache_take_mark() and afc__http_cache_is_current(), by the hash of the key. */
afc__http_cache_mark afc__cache_store_take_mark(afc_http_cache *cache, uint64_t primary);
bool afc__cache_store_is_current(afc_http_cache *cache, uint64_t primary,
                                 afc__http_cache_mark mark);

/** Returns the number of a head that has just been received; never 0. */
uint32_t afc__cache_store_new_order(afc_http_cache *cache);

/** Returns when the server made a response, as records have it. */
uint32_t afc__cache_store_date(const afc__http_cache_stored *stored);

/**
 * Returns whether a response whose request was sent at the mark is older than that which is stored under its name: that
 * one was received meanwhile, and the server made it later (RFC 9111 4.1). Under the lock.
 */
bool afc__cache_store_is_older(const afc_http_cache *cache, const afc__http_cache_stored *stored,
                               afc__http_cache_mark mark);

/**
 * Returns whether something longer than a part is stored under its name, such as the whole. `seen` is how much of it
 * was there when the part was requested, as the table doesn't know that of what is on disk only; 0: nothing. Under the
 * lock.
 */
bool afc__cache_store_has_more(afc_http_cache *cache, const afc__http_cache_stored *part,
                               afc__http_cache_mark mark, uint64_t seen);

/** Takes note of a removal of a key: what was requested before isn't stored. Under the lock. */
void afc__cache_store_count_removal(afc_http_cache *cache, uint64_t primary);

/** Returns a new number for a body. */
uint64_t afc__cache_store_new_content(afc_http_cache *cache);

/* ---- The table and the memory, under the lock -------------------------------------------------- */

/** Returns the variants of a key that are in memory: all that are stored, or NULL. The reference is the caller's. */
afc__response_set *afc__cache_store_copy_set(afc_http_cache *cache, uint64_t primary);

/** Puts all variants of a key into memory; without any, or if that fails, none is there. */
void afc__cache_store_set_variants(afc_http_cache *cache, uint64_t primary,
                                   const afc__http_cache_found *found);

/** Removes all variants of a key from memory. */
void afc__cache_store_leave_memory(afc_http_cache *cache, uint64_t primary);

/** Records that an entry is no longer on disk. */
void afc__cache_store_leave_disk(afc_http_cache *cache, uint64_t primary, uint64_t variant);

/** Removes an entry from table and memory. */
void afc__cache_store_forget(afc_http_cache *cache, uint64_t primary, uint64_t variant);

/** Reacts to a set that the memory has evicted. */
void afc__cache_store_on_evict(void *context, afc_slice key, void *value, afc_lru_reason reason);

/** Evicts from memory what exceeds its capacity. */
void afc__cache_store_trim(afc_http_cache *cache);

/* ---- The store's parts for each other ----------------------------------------------------------- */

/**
 * Adds a response, or replaces its variant. Doesn't take the reference. false: there is no place for it, and it isn't
 * recorded.
 */
bool afc__cache_store_put(afc_http_cache *cache, afc__http_cache_stored *stored);

/** Records a response whose body was written to disk. Under the lock. */
bool afc__cache_store_put_record(afc_http_cache *cache, const afc__http_cache_stored *stored);

/** Removes entries everywhere. Under the lock. */
void afc__cache_store_remove(afc_http_cache *cache, const afc__cache_store_name *names,
                             size_t count);

#endif
