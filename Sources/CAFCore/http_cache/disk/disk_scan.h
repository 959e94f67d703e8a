/**
 * Compares the folder with the table. Needed if the journal may lack entries, because it was damaged or the machine
 * restarted.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_SCAN_H
#define AFC_HTTP_CACHE_DISK_DISK_SCAN_H

#include "http_cache/disk/disk_state.h"

/** Orders a scan unless one is under way. It works in slices, between which other jobs run. */
void afc__disk_begin_scan(afc__disk *disk);

/**
 * Makes a scan that is under way ignore the entries of a key, or all entries if `primary` is NULL. Under the cache's
 * lock.
 */
void afc__disk_scan_without(afc__disk *disk, const uint64_t *primary);

#endif
