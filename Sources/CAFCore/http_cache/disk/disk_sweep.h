/**
 * Removes files that the table may lack, by their names alone: because the folder is being scanned, or because the
 * journal that would name them can't be read. Rare, and so in one go.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_SWEEP_H
#define AFC_HTTP_CACHE_DISK_DISK_SWEEP_H

#include "http_cache/disk/disk_state.h"

/** Removes the files of a key. Any thread. */
void afc__disk_sweep_key(afc__disk *disk, uint64_t primary);

/** Removes the files that match, or aren't named by the table: then it is unknown whether they do. Any thread. */
void afc__disk_sweep(afc__disk *disk, const afc__cache_store_filter *filter);

#endif
