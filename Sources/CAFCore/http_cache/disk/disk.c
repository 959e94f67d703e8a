#include "http_cache/disk/disk.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "http_cache/disk/disk_capacity.h"
#include "http_cache/disk/disk_removal.h"
#include "http_cache/disk/disk_scan.h"
#include "http_cache/disk/entry_file.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

/* ---- The journal ---------------------------------------------------------------------------- */

/** Forgets what is in memory. Under the cache's lock. */
static void forget_memory(afc_http_cache *cache) {
    afc__entry_table *table = &cache->table;
    /* A journal that is opened may have many records that call this. */
    if (afc_lru_get_cost(cache->memory) == 0) return;
    afc_lru_remove_all(cache->memory);
    for (size_t i = 0; i < table->capacity;) {
        afc__entry_record *record = &table->slots[i];
        if (record->places == AFC__ENTRY_IN_MEMORY) {
            /* The next iteration looks at this slot again, as the removal may move another record to it. */
            afc__entry_table_remove(table, record);
        } else {
            record->places &= ~(uint32_t)AFC__ENTRY_IN_MEMORY;
            i++;
        }
    }
}

/** Makes what was requested until now outdated, and what waits to be written. Under the cache's lock. */
static void outdate_all(afc__disk *disk) {
    atomic_fetch_add(&disk->cache->removals, 1);
    for (size_t i = 0; i < AFC__DISK_BUCKETS; i++) disk->others[i]++;
}

/** Called for each record that another process has appended, and for all of a journal that is read from its start. */
static void take_record(void *context, const afc__journal_record *record) {
    afc__disk *disk = context;
    afc__disk_lock(disk);
    if (record->kind == AFC__JOURNAL_CHANGE_ALL) {
        for (size_t i = 0; i < AFC__DISK_BUCKETS; i++) disk->changes[i]++;
        forget_memory(disk->cache);
        outdate_all(disk);
    } else if (record->kind != AFC__JOURNAL_USE) {
        /* What this process has in memory for that key is no longer current. */
        disk->changes[afc__disk_bucket(record->primary)]++;
        afc__cache_store_leave_memory(disk->cache, record->primary);
    }
    if (record->kind == AFC__JOURNAL_CHANGE) {
        disk->others[afc__disk_bucket(record->primary)]++;
        afc__cache_store_count_removal(disk->cache, record->primary);
    }
    afc__disk_apply(disk, record);
    afc__disk_unlock(disk);
}

/** Called before a journal is read from its start: forgets all entries but those that are about to be written. */
static void restart(void *context) {
    afc__disk *disk = context;
    afc__entry_table *table = &disk->cache->table;
    afc__disk_lock(disk);
    afc_lru_remove_all(disk->cache->memory);
    for (size_t i = 0; i < table->capacity;) {
        afc__entry_record *record = &table->slots[i];
        bool is_announced = (record->places & AFC__ENTRY_ANNOUNCED) != 0;
        if (record->places != 0 && !is_announced) {
            /* The next iteration looks at this slot again, as the removal may move another record to it. */
            afc__entry_table_remove(table, record);
            continue;
        }
        if (is_announced) {
            record->places = AFC__ENTRY_ON_DISK | AFC__ENTRY_ANNOUNCED;
            afc__entry_table_set_units(table, record, 0);
        }
        i++;
    }
    for (size_t i = 0; i < AFC__DISK_BUCKETS; i++) disk->changes[i]++;
    afc__disk_unlock(disk);
}

/**
 * Called if it is unknown which keys others have changed: nothing that was requested before may be stored. What was
 * stored since the restart is forgotten. What is about to be written is dropped, too, unless the folder was removed.
 */
static void lack_changes(void *context) {
    afc__disk *disk = context;
    afc__disk_lock(disk);
    forget_memory(disk->cache);
    if (disk->has_new_folder) {
        atomic_fetch_add(&disk->cache->removals, 1);
    } else {
        outdate_all(disk);
    }
    afc__disk_unlock(disk);
}

/** Takes the noted uses, which aren't recorded yet. Returns their number. */
static size_t take_uses(afc__disk *disk, afc__journal_record out[AFC__DISK_USES]) {
    afc__disk_lock(disk);
    size_t count = disk->use_count;
    for (size_t i = 0; i < count; i++) {
        out[i] = (afc__journal_record){.kind = AFC__JOURNAL_USE,
                                       .primary = disk->uses[i].primary,
                                       .variant = disk->uses[i].variant};
    }
    disk->use_count = 0;
    disk->is_tidy_ordered = false;
    afc__disk_unlock(disk);
    return count;
}

