#include "http_cache/disk/disk_capacity.h"

#include "base/alloc.h"

void afc__disk_add_gone(afc__disk_records *records, afc__cache_store_name name) {
    afc__disk *disk = records->disk;
    afc__disk_records_add_removal(records, name);
    afc__disk_lock(disk);
    afc__disk_lose_file(disk, name.primary, name.variant);
    afc__disk_unlock(disk);
}

/* ---- Victims -------------------------------------------------------------------------------- */

/**
 * Selects the least recently used entries that have `wanted` units together, and a sixteenth of the capacity more: a
 * selection copies and sorts the table, so it should last for many evictions. Returns false if there are none, or if
 * out of memory.
 */
static bool select_victims(afc__disk *disk, uint64_t wanted) {
    size_t count, some = 0;
    uint64_t units = 0;
    afc__entry_record *entries = afc__disk_copy_entries(disk, &count);
    if (entries == NULL) return false;
    disk->selections++;
    afc__disk_lock(disk);
    wanted += disk->capacity / 16;
    afc__disk_unlock(disk);
    while (some < count && (some == 0 || units < wanted)) {
        units += entries[some++].units;
    }
    afc_free(disk->victims);
    disk->next_victim = disk->victim_count = 0;
    disk->victims = some != 0 ? afc__alloc(some * sizeof *disk->victims) : NULL;
    for (size_t i = 0; disk->victims != NULL && i < some; i++) {
        disk->victims[disk->victim_count++] = (afc__disk_victim){
            {entries[i].primary, entries[i].variant}, entries[i].used};
    }
    afc_free(entries);
    return disk->victim_count != 0;
}

/**
 * Returns the least recently used entry; `wanted` is how many units the caller evicts altogether. Returns false if
 * there are no entries.
 */
static bool next_victim(afc__disk *disk, uint64_t wanted, afc__cache_store_name *name,
                        uint32_t *units) {
    for (unsigned selections = 0; selections < 2;) {
        if (disk->next_victim == disk->victim_count) {
            selections++;
            if (!select_victims(disk, wanted)) return false;
        }
        const afc__disk_victim *victim = &disk->victims[disk->next_victim++];
        afc__disk_lock(disk);
        const afc__entry_record *record = afc__entry_table_find(
            &disk->cache->table, victim->name.primary, victim->name.variant);
        bool is_valid = record != NULL && record->used == victim->used &&
                        (record->places & AFC__ENTRY_ON_DISK) && record->units != 0;
        *name = victim->name;
        *units = is_valid ? record->units : 0;
        afc__disk_unlock(disk);
        if (is_valid) return true;
    }
    return false;
}

/** Returns by how many units the table would exceed `limit` with `needed` more. */
static uint64_t excess_over(afc__disk *disk, uint64_t limit, uint64_t needed) {
    afc__disk_lock(disk);
    uint64_t units = disk->cache->table.units + needed;
    afc__disk_unlock(disk);
    return units > limit ? units - limit : 0;
}

/* ---- Room for a change ---------------------------------------------------------------------- */

/** Returns how many units may be used after a put. `*capacity` becomes the limit of a single entry. */
static uint64_t limit_of_puts(afc__disk *disk, uint64_t *capacity) {
    afc__disk_lock(disk);
    uint64_t limit = *capacity = disk->capacity;
    /*
     * The excess over a smaller capacity is evicted in slices: if this put evicted all of it, the journal would be
     * locked for long.
     */
    if (disk->is_trimming && disk->cache->table.units > limit) limit = disk->cache->table.units;
    afc__disk_unlock(disk);
    return limit;
}

bool afc__disk_make_room(afc__disk_records *records, uint64_t needed, uint64_t number, int *file) {
    afc__disk *disk = records->disk;
    uint64_t excess, capacity, limit = limit_of_puts(disk, &capacity);
    if (needed > capacity) return false;
    while ((excess = excess_over(disk, limit, needed)) != 0) {
        afc__cache_store_name name;
        uint32_t units;
        if (!next_victim(disk, excess, &name, &units)) return false;
        bool is_reused = file != NULL && *file < 0 && afc__disk_is_like(units, (uint32_t)needed);
        if (is_reused) {
            *file = afc__folder_reuse(&disk->folder, name.primary, name.variant, number);
        } else {
            afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
        }
        afc__disk_add_gone(records, name);
    }
    return true;
}

/* ---- A smaller capacity --------------------------------------------------------------------- */

typedef enum trimming {
    TRIMMED,  /* What is used is within the capacity. */
    TRIMS_ON, /* There is more to evict. */
    STUCK     /* Another process keeps the journal locked, or memory is out: the next put evicts. */
} trimming;

/** Evicts one slice of what exceeds the capacity, which may change meanwhile. */
static trimming trim(afc__disk_records *records) {
    afc__disk *disk = records->disk;
    for (unsigned i = 0; i < AFC__DISK_SLICE; i++) {
        afc__cache_store_name name;
        uint32_t units;
        afc__disk_lock(disk);
        uint64_t capacity = disk->capacity;
        afc__disk_unlock(disk);
        uint64_t excess = excess_over(disk, capacity, 0);
        if (excess == 0) return TRIMMED;
        if (!next_victim(disk, excess, &name, &units)) return STUCK;
        afc__folder_remove_entry(&disk->folder, name.primary, name.variant);
        afc__disk_add_gone(records, name);
    }
    return TRIMS_ON;
}

static bool work_trim(afc__disk_job *work) {
    afc__disk *disk = work->disk;
    afc__disk_records records;
    trimming result = STUCK;
    if (afc__disk_records_begin(&records, disk)) {
        result = trim(&records);
        (void)afc__disk_records_end(&records);
    }
    afc__disk_lock(disk);
    /*
     * If the capacity was lowered once more after trim() had read it, afc__disk_set_capacity() has ordered no other
     * job.
     */
    if (result == TRIMMED && disk->cache->table.units > disk->capacity) result = TRIMS_ON;
    disk->is_trimming = result == TRIMS_ON;
    afc__disk_unlock(disk);
    if (result != TRIMS_ON) afc_free(work);
    return result == TRIMS_ON;
}

void afc__disk_set_capacity(afc__disk *disk, uint64_t bytes) {
    disk->capacity = bytes / AFC__ENTRY_UNIT;
    if (disk->is_trimming) return;
    afc__disk_job *job = afc__zalloc(sizeof *job);
    disk->is_trimming = job != NULL && afc__disk_order(disk, job, work_trim);
    if (!disk->is_trimming) afc_free(job);
}
