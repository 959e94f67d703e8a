/**
 * Removing entries from the disk, in slices: after each, other processes have the journal and other jobs their turn.
 * For these, all of it has happened when it was ordered: a job that deals with a key does first what is left to do for
 * it.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_REMOVAL_H
#define AFC_HTTP_CACHE_DISK_DISK_REMOVAL_H

#include "http_cache/disk/disk_state.h"

/* ---- Under the cache's lock ------------------------------------------------------------------- */

/** Removes entries. `content`: only if their body has this number; 0: in any case. */
void afc__disk_remove(afc__disk *disk, const afc__cache_store_name *names, size_t count,
                      uint64_t content);

/** A removal of entries that are named little by little. */
typedef struct afc__disk_removal afc__disk_removal;

/** Begins one of at most `most` entries. NULL: out of memory. */
afc__disk_removal *afc__disk_removal_new(afc__disk *disk, size_t most);

/** Names an entry, which the caller has removed from table and memory. */
void afc__disk_removal_add(afc__disk_removal *removal, afc__cache_store_name name);

/** Orders the removal, and takes it. */
void afc__disk_removal_order(afc__disk_removal *removal);

/** Removes what matches and isn't in the table yet: another process stored it, or the folder is being scanned. */
void afc__disk_remove_unknown(afc__disk *disk, const afc__cache_store_filter *filter);

/**
 * Records that all of a key was removed, for other processes that have requested it before. Call it after the removals:
 * who reads the record finds no file of before.
 */
void afc__disk_record_change(afc__disk *disk, uint64_t primary);

/* ---- On the disk's thread --------------------------------------------------------------------- */

/** Does what removals under way have left to do for a key. */
void afc__disk_settle(afc__disk *disk, uint64_t primary);

/** Removes one entry now. */
void afc__disk_remove_now(afc__disk *disk, afc__cache_store_name name);

#endif
