#include "http_cache/disk/disk_scan.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "http_cache/disk/disk_capacity.h"
#include "http_cache/disk/entry_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Maximum number of entries that one scan finds; the next scan finds more. */
    MAX_FOUND = 1 << 20
};

typedef struct found_entry {
    afc__journal_record record;
    struct timespec changed;
} found_entry;

typedef struct folder_scan {
    afc__disk_job job;
    DIR *names;
    found_entry *found;
    size_t count, capacity;
    bool is_cut;   /* Some entries couldn't be read or kept. */
    bool is_short; /* Memory or descriptors ran out, so that another scan can find more. */
} folder_scan;

static void omit(afc__scan_omission *omission, const uint64_t *primary) {
    bool is_other = omission->has_key && primary != NULL && omission->primary != *primary;
    if (primary == NULL || is_other) omission->is_whole = true;
    if (primary == NULL) return;
    omission->has_key = true;
    omission->primary = *primary;
}

void afc__disk_scan_without(afc__disk *disk, const uint64_t *primary) {
    for (size_t i = 0; i < AFC__DISK_BUCKETS; i++) {
        if (primary == NULL || afc__disk_bucket(*primary) == i) {
            omit(&disk->scans_without[i], primary);
        }
    }
}

static bool is_removed(afc__disk *disk, uint64_t primary) {
    afc__disk_lock(disk);
    const afc__scan_omission *omission = &disk->scans_without[afc__disk_bucket(primary)];
    bool is_without = omission->is_whole || (omission->has_key && omission->primary == primary);
    afc__disk_unlock(disk);
    return is_without;
}

static bool is_known(afc__disk *disk, uint64_t primary, uint64_t variant) {
    afc__disk_lock(disk);
    const afc__entry_record *record = afc__entry_table_find(&disk->cache->table, primary, variant);
    bool is_there = record != NULL && (record->places & AFC__ENTRY_ON_DISK);
    afc__disk_unlock(disk);
    return is_there;
}

static void keep(folder_scan *scan, const found_entry *entry) {
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity != 0 ? 2 * scan->capacity : 256;
        void *found = NULL;
        if (scan->count < MAX_FOUND) {
            found = afc__realloc(scan->found, capacity * sizeof *scan->found);
        }
        if (found == NULL) {
            scan->is_cut = true;
            return;
        }
        scan->found = found;
        scan->capacity = capacity;
    }
    scan->found[scan->count++] = *entry;
}

/** Notes that an entry can't be opened or read. */
static void lack(folder_scan *scan, int error) {
    /* It was removed, or isn't a regular file but a symbolic link (ELOOP) or a socket (ENXIO). */
    if (error == ENOENT || error == ELOOP || error == ENXIO) return;
    scan->is_cut = true;
    if (afc__is_shortage(error)) scan->is_short = true;
}

static void look_at(folder_scan *scan, uint64_t primary, uint64_t variant) {
    afc__disk *disk = scan->job.disk;
    struct stat facts;
    int file = afc__folder_open_entry(&disk->folder, primary, variant, AFC__FOLDER_READ);
    if (file < 0) {
        lack(scan, errno);
        return;
    }
    afc__http_cache_stored *stored;
    afc__entry_reading reading = afc__entry_read_meta(&stored, file);
    bool is_valid = reading == AFC__ENTRY_READ &&
                    afc__cache_store_is_at_home(disk->cache, stored, primary, variant) &&
                    fstat(file, &facts) == 0;
    close(file);
    if (is_valid) {
        afc__journal_record record = afc__disk_put_record(
            disk, (afc__cache_store_name){primary, variant}, stored,
            afc__disk_units((uint64_t)facts.st_size), (uint32_t)facts.st_mtim.tv_sec);
        keep(scan, &(found_entry){.record = record, .changed = facts.st_mtim});
    } else if (reading == AFC__ENTRY_NO_MEMORY) {
        /* Out of memory: the next scan reads this entry. */
        lack(scan, ENOMEM);
    } else {
        afc__folder_remove_entry(&disk->folder, primary, variant);
    }
    afc__http_cache_stored_release(stored);
}

