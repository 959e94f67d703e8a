/**
 * Removes entries from the disk in slices; between these, other processes can lock the journal and other jobs run. To
 * other jobs a removal is complete from the moment when it was ordered: a job that deals with a key first calls
 * afc__disk_settle(), which does for this key what is left to do.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_REMOVAL_H
#define AFC_HTTP_CACHE_DISK_DISK_REMOVAL_H

#include "http_cache/disk/disk_state.h"

/* ---- Under the cache's lock ------------------------------------------------------------------- */

/** Orders a removal of entries. Unless `content` is 0, only those whose body has this number are removed. */
void afc__disk_remove(afc__disk *disk, const afc__cache_store_name *names, size_t count,
                      uint64_t content);

/** A removal whose entries are added one by one. */
typedef struct afc__disk_removal afc__disk_removal;

/** Makes a removal of at most `most` entries. Returns NULL if out of memory. */
afc__disk_removal *afc__disk_removal_new(afc__disk *disk, size_t most);

/** Adds an entry, which the caller has removed from table and memory. */
void afc__disk_removal_add(afc__disk_removal *removal, afc__cache_store_name name);

/** Orders the removal, and takes ownership of it. */
void afc__disk_removal_order(afc__disk_removal *removal);

/**
 * Orders the removal of matching entries that aren't in the table yet, because another process has stored them, or
 * because the folder is being scanned, and a journal record of that. If it is unknown which these are, all that aren't
 * in the table are removed.
 */
void afc__disk_remove_unknown(afc__disk *disk, const afc__cache_store_filter *filter);

/**
 * Orders the removal of all that others have stored of a key, and a journal record of that: other processes don't store
 * what they have requested before. Call it after the removals of what the table names, so that a process that reads the
 * record finds no older file.
 */
void afc__disk_record_change(afc__disk *disk, uint64_t primary);

/* ---- On the disk's thread --------------------------------------------------------------------- */

/** Does what removals under way have left to do for a key. */
void afc__disk_settle(afc__disk *disk, uint64_t primary);

/** Removes one entry now. */
void afc__disk_remove_now(afc__disk *disk, afc__cache_store_name name);

#endif
