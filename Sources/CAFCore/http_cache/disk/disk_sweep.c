#include "http_cache/disk/disk_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static bool is_selected(afc__disk *disk, afc__cache_store_name name,
                        const afc__cache_store_filter *filter) {
    afc__disk_lock(disk);
    const afc__entry_record *record = afc__entry_table_find(&disk->cache->table, name.primary,
                                                            name.variant);
    bool is_on_disk = record != NULL && (record->places & AFC__ENTRY_ON_DISK) != 0;
    bool is_other = is_on_disk && !afc__cache_store_matches(record, filter);
    afc__disk_unlock(disk);
    return !is_other;
}

/** Removes the files of a key or, if `primary` is NULL, those that the filter selects. */
static void sweep(afc__disk *disk, const uint64_t *primary, const afc__cache_store_filter *filter) {
    int folder = openat(disk->folder.entries, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = folder >= 0 ? fdopendir(folder) : NULL;
    if (names == NULL) {
        if (folder >= 0) close(folder);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        afc__cache_store_name name;
        if (!afc__folder_parse_name(entry->d_name, &name.primary, &name.variant)) continue;
        bool is_removed = primary != NULL ? name.primary == *primary
                                          : is_selected(disk, name, filter);
        if (is_removed) afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
    }
    closedir(names);
}

void afc__disk_sweep_key(afc__disk *disk, uint64_t primary) {
    sweep(disk, &primary, NULL);
}

void afc__disk_sweep(afc__disk *disk, const afc__cache_store_filter *filter) {
    sweep(disk, NULL, filter);
}
