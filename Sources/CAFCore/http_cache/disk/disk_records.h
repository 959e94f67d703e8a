/** The records that a change of the folder writes to the journal, under the journal's lock. On the disk's thread. */
#ifndef AFC_HTTP_CACHE_DISK_DISK_RECORDS_H
#define AFC_HTTP_CACHE_DISK_DISK_RECORDS_H

#include "http_cache/disk/disk_state.h"

/** Maximum number of records that are written at once. */
enum { AFC__DISK_RECORDS = 64 };

typedef struct afc__disk_records {
    afc__disk *disk;
    /** If false, nothing is written: what other processes have appended since wasn't read, and must not be skipped. */
    bool is_locked;
    bool has_lost; /**< A record couldn't be written. */
    size_t count;
    afc__journal_record records[AFC__DISK_RECORDS];
} afc__disk_records;

/** Begins a change without the journal's lock: nothing of it will be written. */
void afc__disk_records_init(afc__disk_records *records, afc__disk *disk);

/**
 * Begins a change, and locks the journal. Returns false if that fails; a removal may continue nevertheless, as the
 * files decide what is stored.
 */
bool afc__disk_records_begin(afc__disk_records *records, afc__disk *disk);

/** Adds a record, and first writes the others if there is no room for it. */
void afc__disk_records_add(afc__disk_records *records, const afc__journal_record *record);

/** Adds a record of the removal of an entry. */
void afc__disk_records_add_removal(afc__disk_records *records, afc__cache_store_name name);

/** Writes the added records, all or none. Returns whether it did. */
bool afc__disk_records_write(afc__disk_records *records);

/**
 * Writes the added records, rewrites the journal if that makes it much shorter, and unlocks it. Returns whether all
 * records since the beginning were written.
 */
bool afc__disk_records_end(afc__disk_records *records);

#endif
