#include "http_cache/disk/disk_removal.h"

#include "base/alloc.h"
#include "http_cache/disk/disk_capacity.h"
#include "http_cache/disk/disk_scan.h"
#include "http_cache/disk/disk_sweep.h"

#include <stdlib.h>

typedef struct removed_entry {
    afc__cache_store_name name;
    bool is_done; /* Perhaps before its slice, by afc__disk_settle(). */
} removed_entry;

struct afc__disk_removal {
    afc__disk_job job;
    afc__node node;   /* In disk->removals from its first slice to its last. */
    uint64_t content; /* If not 0, only an entry whose body has this number is removed. */
    /* The journal could neither be locked nor replaced. The remaining slices don't wait for it again. */
    bool is_unrecorded;
    /* A removal couldn't be written to the journal, which is therefore discarded at the end. */
    bool has_lost;
    size_t count, next;
    removed_entry entries[];
};

/* ---- One entry ------------------------------------------------------------------------------ */

/**
 * Begins records, in another journal if this one stays locked. The process that keeps it locked may be about to publish
 * a file. It drops that file if the journal is gone (change_locked() in disk.c), so the journal must go before the first
 * file is removed here. Returns false if the next journal is locked, too, or can't be made.
 */
static bool begin_in_any_journal(afc__disk_records *records, afc__disk *disk) {
    if (afc__disk_records_begin(records, disk)) return true;
    afc__journal_discard(&disk->journal);
    return afc__disk_records_begin(records, disk);
}

static void begin_records(afc__disk_removal *removal, afc__disk_records *records) {
    afc__disk *disk = removal->job.disk;
    if (removal->is_unrecorded) {
        afc__disk_records_init(records, disk);
    } else {
        removal->is_unrecorded = !begin_in_any_journal(records, disk);
    }
}

static void remove_entry(afc__disk_removal *removal, removed_entry *entry,
                         afc__disk_records *records) {
    afc__disk *disk = removal->job.disk;
    afc__cache_store_name name = entry->name;
    if (entry->is_done) return;
    entry->is_done = true;
    if (removal->content != 0 && !afc__disk_has_content(disk, name, removal->content)) return;
    afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
    afc__disk_add_gone(records, name);
}

void afc__disk_remove_now(afc__disk *disk, afc__cache_store_name name) {
    afc__disk_records records;
    (void)afc__disk_records_begin(&records, disk);
    afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
    afc__disk_add_gone(&records, name);
    (void)afc__disk_records_end(&records);
}

/**
 * Discards the journal, which lacks removals, and starts another one at once. The next change would do so as well, but
 * what is requested until then would count as outdated: a new journal doesn't say which keys others have changed.
 */
static void restart_journal(afc__disk *disk) {
    afc__disk_records records;
    afc__journal_discard(&disk->journal);
    if (afc__disk_records_begin(&records, disk)) (void)afc__disk_records_end(&records);
}

/**
 * Ends records of a change. Returns whether they were written. If they weren't, the journal is discarded before it is
 * unlocked: a process that waits for the lock must not store what it has requested before.
 */
static bool end_change(afc__disk_records *records) {
    (void)afc__disk_records_write(records);
    if (records->has_lost) afc__journal_discard(&records->disk->journal);
    return afc__disk_records_end(records);
}

/* ---- Slices --------------------------------------------------------------------------------- */

static int compare_key(const void *a, const void *b) {
    uint64_t first = ((const removed_entry *)a)->name.primary;
    uint64_t second = ((const removed_entry *)b)->name.primary;
    return first < second ? -1 : first > second;
}

/** Makes the entries known to afc__disk_settle(), for jobs that run between the slices. */
static void begin_slices(afc__disk_removal *removal) {
    qsort(removal->entries, removal->count, sizeof *removal->entries, compare_key);
    afc__list_append(&removal->job.disk->removals, &removal->node);
}

static void end_records(afc__disk_removal *removal, afc__disk_records *records) {
    if (!afc__disk_records_end(records)) removal->has_lost = true;
}

