/**
 * A hash table with text keys. Entries are members of their owners and buckets are the caller's memory, so that
 * nothing here can fail.
 */
#ifndef AF_BASE_TEXT_TABLE_H
#define AF_BASE_TEXT_TABLE_H

#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct af__text_entry {
    struct af__text_entry *next;
    uint64_t hash;
    af_slice key; /**< Must not change while the entry is in a table. */
} af__text_entry;

typedef struct af__text_table {
    af__text_entry **buckets;
    size_t mask;
    af__hash_seed seed; /**< Peers choose the keys; they must not be able to choose the bucket. */
} af__text_table;

/** Initialises a table of `count` buckets, a power of two, all NULL. false: the system has no random bytes. */
bool af__text_table_init(af__text_table *table, af__text_entry **buckets, size_t count);

/** Returns the entry with this key, or NULL. */
af__text_entry *af__text_table_find(const af__text_table *table, af_slice key);

/** Adds an entry. Its key must not be in the table. */
void af__text_table_add(af__text_table *table, af__text_entry *entry);

/** Removes an entry, which must be in the table. */
void af__text_table_remove(af__text_table *table, af__text_entry *entry);

/**
 * For emptying a table: returns an entry of bucket `*place` or a later one, which is stored in `*place`; NULL at
 * the end. Start with 0. Remove the entry before the next call.
 */
af__text_entry *af__text_table_drain(const af__text_table *table, size_t *place);

#endif