void afc__disk_tidy(afc__disk *disk) {
    afc__disk_records records;
    afc__journal_record uses[AFC__DISK_USES];
    size_t count = take_uses(disk, uses);
    if (count == 0 || !afc__disk_records_begin(&records, disk)) return;
    for (size_t i = 0; i < count; i++) afc__disk_records_add(&records, &uses[i]);
    (void)afc__disk_records_end(&records);
}

/* ---- Putting -------------------------------------------------------------------------------- */

/** Returns the journal's record of a response that is stored now, in a file of this size. */
static afc__journal_record put_of(afc__disk *disk, const afc__http_cache_stored *stored,
                                  uint32_t units) {
    afc__cache_store_name name = {stored->id.primary, stored->id.variant};
    return afc__disk_put_record(disk, name, stored, units, (uint32_t)time(NULL));
}

/** A change of one entry, made while the journal is locked. */
typedef struct entry_change {
    const afc__http_cache_stored *stored;
    uint64_t file_number; /* For put() and publish(): number of the file in new/. */
    uint64_t old_variant; /* For change_meta(): the variant whose file is changed. */
    /*
     * The disk's count `others` of its key when the change was ordered. If it is higher once the journal is locked and
     * read, another process has changed the key.
     */
    uint32_t others;
    afc__disk_records records;
} entry_change;

/** Records the entry, then gives the file its final name. */
static bool publish(afc__disk *disk, entry_change *change, uint32_t units) {
    const afc__http_cache_id *id = &change->stored->id;
    afc__journal_record put = put_of(disk, change->stored, units);
    afc__disk_records_add(&change->records, &put);
    if (!afc__disk_records_write(&change->records)) return false;
    if (!afc__folder_publish(&disk->folder, change->file_number, id->primary, id->variant)) {
        afc__disk_add_gone(&change->records, (afc__cache_store_name){id->primary, id->variant});
        return false;
    }
    afc__disk_lock(disk);
    afc__disk_apply(disk, &put);
    afc__disk_unlock(disk);
    return true;
}

/** Stops counting the units of a file that is about to be replaced. Returns them; 0 if there is no file. */
static uint32_t take_units(afc__disk *disk, afc__cache_store_name name) {
    afc__disk_lock(disk);
    afc__entry_record *record = afc__entry_table_find(&disk->cache->table, name.primary,
                                                      name.variant);
    uint32_t units = record != NULL ? record->units : 0;
    if (record != NULL) afc__entry_table_set_units(&disk->cache->table, record, 0);
    afc__disk_unlock(disk);
    return units;
}

static bool write_file(int file, const afc__http_cache_stored *stored) {
    afc_bytes body = stored->body->bytes;
    uint64_t size = afc__entry_size(stored->body_size, stored->block.size);
    off_t end = lseek(file, 0, SEEK_END);
    return afc__entry_write_blocks(file, stored->id.content, 0,
                                   (afc_slice){body.bytes, body.size}) == 0 &&
           afc__entry_finish(file, stored) == 0 &&
           (end <= (off_t)size || ftruncate(file, (off_t)size) == 0);
}

/** Writes a response to a new file, or over one that is evicted or replaced and has a similar size. */
static bool put(afc__disk *disk, entry_change *change) {
    const afc__http_cache_stored *stored = change->stored;
    const afc__http_cache_id *id = &stored->id;
    uint64_t number = change->file_number;
    uint32_t needed = afc__disk_units(afc__entry_size(stored->body_size, stored->block.size));
    uint32_t old = take_units(disk, (afc__cache_store_name){id->primary, id->variant});
    int file = -1;
    if (afc__disk_is_like(old, needed)) {
        file = afc__folder_reuse(&disk->folder, id->primary, id->variant, number);
    } else if (old != 0) {
        afc__folder_remove_entry(&disk->folder, id->primary, id->variant);
    }
    bool is_stored = afc__disk_make_room(&change->records, needed, number, &file);
    if (is_stored && file < 0) file = afc__folder_new_file(&disk->folder, number);
    is_stored = is_stored && file >= 0 && write_file(file, stored) && publish(disk, change, needed);
    if (!is_stored) afc__folder_discard(&disk->folder, number);
    if (file >= 0) afc__folder_close_new(file);
    return is_stored;
}

