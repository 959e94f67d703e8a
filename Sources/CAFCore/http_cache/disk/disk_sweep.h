/**
 * Removes files that the table may lack, by their names alone: because the folder is being scanned, or because the
 * journal that would name them can't be read. Rare, and so in one go.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_SWEEP_H
#define AFC_HTTP_CACHE_DISK_DISK_SWEEP_H

#include "http_cache/disk/disk_state.h"

/** Removes the files of a key or, if `primary` is NULL, all those that the table doesn't name. Any thread. */
void afc__disk_sweep(afc__disk *disk, const uint64_t *primary);

#endif
