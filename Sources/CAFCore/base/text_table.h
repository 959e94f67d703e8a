/**
 * A hash table with text keys. Entries are members of their owners and buckets are the caller's memory, so that
 * nothing here can fail.
 */
#ifndef AFC_BASE_TEXT_TABLE_H
#define AFC_BASE_TEXT_TABLE_H

#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct afc__text_entry {
    struct afc__text_entry *next;
    uint64_t hash;
    afc_slice key; /**< Must not change while the entry is in a table. */
} afc__text_entry;

typedef struct afc__text_table {
    afc__text_entry **buckets;
    size_t mask;
    afc__hash_seed seed; /**< Peers choose the keys; they must not be able to choose the bucket. */
} afc__text_table;

/**
 * Initialises a table of `count` buckets, a power of two, all NULL. Returns false if the system has no random bytes.
 */
bool afc__text_table_init(afc__text_table *table, afc__text_entry **buckets, size_t count);

/** Returns the entry with this key, or NULL. */
afc__text_entry *afc__text_table_find(const afc__text_table *table, afc_slice key);

/** Adds an entry. Its key must not be in the table. */
void afc__text_table_add(afc__text_table *table, afc__text_entry *entry);

/** Removes an entry, which must be in the table. */
void afc__text_table_remove(afc__text_table *table, afc__text_entry *entry);

/**
 * Returns an entry of bucket `*place` or of a later one, and stores its bucket in `*place`; NULL at the end. For
 * emptying a table: start with 0, and remove the entry before the next call.
 */
afc__text_entry *afc__text_table_drain(const afc__text_table *table, size_t *place);

#endif