/**
 * Returns whether another process has changed the key since the change was ordered. Removals of this process are jobs
 * of the same thread, and so in order.
 */
static bool is_outdated(afc__disk *disk, const entry_change *change) {
    afc__disk_lock(disk);
    uint32_t others = disk->others[afc__disk_bucket(change->stored->id.primary)];
    afc__disk_unlock(disk);
    return others != change->others;
}

/**
 * Makes a change with the journal locked, unless the journal says that the change is outdated. If it isn't made, the
 * entry is removed from folder and table. While this process was stopped with the lock, another one may have discarded
 * the journal: the new journal doesn't name the entry, which may be outdated, so it is removed as well.
 */
static bool change_locked(afc__disk *disk, entry_change *change,
                          bool (*make)(afc__disk *disk, entry_change *change)) {
    const afc__http_cache_id *id = &change->stored->id;
    bool is_stored = false;
    if (afc__disk_records_begin(&change->records, disk)) {
        is_stored = !is_outdated(disk, change) && make(disk, change) &&
                    afc__journal_is_in_place(&disk->journal);
        (void)afc__disk_records_end(&change->records);
    }
    if (!is_stored) {
        /* The previous response must not be used again. */
        afc__folder_remove_entry(&disk->folder, id->primary, id->variant);
        afc__disk_lock(disk);
        afc__disk_lose_file(disk, id->primary, id->variant);
        afc__disk_unlock(disk);
    }
    return is_stored;
}

static bool publish_after_eviction(afc__disk *disk, entry_change *change) {
    const afc__http_cache_stored *stored = change->stored;
    const afc__http_cache_id *id = &stored->id;
    uint32_t needed = afc__disk_units(afc__entry_size(stored->body_size, stored->block.size));
    if (take_units(disk, (afc__cache_store_name){id->primary, id->variant}) != 0) {
        afc__folder_remove_entry(&disk->folder, id->primary, id->variant);
    }
    return afc__disk_make_room(&change->records, needed, 0, NULL) && publish(disk, change, needed);
}

bool afc__disk_publish(afc__disk *disk, const afc__http_cache_stored *stored, uint64_t number,
                       uint32_t others) {
    afc__disk_settle(disk, stored->id.primary);
    entry_change change = {.stored = stored, .file_number = number, .others = others};
    bool is_published = change_locked(disk, &change, publish_after_eviction);
    /* Also if the journal couldn't be locked: nothing else knows of the file. */
    if (!is_published) afc__folder_discard(&disk->folder, number);
    return is_published;
}

/* ---- Changes that are ordered ----------------------------------------------------------------- */

typedef struct change_job {
    afc__disk_job job;
    afc__http_cache_stored *stored;
    uint64_t old_variant;
    uint32_t others;
} change_job;

static void end_change_job(change_job *job) {
    afc__disk *disk = job->job.disk;
    afc__disk_lock(disk);
    disk->queued_bytes -= job->stored->body_size;
    afc__disk_end_announcement(disk, job->stored);
    afc__disk_end_change(disk, job->stored->id.primary);
    afc__disk_unlock(disk);
    afc__http_cache_stored_release(job->stored);
    afc_free(job);
}

static bool order_change(afc__disk *disk, afc__http_cache_stored *stored, uint64_t old_variant,
                         bool (*work)(afc__disk_job *job)) {
    if (!afc__disk_has_room(disk, stored->body_size)) return false;
    change_job *job = afc__alloc(sizeof *job);
    if (job == NULL) return false;
    *job = (change_job){.stored = afc__http_cache_stored_retain(stored),
                        .old_variant = old_variant,
                        .others = disk->others[afc__disk_bucket(stored->id.primary)]};
    disk->queued_bytes += stored->body_size;
    afc__disk_begin_change(disk, stored->id.primary);
    if (afc__disk_order(disk, &job->job, work)) return true;
    job->job.disk = disk;
    end_change_job(job);
    return false;
}

static bool work_put(afc__disk_job *work) {
    change_job *job = AFC__OWNER(work, change_job, job);
    afc__disk_settle(work->disk, job->stored->id.primary);
    entry_change change = {.stored = job->stored,
                           .file_number = afc__cache_store_new_content(work->disk->cache),
                           .others = job->others};
    change_locked(work->disk, &change, put);
    end_change_job(job);
    return false;
}

