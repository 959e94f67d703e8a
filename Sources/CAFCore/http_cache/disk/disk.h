/**
 * The disk below the store. Changes are ordered on any thread, and the disk's own thread carries them out in the order
 * of the calls: so a read that is ordered after a change sees its result.
 *
 * The table says that an entry is on disk as soon as its writing was ordered. If the writing fails later, the entry is
 * removed.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_H
#define AFC_HTTP_CACHE_DISK_DISK_H

#include "http_cache/disk/disk_state.h"

/**
 * Opens the folder and reads its journal. Of `cache`, only the lock, the memory and the table have to be ready. `ended`
 * is called when the disk was closed; see afc__disk_close().
 */
afc_status afc__disk_open(afc_http_cache *cache, const char *path, uint64_t capacity_bytes,
                          void (*ended)(void *cache), afc_failure *failure);

/**
 * Ends the disk's thread once its jobs are done; the thread then calls `ended`. Without a thread, calls `ended` at
 * once.
 */
void afc__disk_close(afc__disk *disk);

/** Frees a disk that is closed, or one that a forked child has inherited. */
void afc__disk_free(afc__disk *disk);

/* ---- Changes, under the cache's lock ---------------------------------------------------------- */

/**
 * Orders the writing of a response whose body is in memory. Returns false if too many bytes wait, or without memory or
 * a thread.
 */
bool afc__disk_put(afc__disk *disk, afc__http_cache_stored *stored);

/** Orders another meta for an entry, and perhaps another variant. Returns whether it was ordered. */
bool afc__disk_change(afc__disk *disk, afc__http_cache_stored *stored, uint64_t old_variant);

/** Notes a use, which is written to the journal later. */
void afc__disk_use(afc__disk *disk, uint64_t primary, uint64_t variant);

/* ---- On the disk's thread --------------------------------------------------------------------- */

/** Reads what other processes have appended to the journal. */
void afc__disk_catch_up(afc__disk *disk);

/** Reads all variants of a key. */
void afc__disk_find(afc__disk *disk, uint64_t primary, afc_slice key, afc__http_cache_found *out);

/**
 * Records a response whose file is `number` in new/, makes room and gives the file its final name. On failure the file
 * is removed. Returns whether the response is stored: it isn't if another process has changed its key since the caller
 * took `others` from the disk.
 */
bool afc__disk_publish(afc__disk *disk, const afc__http_cache_stored *stored, uint64_t number,
                       uint32_t others);

/** Appends the noted uses to the journal, and rewrites the journal if it has become too long. */
void afc__disk_tidy(afc__disk *disk);

#endif
