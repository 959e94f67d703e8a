/**
 * The disk under the store. Each function takes note of a change and lets the disk's own thread do the work, in the
 * order of the calls; so a read after a change sees its result.
 *
 * An entry is on disk for the table from the moment when its writing was ordered; whether that worked is found out when
 * the file is read.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_H
#define AFC_HTTP_CACHE_DISK_DISK_H

#include "http_cache/disk/disk_state.h"

/** Opens the folder and reads its journal. The cache needs nothing but its lock and table for that. */
afc_status afc__disk_open(afc_http_cache *cache, const char *path, uint64_t capacity_bytes,
                          void (*ended)(void *cache), afc_failure *failure);

/** Ends the disk's thread when its jobs are done, and then calls `ended`; at once without a thread. */
void afc__disk_close(afc__disk *disk);

/** Frees a disk that is closed, or one that a forked child has inherited. */
void afc__disk_free(afc__disk *disk);

/* ---- Changes, under the cache's lock ---------------------------------------------------------- */

/** Writes a response whose body is in memory. Returns whether it was ordered. */
bool afc__disk_put(afc__disk *disk, afc__http_cache_stored *stored);

/** Gives an entry another meta, and perhaps another variant. */
bool afc__disk_change(afc__disk *disk, afc__http_cache_stored *stored, uint64_t old_variant);

/** Takes note of a use. */
void afc__disk_use(afc__disk *disk, uint64_t primary, uint64_t variant);

/* ---- On the disk's thread --------------------------------------------------------------------- */

/** Reads what other processes have recorded. */
void afc__disk_catch_up(afc__disk *disk);

/** Reads all variants of a key. */
void afc__disk_find(afc__disk *disk, uint64_t primary, afc_slice key, afc__http_cache_found *out);

/**
 * Records a response whose file is `number` in new/, makes room and gives the file its name. On failure the file is
 * removed. Returns whether it is stored: not if another process has changed its key since `others` was taken
 * from the disk.
 */
bool afc__disk_publish(afc__disk *disk, const afc__http_cache_stored *stored, uint64_t number,
                       uint32_t others);

/** Appends the uses that were taken note of, and makes the journal shorter when it pays. */
void afc__disk_tidy(afc__disk *disk);

#endif
