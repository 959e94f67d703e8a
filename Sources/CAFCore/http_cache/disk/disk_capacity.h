/**
 * Decides which entries are evicted from disk, and when. On the disk's thread.
 *
 * A put evicts what it needs. If the capacity becomes smaller, a job evicts the excess in slices; between these, other
 * jobs run and other processes can lock the journal.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_CAPACITY_H
#define AFC_HTTP_CACHE_DISK_DISK_CAPACITY_H

#include "http_cache/disk/disk_records.h"

/** Returns the size of a file in AFC__ENTRY_UNIT. */
static inline uint32_t afc__disk_units(uint64_t bytes) {
    return (uint32_t)((bytes + AFC__ENTRY_UNIT - 1) / AFC__ENTRY_UNIT);
}

/**
 * Returns whether a file of `units` is worth overwriting with one of `needed`: it is large enough, and not much larger.
 */
static inline bool afc__disk_is_like(uint32_t units, uint32_t needed) {
    return units >= needed && units <= 2 * needed + 16;
}

/** Records that an entry's file is gone, in `records` and in the table. */
void afc__disk_add_gone(afc__disk_records *records, afc__cache_store_name name);

/**
 * Evicts entries until there is room for `needed` units. If `file` isn't NULL and `*file` is negative, an evicted file
 * of similar size is moved to new/ under `number`, and `*file` becomes its descriptor. Returns false if there can't be
 * enough room.
 */
bool afc__disk_make_room(afc__disk_records *records, uint64_t needed, uint64_t number, int *file);

/**
 * Changes the capacity to so many bytes, and orders the eviction of what exceeds it. Any thread, under the cache's
 * lock.
 */
void afc__disk_set_capacity(afc__disk *disk, uint64_t bytes);

#endif