static int compare_time(const void *a, const void *b) {
    const found_entry *first = a, *second = b;
    if (first->changed.tv_sec != second->changed.tv_sec) {
        return first->changed.tv_sec < second->changed.tv_sec ? -1 : 1;
    }
    if (first->changed.tv_nsec == second->changed.tv_nsec) return 0;
    return first->changed.tv_nsec < second->changed.tv_nsec ? -1 : 1;
}

/** Adds what was found to the table, and removes the files of entries that were removed meanwhile. */
static void take_found(folder_scan *scan) {
    afc__disk *disk = scan->job.disk;
    for (size_t i = 0; i < scan->count; i++) {
        const afc__journal_record *record = &scan->found[i].record;
        if (is_known(disk, record->primary, record->variant)) continue;
        if (is_removed(disk, record->primary)) {
            afc__folder_remove_entry(&disk->folder, record->primary, record->variant);
            continue;
        }
        afc__disk_lock(disk);
        afc__disk_apply(disk, record);
        afc__disk_unlock(disk);
    }
}

/** Writes a journal that counts as complete. On failure the old one stays, which is marked as incomplete. */
static void complete_journal(afc__disk *disk) {
    disk->journal.is_incomplete = false;
    if (!afc__disk_rewrite_journal(disk)) disk->journal.is_incomplete = true;
}

static void finish(folder_scan *scan) {
    afc__disk *disk = scan->job.disk;
    bool begins_again = false;
    if (scan->count != 0) qsort(scan->found, scan->count, sizeof *scan->found, compare_time);
    if (afc__disk_lock_journal(disk)) {
        /*
         * If the journal was read anew during the scan, the table has lost entries that the scan had skipped as known.
         */
        begins_again = disk->journal.needs_scan;
        take_found(scan);
        if (!scan->is_cut && !disk->journal.needs_scan) complete_journal(disk);
        /* The next change begins another scan (afc__disk_records_end()). */
        if (scan->is_short) disk->journal.needs_scan = true;
        afc__journal_unlock(&disk->journal);
    } else {
        disk->journal.needs_scan = true;
    }
    afc__folder_clean(&disk->folder);
    atomic_store(&disk->is_scanning, false);
    if (begins_again) afc__disk_begin_scan(disk);
}

static bool work_scan(afc__disk_job *work) {
    folder_scan *scan = AFC__OWNER(work, folder_scan, job);
    /* Wait for removals in slices: their files are still in the folder, and would get back into the table. */
    if (!afc__list_is_empty(&work->disk->removals)) return true;
    for (unsigned i = 0; i < AFC__DISK_SLICE && scan->names != NULL; i++) {
        uint64_t primary, variant;
        errno = 0;
        const struct dirent *entry = readdir(scan->names);
        if (entry == NULL) {
            if (errno != 0) lack(scan, errno);
            closedir(scan->names);
            scan->names = NULL;
        } else if (afc__folder_parse_name(entry->d_name, &primary, &variant) &&
                   !is_known(work->disk, primary, variant)) {
            look_at(scan, primary, variant);
        }
    }
    if (scan->names != NULL) return true;
    finish(scan);
    afc_free(scan->found);
    afc_free(scan);
    return false;
}

void afc__disk_begin_scan(afc__disk *disk) {
    if (atomic_exchange(&disk->is_scanning, true)) return;
    disk->journal.needs_scan = false;
    afc__disk_lock(disk);
    memset(disk->scans_without, 0, sizeof disk->scans_without);
    afc__disk_unlock(disk);
    folder_scan *scan = afc__zalloc(sizeof *scan);
    int names = openat(disk->folder.entries, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scan != NULL && names >= 0) scan->names = fdopendir(names);
    bool is_ordered = scan != NULL && scan->names != NULL &&
                      afc__disk_order(disk, &scan->job, work_scan);
    if (is_ordered) return;
    if (scan != NULL && scan->names != NULL) {
        closedir(scan->names);
    } else if (names >= 0) {
        close(names);
    }
    afc_free(scan);
    disk->journal.needs_scan = true;
    atomic_store(&disk->is_scanning, false);
}
