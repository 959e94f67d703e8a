/**
 * The capacity of the disk: which entries are evicted, and when. On the disk's thread.
 *
 * A put makes room for itself. A capacity that becomes smaller is enforced by a job of its own, which leaves the
 * journal and the thread to others after each slice.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_CAPACITY_H
#define AFC_HTTP_CACHE_DISK_DISK_CAPACITY_H

#include "http_cache/disk/disk_records.h"

/** Returns the size of a file in AFC__ENTRY_UNIT. */
static inline uint32_t afc__disk_units(uint64_t bytes) {
    return (uint32_t)((bytes + AFC__ENTRY_UNIT - 1) / AFC__ENTRY_UNIT);
}

/** Returns whether a file of this size is worth overwriting with one of that size. */
static inline bool afc__disk_is_like(uint32_t units, uint32_t needed) {
    return units >= needed && units <= 2 * needed + 16;
}

/** Takes note that an entry's file is gone, in the records and in the table. */
void afc__disk_add_gone(afc__disk_records *records, afc__cache_store_name name);

/**
 * Evicts until there is room for `needed` units. `*file` becomes a file to be overwritten, with this number in new/, if
 * one of the evicted ones is suitable; NULL: none is wanted. false: room can't be made.
 */
bool afc__disk_make_room(afc__disk_records *records, uint64_t needed, uint64_t number, int *file);

/** Changes the capacity, and orders what follows from it. Any thread, under the cache's lock. */
void afc__disk_set_capacity(afc__disk *disk, uint64_t bytes);

#endif
