/** What a change of the folder records in the journal, under the journal's lock. On the disk's thread. */
#ifndef AFC_HTTP_CACHE_DISK_DISK_RECORDS_H
#define AFC_HTTP_CACHE_DISK_DISK_RECORDS_H

#include "http_cache/disk/disk_state.h"

/** Records that are written together. */
enum { AFC__DISK_RECORDS = 64 };

typedef struct afc__disk_records {
    afc__disk *disk;
    /** If not, nothing is written: what other processes have appended since wasn't read, and must not be skipped. */
    bool is_locked;
    bool has_lost; /**< Something that was noted couldn't be written. */
    size_t count;
    afc__journal_record records[AFC__DISK_RECORDS];
} afc__disk_records;

/** Begins a change of which nothing is written. */
void afc__disk_records_init(afc__disk_records *records, afc__disk *disk);

/** Locks the journal. false: that isn't possible; a removal may go on, since the files say what is there. */
bool afc__disk_records_begin(afc__disk_records *records, afc__disk *disk);

/** Takes note of a record. */
void afc__disk_records_add(afc__disk_records *records, const afc__journal_record *record);

/** Takes note of the removal of an entry. */
void afc__disk_records_add_removal(afc__disk_records *records, afc__cache_store_name name);

/** Writes what was noted, all of it or nothing. Returns whether it did. */
bool afc__disk_records_write(afc__disk_records *records);

/**
 * Writes what was noted, makes the journal shorter when that pays, and unlocks it. Returns whether all that was noted
 * since the beginning is written.
 */
bool afc__disk_records_end(afc__disk_records *records);

#endif
