#include "http_cache/disk/disk_state.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "http_cache/disk/entry_file.h"
#include "http_cache/memory/key.h"
#include "run/waiter.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Jobs ----------------------------------------------------------------------------------- */

static bool run(afc__job *job) {
    afc__disk_job *own = AFC__OWNER(job, afc__disk_job, job);
    return own->work(own);
}

bool afc__disk_order(afc__disk *disk, afc__disk_job *job, bool (*work)(afc__disk_job *job)) {
    job->job = (afc__job){.run = run};
    job->disk = disk;
    job->work = work;
    afc__disk_lock(disk);
    if (disk->writer == NULL) {
        disk->writer = afc__writer_new(disk->ended, disk->cache);
    }
    bool has_writer = disk->writer != NULL;
    if (has_writer) afc__writer_take(disk->writer, &job->job);
    afc__disk_unlock(disk);
    return has_writer;
}

bool afc__disk_has_room(const afc__disk *disk, uint64_t size) {
    return disk->queued_bytes + size <= AFC__DISK_QUEUED_MAX;
}

typedef struct pause_job {
    afc__disk_job job;
    afc__waiter waiter;
} pause_job;

static bool work_pause(afc__disk_job *work) {
    afc__waiter_wake(&AFC__OWNER(work, pause_job, job)->waiter);
    return false;
}

bool afc__disk_wait(afc__disk *disk) {
    pause_job job = {.waiter = AFC__WAITER_INIT};
    bool is_ordered = afc__disk_order(disk, &job.job, work_pause);
    if (is_ordered) afc__waiter_wait(&job.waiter);
    return is_ordered;
}

bool afc__disk_has_long_work(afc__disk *disk) {
    afc__disk_lock(disk);
    bool is_trimming = disk->is_trimming;
    afc__disk_unlock(disk);
    return is_trimming || atomic_load(&disk->is_scanning) || !afc__list_is_empty(&disk->removals);
}

void afc__disk_begin_change(afc__disk *disk, uint64_t primary) {
    disk->pending[afc__disk_bucket(primary)]++;
    disk->changes[afc__disk_bucket(primary)]++;
}

void afc__disk_end_change(afc__disk *disk, uint64_t primary) {
    disk->pending[afc__disk_bucket(primary)]--;
}

void afc__disk_end_announcement(afc__disk *disk, const afc__http_cache_stored *stored) {
    const afc__http_cache_id *id = &stored->id;
    afc__entry_record *record = afc__entry_table_find(&disk->cache->table, id->primary,
                                                      id->variant);
    if (record == NULL || record->order != stored->order) return;
    record->places &= ~(uint32_t)AFC__ENTRY_ANNOUNCED;
    if (record->units == 0) afc__cache_store_leave_disk(disk->cache, id->primary, id->variant);
}

void afc__disk_lose_file(afc__disk *disk, uint64_t primary, uint64_t variant) {
    afc__entry_table *table = &disk->cache->table;
    afc__entry_record *record = afc__entry_table_find(table, primary, variant);
    if (record != NULL && (record->places & AFC__ENTRY_ANNOUNCED) != 0) {
        afc__entry_table_set_units(table, record, 0);
    } else {
        afc__cache_store_leave_disk(disk->cache, primary, variant);
    }
}

bool afc__disk_is_ahead(afc__disk *disk, uint64_t primary) {
    return disk->pending[afc__disk_bucket(primary)] != 0 ||
           afc__journal_has_changed(&disk->journal);
}

bool afc__disk_has_content(afc__disk *disk, afc__cache_store_name name, uint64_t content) {
    afc__entry_head head;
    int file = afc__folder_open_entry(&disk->folder, name.primary, name.variant, AFC__FOLDER_READ);
    /* Without descriptors the answer is unknown: removing another body costs less than keeping this one. */
    if (file < 0) return afc__is_shortage(errno);
    bool has = afc__entry_read_head(file, &head) && head.content == content;
    close(file);
    return has;
}

/* ---- The journal ----------------------------------------------------------------------------- */