bool afc__disk_put(afc__disk *disk, afc__http_cache_stored *stored) {
    return order_change(disk, stored, stored->id.variant, work_put);
}

/** Writes the meta into the file that has the body. */
static bool change_meta(afc__disk *disk, entry_change *change) {
    const afc__http_cache_stored *stored = change->stored;
    const afc__http_cache_id *id = &stored->id;
    afc__cache_store_name old = {id->primary, change->old_variant};
    uint64_t size;
    int file = afc__folder_open_entry(&disk->folder, id->primary, old.variant, AFC__FOLDER_CHANGE);
    if (file < 0) return false;
    bool is_changed = afc__entry_change(file, id->content, stored->block, &size);
    close(file);
    if (!is_changed) return false;
    if (old.variant != id->variant) {
        if (!afc__folder_rename_entry(&disk->folder, old.primary, old.variant, id->variant)) {
            return false;
        }
        afc__disk_add_gone(&change->records, old);
    }
    /* The file may have grown. It isn't evicted itself, as its units are 0 meanwhile. */
    take_units(disk, (afc__cache_store_name){id->primary, id->variant});
    if (!afc__disk_make_room(&change->records, afc__disk_units(size), 0, NULL)) return false;
    afc__journal_record put = put_of(disk, stored, afc__disk_units(size));
    afc__disk_lock(disk);
    afc__disk_apply(disk, &put);
    afc__disk_unlock(disk);
    afc__disk_records_add(&change->records, &put);
    return afc__disk_records_write(&change->records);
}

static bool work_change(afc__disk_job *work) {
    change_job *job = AFC__OWNER(work, change_job, job);
    const afc__http_cache_id *id = &job->stored->id;
    afc__cache_store_name old = {id->primary, job->old_variant};
    entry_change change = {
        .stored = job->stored, .old_variant = job->old_variant, .others = job->others};
    afc__disk_settle(work->disk, id->primary);
    /* If it isn't there, the response was replaced or removed since. */
    bool is_there = afc__disk_has_content(work->disk, old, id->content);
    /* The response must not be used with its old meta. */
    if (is_there && !change_locked(work->disk, &change, change_meta)) {
        afc__disk_remove_now(work->disk, old);
    }
    end_change_job(job);
    return false;
}

bool afc__disk_change(afc__disk *disk, afc__http_cache_stored *stored, uint64_t old_variant) {
    return order_change(disk, stored, old_variant, work_change);
}

/* ---- Finding and using ------------------------------------------------------------------------ */

/**
 * Forgets an entry that can't be read, unless one of its key is about to be written: a removal must find that one in
 * the table.
 */
static void forget_unread(afc__disk *disk, afc__cache_store_name name) {
    afc__disk_lock(disk);
    const afc__entry_record *record = afc__entry_table_find(&disk->cache->table, name.primary,
                                                            name.variant);
    bool is_announced = record != NULL && (record->places & AFC__ENTRY_ANNOUNCED) != 0;
    afc__disk_unlock(disk);
    if (!is_announced) afc__disk_remove_now(disk, name);
}

/**
 * Reads one entry and adds it to `out`. A missing or damaged entry is removed. One that is being reused stays, and so
 * does one for which there is no memory.
 */
static void find_entry(afc__disk *disk, afc__cache_store_name name, afc_slice key,
                       afc__http_cache_found *out) {
    int file = afc__folder_open_entry(&disk->folder, name.primary, name.variant, AFC__FOLDER_READ);
    if (file < 0) {
        bool is_missing = errno == ENOENT || errno == ELOOP || errno == ENXIO;
        if (is_missing) forget_unread(disk, name);
        return;
    }
    afc__http_cache_stored *stored;
    afc__entry_reading reading = afc__entry_read(&stored, file);
    /* The meta may have been changed while it was read: read it once more. */
    if (reading == AFC__ENTRY_DAMAGED) reading = afc__entry_read(&stored, file);
    bool is_wanted = reading == AFC__ENTRY_READ && afc__is_same(stored->key, key);
    if (!is_wanted) {
        afc__http_cache_stored_release(stored);
        close(file);
        if (reading == AFC__ENTRY_NO_MEMORY) {
            out->lacks_memory = true;
        } else {
            forget_unread(disk, name);
        }
        return;
    }
    stored->id.primary = name.primary;
    stored->id.variant = name.variant;
    if (stored->body == NULL) {
        stored->descriptor = file;
    } else {
        close(file);
    }
    afc__http_cache_found_insert(out, stored);
}