static bool work_removal(afc__disk_job *work) {
    afc__disk_removal *removal = AFC__OWNER(work, afc__disk_removal, job);
    afc__disk *disk = work->disk;
    afc__disk_records records;
    size_t left = removal->count - removal->next;
    bool has_more = left > AFC__DISK_SLICE;
    size_t first = removal->next, end = first + (has_more ? AFC__DISK_SLICE : left);
    if (has_more && removal->node.next == NULL) begin_slices(removal);
    begin_records(removal, &records);
    for (size_t i = first; i < end; i++) remove_entry(removal, &removal->entries[i], &records);
    if (!has_more) afc__list_remove(&removal->node);
    end_records(removal, &records);
    if (!has_more && removal->has_lost) restart_journal(disk);
    afc__disk_lock(disk);
    for (size_t i = first; i < end; i++) {
        afc__disk_end_change(disk, removal->entries[i].name.primary);
    }
    afc__disk_unlock(disk);
    removal->next = end;
    if (!has_more) afc_free(removal);
    return has_more;
}

/** Returns the index of the first entry with this key, or of where it would be. */
static size_t find_key(const afc__disk_removal *removal, uint64_t primary) {
    size_t low = 0, high = removal->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (removal->entries[middle].name.primary < primary) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void settle_with(afc__disk_removal *removal, uint64_t primary) {
    afc__disk_records records;
    bool has_begun = false;
    for (size_t i = find_key(removal, primary); i < removal->count; i++) {
        removed_entry *entry = &removal->entries[i];
        if (entry->name.primary != primary) break;
        if (entry->is_done) continue;
        if (!has_begun) begin_records(removal, &records);
        has_begun = true;
        remove_entry(removal, entry, &records);
    }
    if (has_begun) end_records(removal, &records);
}

void afc__disk_settle(afc__disk *disk, uint64_t primary) {
    const afc__list *removals = &disk->removals;
    for (afc__node *node = removals->head.next; node != &removals->head; node = node->next) {
        settle_with(AFC__OWNER(node, afc__disk_removal, node), primary);
    }
}

/* ---- Ordering ------------------------------------------------------------------------------- */

afc__disk_removal *afc__disk_removal_new(afc__disk *disk, size_t most) {
    afc__disk_removal *removal = afc__alloc(sizeof *removal + most * sizeof *removal->entries);
    if (removal != NULL) *removal = (afc__disk_removal){.job = {.disk = disk}};
    return removal;
}

void afc__disk_removal_add(afc__disk_removal *removal, afc__cache_store_name name) {
    removal->entries[removal->count++] = (removed_entry){.name = name};
    afc__disk_begin_change(removal->job.disk, name.primary);
}

/**
 * Removes a file on the calling thread, for want of memory or of the disk's thread. The journal can't record it: the
 * caller discards it before the first file and after the last one. A process that is about to publish a file then
 * drops it, and one that has read a file in between forgets it.
 */
static void remove_unordered(afc__disk *disk, afc__cache_store_name name, uint64_t content) {
    if (content != 0 && !afc__disk_has_content(disk, name, content)) return;
    afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
}

void afc__disk_removal_order(afc__disk_removal *removal) {
    afc__disk *disk = removal->job.disk;
    if (removal->count != 0 && afc__disk_order(disk, &removal->job, work_removal)) return;
    if (removal->count != 0) afc__journal_discard(&disk->journal);
    for (size_t i = 0; i < removal->count; i++) {
        afc__disk_end_change(disk, removal->entries[i].name.primary);
        remove_unordered(disk, removal->entries[i].name, removal->content);
    }
    if (removal->count != 0) afc__journal_discard(&disk->journal);
    afc__list_remove(&removal->node);
    afc_free(removal);
}

void afc__disk_remove(afc__disk *disk, const afc__cache_store_name *names, size_t count,
                      uint64_t content) {
    if (count == 0) return;
    afc__disk_removal *removal = afc__disk_removal_new(disk, count);
    if (removal == NULL) {
        afc__journal_discard(&disk->journal);
        for (size_t i = 0; i < count; i++) remove_unordered(disk, names[i], content);
        afc__journal_discard(&disk->journal);
        return;
    }
    removal->content = content;
    for (size_t i = 0; i < count; i++) afc__disk_removal_add(removal, names[i]);
    afc__disk_removal_order(removal);
}

/* ---- Entries of other processes ------------------------------------------------------------- */

/** Returns whether the folder may hold entries that the table lacks, although the journal was read. */
static bool lacks_entries(const afc__disk *disk) {
    return atomic_load(&disk->is_scanning) || disk->journal.needs_scan;
}

typedef struct unknown_job {
    afc__disk_job job;
    afc__cache_store_filter filter;
    /* The cache's stamp when the job was ordered. The caller removes the entries up to it. */
    uint64_t clock;
} unknown_job;

static bool is_selected(const afc__entry_record *record, const unknown_job *job) {
    return (record->places & AFC__ENTRY_ON_DISK) != 0 && record->used > job->clock &&
           afc__cache_store_matches(record, &job->filter);
}

/**
 * Makes a removal of all matching entries that came into the table since the job was ordered; `*out` is NULL if there
 * are none. Returns false if out of memory. Under the cache's lock.
 */
static bool collect_unknown(afc__disk_removal **out, const unknown_job *job) {
    afc__disk *disk = job->job.disk;
    const afc__entry_table *table = &disk->cache->table;
    size_t count = 0;
    for (size_t i = 0; i < table->capacity; i++) {
        count += is_selected(&table->slots[i], job);
    }
    *out = count != 0 ? afc__disk_removal_new(disk, count) : NULL;
    for (size_t i = 0; *out != NULL && i < table->capacity; i++) {
        const afc__entry_record *record = &table->slots[i];
        if (!is_selected(record, job)) continue;
        afc__disk_removal_add(*out, (afc__cache_store_name){record->primary, record->variant});
    }
    return *out != NULL || count == 0;
}

/** Removes the files of all matching entries without a copy of their names. For when memory is out. */
static void remove_selected(const unknown_job *job) {
    afc__disk *disk = job->job.disk;
    const afc__entry_table *table = &disk->cache->table;
    afc__disk_lock(disk);
    for (size_t i = 0; i < table->capacity; i++) {
        const afc__entry_record *record = &table->slots[i];
        /* The records go when the journal is started again. */
        if (is_selected(record, job)) {
            afc__folder_remove_entry(&disk->folder, record->primary, record->variant);
        }
    }
    afc__disk_unlock(disk);
}

/** Makes the entries leave memory, where a lookup that was ordered before this job may have put them. */
static void leave_memory(afc__disk_removal *removal) {
    afc__disk *disk = removal->job.disk;
    for (size_t i = 0; i < removal->count;) {
        size_t end = i + AFC__DISK_SLICE < removal->count ? i + AFC__DISK_SLICE : removal->count;
        afc__disk_lock(disk);
        for (; i < end; i++) {
            afc__cache_store_leave_memory(disk->cache, removal->entries[i].name.primary);
        }
        afc__disk_unlock(disk);
    }
}

/** Removes what came into the table, in slices. Returns false if out of memory. */
static bool remove_collected(const unknown_job *job) {
    afc__disk *disk = job->job.disk;
    afc__disk_removal *removal;
    afc__disk_lock(disk);
    bool is_collected = collect_unknown(&removal, job);
    afc__disk_unlock(disk);
    if (removal == NULL) return is_collected;
    leave_memory(removal);
    /* Jobs that already wait run before its first slice, but must find the entries removed (afc__disk_settle()). */
    begin_slices(removal);
    afc__disk_lock(disk);
    afc__disk_removal_order(removal);
    afc__disk_unlock(disk);
    return true;
}

/**
 * Removes what matches once the journal was read, and records that: others forget what only they have in memory, and
 * don't store what they have requested before. The caller removes what the table named before. A response that was put
 * since waits behind this job: its file is written when the older one is gone.
 */
static bool work_remove_unknown(afc__disk_job *work) {
    unknown_job *job = AFC__OWNER(work, unknown_job, job);
    afc__disk *disk = work->disk;
    afc__disk_records records;
    bool is_read = afc__disk_records_begin(&records, disk);
    if (!is_read) afc__journal_discard(&disk->journal);
    if (!is_read || lacks_entries(disk)) {
        /* Without the lock, as it may take long. */
        (void)afc__disk_records_end(&records);
        afc__disk_sweep(disk, &job->filter);
        (void)afc__disk_records_begin(&records, disk);
    }
    bool is_collected = remove_collected(job);
    if (!is_collected) remove_selected(job);
    afc__journal_record record = {.kind = AFC__JOURNAL_CHANGE_ALL};
    afc__disk_records_add(&records, &record);
    if (!end_change(&records) || !is_collected) restart_journal(disk);
    afc_free(job);
    return false;
}

void afc__disk_remove_unknown(afc__disk *disk, const afc__cache_store_filter *filter) {
    afc__disk_scan_without(disk, NULL);
    unknown_job *job = afc__zalloc(sizeof *job);
    if (job != NULL) {
        job->filter = *filter;
        job->clock = disk->cache->clock;
    }
    if (job != NULL && afc__disk_order(disk, &job->job, work_remove_unknown)) return;
    afc_free(job);
    /* Discards the journal twice, for the reasons that remove_unordered() gives. */
    afc__journal_discard(&disk->journal);
    afc__disk_sweep(disk, filter);
    afc__journal_discard(&disk->journal);
}

/* ---- The end of a key ------------------------------------------------------------------------- */

typedef struct change_record {
    afc__disk_job job;
    uint64_t primary;
} change_record;

/** Removes all files of a key that the table names. Responses that were put since wait behind this job. */
static void remove_variants(afc__disk_records *records, uint64_t primary) {
    afc__disk *disk = records->disk;
    afc__entry_record variants[AFC__HTTP_CACHE_VARIANTS_MAX];
    size_t count, removed;
    do {
        afc__disk_lock(disk);
        /* A lookup that was ordered before this job may have put them there. */
        afc__cache_store_leave_memory(disk->cache, primary);
        count = afc__entry_table_variants(&disk->cache->table, primary, variants,
                                          AFC__HTTP_CACHE_VARIANTS_MAX);
        afc__disk_unlock(disk);
        removed = 0;
        for (size_t i = 0; i < count; i++) {
            if (variants[i].units == 0) continue;
            afc__folder_remove_entry(&disk->folder, primary, variants[i].variant);
            afc__disk_add_gone(records, (afc__cache_store_name){primary, variants[i].variant});
            removed++;
        }
    } while (count == AFC__HTTP_CACHE_VARIANTS_MAX && removed != 0);
    /* Those that were put since hide what else the table names. They have no files yet. */
    if (count == AFC__HTTP_CACHE_VARIANTS_MAX) afc__disk_sweep_key(disk, primary);
}

/**
 * Under the lock with which the change is recorded, removes what others have stored of the key until then: later they
 * find the record before they store. What may be stored without being in the table is found by its name.
 */
static bool work_record_change(afc__disk_job *work) {
    change_record *own = AFC__OWNER(work, change_record, job);
    afc__disk *disk = work->disk;
    afc__disk_records records;
    afc__disk_settle(disk, own->primary);
    bool is_read = afc__disk_records_begin(&records, disk);
    if (!is_read) afc__journal_discard(&disk->journal);
    if (!is_read || lacks_entries(disk)) afc__disk_sweep_key(disk, own->primary);
    if (!is_read) (void)afc__disk_records_begin(&records, disk);
    remove_variants(&records, own->primary);
    afc__journal_record record = {.kind = AFC__JOURNAL_CHANGE, .primary = own->primary};
    afc__disk_records_add(&records, &record);
    if (!end_change(&records)) restart_journal(disk);
    afc_free(own);
    return false;
}

void afc__disk_record_change(afc__disk *disk, uint64_t primary) {
    afc__disk_scan_without(disk, &primary);
    change_record *own = afc__zalloc(sizeof *own);
    if (own != NULL) own->primary = primary;
    if (own != NULL && afc__disk_order(disk, &own->job, work_record_change)) return;
    afc_free(own);
    /* Discards the journal twice, for the reasons that remove_unordered() gives. */
    afc__journal_discard(&disk->journal);
    afc__disk_sweep_key(disk, primary);
    afc__journal_discard(&disk->journal);
}
