#include "http_cache/disk/disk_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_selected(afc__disk *disk, const char *file, afc__cache_store_name name,
                        const afc__cache_store_filter *filter) {
    afc__entry_record known = {0};
    struct stat facts;
    afc__disk_lock(disk);
    const afc__entry_record *record = afc__entry_table_find(&disk->cache->table, name.primary,
                                                            name.variant);
    if (record != NULL) known = *record;
    afc__disk_unlock(disk);
    if ((known.places & AFC__ENTRY_ON_DISK) == 0) return true;
    /* Another process may have replaced the file since, and recorded a time that is a little later. */
    if (filter->since != INT64_MIN &&
        fstatat(disk->folder.entries, file, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        facts.st_ctime >= known.stored_s) {
        known.stored_s = (uint32_t)facts.st_ctime + 1;
    }
    return afc__cache_store_matches(&known, filter);
}

/** Removes the files of a key or, if `primary` is NULL, those that the filter selects. */
static void sweep_from(afc__disk *disk, int folder, const uint64_t *primary,
                       const afc__cache_store_filter *filter) {
    _Alignas(struct dirent64) char bytes[4096];
    ssize_t size;
    while ((size = getdents64(folder, bytes, sizeof bytes)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(bytes + at);
            afc__cache_store_name name;
            at += entry->d_reclen;
            if (!afc__folder_parse_name(entry->d_name, &name.primary, &name.variant)) continue;
            bool is_removed = primary != NULL ? name.primary == *primary
                                              : is_selected(disk, entry->d_name, name, filter);
            if (is_removed) afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
        }
    }
}

/** Needs neither memory nor, if there are no more, descriptors: the files would be found later, and used again. */
static void sweep(afc__disk *disk, const uint64_t *primary, const afc__cache_store_filter *filter) {
    int folder = openat(disk->folder.entries, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        sweep_from(disk, folder, primary, filter);
        close(folder);
        return;
    }
    /* All threads share the position in this descriptor. */
    afc__disk_lock(disk);
    if (lseek(disk->folder.entries, 0, SEEK_SET) == 0) {
        sweep_from(disk, disk->folder.entries, primary, filter);
    }
    afc__disk_unlock(disk);
}

void afc__disk_sweep_key(afc__disk *disk, uint64_t primary) {
    sweep(disk, &primary, NULL);
}

void afc__disk_sweep(afc__disk *disk, const afc__cache_store_filter *filter) {
    sweep(disk, NULL, filter);
}