void afc__disk_catch_up(afc__disk *disk) {
    if (!afc__journal_has_changed(&disk->journal) || !afc__disk_lock_journal(disk)) return;
    afc__journal_unlock(&disk->journal);
    if (disk->journal.needs_scan) afc__disk_begin_scan(disk);
}

void afc__disk_find(afc__disk *disk, uint64_t primary, afc_slice key, afc__http_cache_found *out) {
    afc__entry_record variants[AFC__HTTP_CACHE_VARIANTS_MAX];
    *out = (afc__http_cache_found){0};
    afc__disk_catch_up(disk);
    afc__disk_settle(disk, primary);
    afc__disk_lock(disk);
    size_t count = afc__entry_table_variants(&disk->cache->table, primary, variants,
                                             AFC__HTTP_CACHE_VARIANTS_MAX);
    afc__disk_unlock(disk);
    for (size_t i = 0; i < count; i++) {
        if ((variants[i].places & AFC__ENTRY_ON_DISK) == 0) continue;
        find_entry(disk, (afc__cache_store_name){primary, variants[i].variant}, key, out);
    }
}

static bool work_tidy(afc__disk_job *work) {
    afc__disk_tidy(work->disk);
    afc_free(work);
    return false;
}

/** Orders a job that has no data of its own and is freed by `work`. Returns whether it was ordered. */
static bool order_plain(afc__disk *disk, bool (*work)(afc__disk_job *job)) {
    afc__disk_job *job = afc__zalloc(sizeof *job);
    if (job == NULL) return false;
    bool is_ordered = afc__disk_order(disk, job, work);
    if (!is_ordered) afc_free(job);
    return is_ordered;
}

void afc__disk_use(afc__disk *disk, uint64_t primary, uint64_t variant) {
    /* If the buffer is full, the use is lost: the order of uses is a hint. */
    if (disk->use_count < AFC__DISK_USES) {
        disk->uses[disk->use_count++] = (afc__cache_store_name){primary, variant};
    }
    if (disk->use_count < AFC__DISK_USES / 2 || disk->is_tidy_ordered) return;
    /* If it can't be ordered now, the next use tries again. */
    disk->is_tidy_ordered = order_plain(disk, work_tidy);
}

/* ---- Opening and closing ---------------------------------------------------------------------- */

afc_status afc__disk_open(afc_http_cache *cache, const char *path, uint64_t capacity_bytes,
                          void (*ended)(void *cache), afc_failure *failure) {
    afc__disk *made = afc__zalloc(sizeof *made);
    if (made == NULL) return afc__fail_memory(failure);
    made->cache = cache;
    made->ended = ended;
    made->capacity = capacity_bytes / AFC__ENTRY_UNIT;
    afc__list_init(&made->removals);
    afc_status status = afc__folder_open(&made->folder, path, failure);
    if (status == AFC_OK) {
        afc__journal_reader reader = {take_record, restart, lack_changes, made};
        cache->key_seed[0] = made->folder.key[0];
        cache->key_seed[1] = made->folder.key[1];
        if (!afc__journal_open(&made->journal, made->folder.root,
                               made->folder.key[0] ^ made->folder.key[1], reader)) {
            status = afc__folder_fail(failure, "use", path);
            afc__folder_close(&made->folder);
        }
    }
    if (status != AFC_OK) {
        afc_free(made);
        return status;
    }
    cache->disk = made;
    /* Files that killed processes were writing don't count towards the capacity: remove them. */
    afc__folder_clean(&made->folder);
    if (made->journal.needs_scan) afc__disk_begin_scan(made);
    return AFC_OK;
}

static bool work_close(afc__job *job) {
    afc__disk_tidy(AFC__OWNER(job, afc__disk, closing));
    return false;
}

void afc__disk_close(afc__disk *disk) {
    /* Tidying may find the journal incomplete, and then starts the thread for a scan. */
    if (disk->writer == NULL) afc__disk_tidy(disk);
    if (disk->writer == NULL) {
        disk->ended(disk->cache);
        return;
    }
    disk->closing = (afc__job){.run = work_close};
    afc__writer_take(disk->writer, &disk->closing);
    afc__writer_end(disk->writer);
}

void afc__disk_free(afc__disk *disk) {
    afc__journal_close(&disk->journal);
    afc__folder_close(&disk->folder);
    afc_free(disk->victims);
    afc_free(disk);
}