bool afc__disk_lock_journal(afc__disk *disk) {
    disk->has_new_folder = false;
    if (!afc__journal_is_in_place(&disk->journal)) {
        /* The rest of the folder may have been removed with the journal. */
        disk->has_new_folder = !afc__folder_is_in_place(&disk->folder);
        if (!afc__folder_restore(&disk->folder)) {
            /* The files belong to other processes, which can't name a removed one in a way that is understood here. */
            disk->journal.reader.restart(disk);
            disk->journal.reader.lack_changes(disk);
            return false;
        }
    }
    return afc__journal_lock(&disk->journal);
}

/* ---- Records -------------------------------------------------------------------------------- */

afc__journal_record afc__disk_put_record(afc__disk *disk, afc__cache_store_name name,
                                         const afc__http_cache_stored *stored, uint32_t units,
                                         uint32_t stored_s) {
    return (afc__journal_record){
        .kind = AFC__JOURNAL_PUT,
        .primary = name.primary,
        .variant = name.variant,
        .units = units,
        .stored_s = stored_s,
        .host = afc__cache_store_hash_host(disk->cache, afc__http_cache_key_host(stored->key)),
    };
}

/* ---- The table ------------------------------------------------------------------------------ */

void afc__disk_apply(afc__disk *disk, const afc__journal_record *record) {
    afc_http_cache *cache = disk->cache;
    afc__entry_record *known = afc__entry_table_find(&cache->table, record->primary,
                                                     record->variant);
    if (record->kind == AFC__JOURNAL_USE) {
        if (known != NULL) known->used = ++cache->clock;
    } else if (record->kind == AFC__JOURNAL_CHANGE || record->kind == AFC__JOURNAL_CHANGE_ALL) {
        /* Nothing to do: the removed entries have records of their own. */
    } else if (record->kind == AFC__JOURNAL_REMOVE) {
        afc__disk_lose_file(disk, record->primary, record->variant);
    } else {
        afc__entry_record put = {.primary = record->primary,
                                 .variant = record->variant,
                                 .used = ++cache->clock,
                                 .units = record->units,
                                 .stored_s = record->stored_s,
                                 .host = record->host,
                                 .places = AFC__ENTRY_ON_DISK};
        if (known != NULL) {
            put.places |= known->places;
            put.order = known->order;
            put.date_s = known->date_s;
        }
        /* Without memory the table lacks this file, and so would a journal that is written from the table. */
        if (!afc__entry_table_put(&cache->table, &put)) afc__journal_lack(&disk->journal);
    }
}

static int compare_use(const void *a, const void *b) {
    uint64_t first = ((const afc__entry_record *)a)->used;
    uint64_t second = ((const afc__entry_record *)b)->used;
    return first < second ? -1 : first > second;
}

afc__entry_record *afc__disk_copy_entries(afc__disk *disk, size_t *count) {
    const afc__entry_table *table = &disk->cache->table;
    *count = 0;
    afc__disk_lock(disk);
    afc__entry_record *copies = afc__alloc(table->count * sizeof *copies);
    for (size_t i = 0; copies != NULL && i < table->capacity; i++) {
        if (table->slots[i].places & AFC__ENTRY_ON_DISK) copies[(*count)++] = table->slots[i];
    }
    afc__disk_unlock(disk);
    if (copies != NULL) qsort(copies, *count, sizeof *copies, compare_use);
    return copies;
}

bool afc__disk_rewrite_journal(afc__disk *disk) {
    size_t count;
    bool is_written = false;
    afc__entry_record *entries = afc__disk_copy_entries(disk, &count);
    afc__journal_record *records = afc__alloc(count * sizeof *records);
    if (records != NULL && entries != NULL) {
        for (size_t i = 0; i < count; i++) {
            records[i] = (afc__journal_record){.kind = AFC__JOURNAL_PUT,
                                               .primary = entries[i].primary,
                                               .variant = entries[i].variant,
                                               .units = entries[i].units,
                                               .stored_s = entries[i].stored_s,
                                               .host = entries[i].host};
        }
        is_written = afc__journal_replace(&disk->journal, records, count);
    }
    afc_free(entries);
    afc_free(records);
    return is_written;
}
