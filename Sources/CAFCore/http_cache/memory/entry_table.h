/**
 * What is stored, without heads and bodies: one small record for each entry, found by the hash of its key. Pure
 * functions.
 *
 * A hash table with open addressing and linear probing. All variants of a key start at the same slot, so that a search
 * finds them together.
 */
#ifndef AFC_HTTP_CACHE_MEMORY_ENTRY_TABLE_H
#define AFC_HTTP_CACHE_MEMORY_ENTRY_TABLE_H

#include <afcore/base.h>

/** Where an entry is, as bits. */
enum {
    AFC__ENTRY_IN_MEMORY = 1u << 0,
    AFC__ENTRY_ON_DISK = 1u << 1,
    /**
     * Set together with ON_DISK while a change of the entry waits to be written. Until then, removals must find the
     * entry, whether it has a file or not.
     */
    AFC__ENTRY_ANNOUNCED = 1u << 2
};

enum { AFC__ENTRY_UNIT = 512 /**< Sizes of files are rounded up to this. */ };

typedef struct afc__entry_record {
    uint64_t primary, variant;
    uint64_t used;     /**< Stamp of the last use; greater is later. */
    uint32_t units;    /**< Size of its file, in AFC__ENTRY_UNIT. */
    uint32_t stored_s; /**< When it was stored, in Unix seconds. */
    uint32_t host;     /**< Hash of the host. */
    uint32_t places;   /**< AFC__ENTRY_… bits; 0 if the slot is free. */
    /* About the last response that this process stored here; `order` is 0 if there was none. */
    /** The number of its head: greater is later, unless the numbers have wrapped around. */
    uint32_t order;
    uint32_t date_s; /**< Its Date in Unix seconds, at most UINT32_MAX. */
} afc__entry_record;

/** A zeroed table is empty. */
typedef struct afc__entry_table {
    afc__entry_record *slots;
    size_t capacity; /**< 0 or a power of two. */
    size_t count;
    uint64_t units; /**< Sum of `units` of all records. */
} afc__entry_table;

/** Removes all records and frees the memory. */
void afc__entry_table_clear(afc__entry_table *table);

/**
 * Returns the record with these hashes, or NULL. It stays valid until the next put or removal. The caller may change
 * it, except for its hashes and units.
 */
afc__entry_record *afc__entry_table_find(const afc__entry_table *table, uint64_t primary,
                                         uint64_t variant);

/** Copies up to `most` records of a key to `out`; returns their number. */
size_t afc__entry_table_variants(const afc__entry_table *table, uint64_t primary,
                                 afc__entry_record *out, size_t most);

/** Changes the size of a record's file. */
void afc__entry_table_set_units(afc__entry_table *table, afc__entry_record *record, uint32_t units);

/** Adds a record, or replaces the one with its hashes. Returns false if out of memory. */
bool afc__entry_table_put(afc__entry_table *table, const afc__entry_record *record);

/**
 * Removes a record of the table. Another record may move to its slot: a scan in ascending order must look at this slot
 * again.
 */
void afc__entry_table_remove(afc__entry_table *table, afc__entry_record *record);

#endif
