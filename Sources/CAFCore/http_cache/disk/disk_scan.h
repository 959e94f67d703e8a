/** Compares the folder with the table, when the journal may lack entries: it was damaged, or the machine restarted. */
#ifndef AFC_HTTP_CACHE_DISK_DISK_SCAN_H
#define AFC_HTTP_CACHE_DISK_DISK_SCAN_H

#include "http_cache/disk/disk_state.h"

/** Orders the work, which leaves the disk's thread to other jobs now and then. */
void afc__disk_begin_scan(afc__disk *disk);

/** Makes a scan that is under way leave out entries of a key; NULL: all. Under the cache's lock. */
void afc__disk_scan_without(afc__disk *disk, const uint64_t *primary);

#endif
