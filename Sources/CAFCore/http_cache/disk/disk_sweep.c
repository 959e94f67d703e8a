#include "http_cache/disk/disk_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static bool is_named(afc__disk *disk, uint64_t primary, uint64_t variant) {
    afc__disk_lock(disk);
    const afc__entry_record *record = afc__entry_table_find(&disk->cache->table, primary, variant);
    bool is_on_disk = record != NULL && (record->places & AFC__ENTRY_ON_DISK) != 0;
    afc__disk_unlock(disk);
    return is_on_disk;
}

void afc__disk_sweep(afc__disk *disk, const uint64_t *primary) {
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
        bool is_selected = primary != NULL ? name.primary == *primary
                                           : !is_named(disk, name.primary, name.variant);
        if (is_selected) afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
    }
    closedir(names);
}
