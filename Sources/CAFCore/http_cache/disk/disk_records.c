#include "http_cache/disk/disk_records.h"

#include "http_cache/disk/disk_scan.h"

/* A journal is rewritten if it has more records than this, and more than twice as many as there are entries. */
enum { SHORT_JOURNAL = 4096 };

void afc__disk_records_init(afc__disk_records *records, afc__disk *disk) {
    records->disk = disk;
    records->is_locked = records->has_lost = false;
    records->count = 0;
}

bool afc__disk_records_begin(afc__disk_records *records, afc__disk *disk) {
    afc__disk_records_init(records, disk);
    records->is_locked = afc__disk_lock_journal(disk);
    return records->is_locked;
}

bool afc__disk_records_write(afc__disk_records *records) {
    bool is_written = records->is_locked && afc__journal_append(&records->disk->journal,
                                                                records->records, records->count);
    if (!is_written && records->count != 0) records->has_lost = true;
    records->count = 0;
    return is_written;
}

void afc__disk_records_add(afc__disk_records *records, const afc__journal_record *record) {
    if (records->count == AFC__DISK_RECORDS) (void)afc__disk_records_write(records);
    records->records[records->count++] = *record;
}

void afc__disk_records_add_removal(afc__disk_records *records, afc__cache_store_name name) {
    afc__journal_record record = {
        .kind = AFC__JOURNAL_REMOVE, .primary = name.primary, .variant = name.variant};
    afc__disk_records_add(records, &record);
}

static void limit_journal(afc__disk *disk) {
    /*
     * During a removal in slices, files are left whose entries aren't in the table any more. The journal must still
     * name them, in case this process is killed.
     */
    if (!afc__list_is_empty(&disk->removals)) return;
    uint64_t records = afc__journal_count(&disk->journal);
    afc__disk_lock(disk);
    uint64_t entries = disk->cache->table.count;
    afc__disk_unlock(disk);
    if (records > SHORT_JOURNAL && records > 2 * entries) afc__disk_rewrite_journal(disk);
}

bool afc__disk_records_end(afc__disk_records *records) {
    afc__disk *disk = records->disk;
    (void)afc__disk_records_write(records);
    if (!records->is_locked) return !records->has_lost;
    limit_journal(disk);
    afc__journal_unlock(&disk->journal);
    records->is_locked = false;
    if (disk->journal.needs_scan) afc__disk_begin_scan(disk);
    return !records->has_lost;
}
