/**
 * What all parts of the disk share: its thread and jobs, and the part of the table that is about the disk.
 */
#ifndef AFC_HTTP_CACHE_DISK_DISK_STATE_H
#define AFC_HTTP_CACHE_DISK_DISK_STATE_H

#include "http_cache/disk/folder.h"
#include "http_cache/disk/journal.h"
#include "http_cache/memory/store_internal.h"
#include "run/writer.h"

enum {
    /** Maximum number of uses that wait to be written to the journal. */
    AFC__DISK_USES = 64,
    /** Number of elements of the arrays that are indexed by the hash of a key; see afc__disk_bucket(). */
    AFC__DISK_BUCKETS = 256,
    /** Bytes that may wait for the disk; see afc__http_cache_pace. */
    AFC__DISK_QUEUED_MAX = 8 * 1024 * 1024,
    /** Files that a long job handles before other jobs run, and other processes can lock the journal. */
    AFC__DISK_SLICE = 128
};

/** An entry that may be evicted, unless it was used since: then its record has another stamp. */
typedef struct afc__disk_victim {
    afc__cache_store_name name;
    uint64_t used;
} afc__disk_victim;

/** What a scan of the folder leaves out of a bucket, because it was removed meanwhile. */
typedef struct afc__scan_omission {
    bool is_whole; /**< All keys. */
    bool has_key;  /**< `primary`. */
    uint64_t primary;
} afc__scan_omission;

struct afc__disk {
    afc_http_cache *cache;
    void (*ended)(
        void *
            cache); /**< Frees the cache once the disk's thread has ended, or at once without a thread. */
    afc__folder folder;
    afc__journal journal;
    /** A scan compares the folder with the table, which may lack entries. */
    atomic_bool is_scanning;
    /* Under the cache's lock. */
    afc__writer *writer; /**< NULL before the first job. */
    uint64_t capacity;   /**< In AFC__ENTRY_UNIT. */
    bool is_trimming;    /**< A job is evicting what exceeds the capacity. */
    uint64_t queued_bytes;
    uint64_t unfinished_bytes; /**< Bytes of bodies whose responses aren't complete yet. */
    uint32_t pending[AFC__DISK_BUCKETS]; /**< Changes that were ordered and aren't done. */
    uint32_t changes[AFC__DISK_BUCKETS]; /**< Changes ever ordered, or read from the journal. */
    /** How often other processes have recorded a change, or may have. */
    uint32_t others[AFC__DISK_BUCKETS];
    afc__cache_store_name uses[AFC__DISK_USES];
    size_t use_count;
    bool is_tidy_ordered; /**< A job that records `uses` was ordered. */
    afc__scan_omission scans_without[AFC__DISK_BUCKETS];
    /* The disk's thread. */
    afc__job closing;
    afc__list removals;        /**< Removals that are done in part; see disk_removal.c. */
    afc__disk_victim *victims; /**< The least recently used entries, oldest first. */
    size_t victim_count, next_victim;
    bool has_new_folder; /**< The folder was removed and made again since the journal was read. */
    uint64_t selections; /**< How often victims were selected. For tests. */
};

/**
 * Returns the index of a key in the arrays above. Keys with the same index share an element, so it may also be about
 * another key.
 */
static inline size_t afc__disk_bucket(uint64_t primary) {
    return primary % AFC__DISK_BUCKETS;
}

/** Takes the cache's lock. */
static inline void afc__disk_lock(afc__disk *disk) {
    pthread_mutex_lock(&disk->cache->lock);
}

/** Releases the cache's lock. */
static inline void afc__disk_unlock(afc__disk *disk) {
    pthread_mutex_unlock(&disk->cache->lock);
}

/**
 * A job for the disk's thread, a member of a larger struct. It holds no reference to the cache, which is freed only
 * after the thread has done all jobs and ended.
 */
typedef struct afc__disk_job {
    afc__job job;
    afc__disk *disk;
    /** Returns true to be called again, after the jobs that wait. If it returns false, the job may be freed already. */
    bool (*work)(struct afc__disk_job *job);
} afc__disk_job;

/**
 * Locks the journal. If it was removed, first makes the folder again. Returns false if that fails; see
 * afc__journal_lock().
 */
bool afc__disk_lock_journal(afc__disk *disk);

/**
 * Orders a job, which runs on the disk's thread after those ordered before. The first job starts the thread. Returns
 * false if there is no thread; nothing was ordered then.
 */
bool afc__disk_order(afc__disk *disk, afc__disk_job *job, bool (*work)(afc__disk_job *job));

/** Returns whether `size` more bytes may wait for the disk. Under the cache's lock. */
bool afc__disk_has_room(const afc__disk *disk, uint64_t size);

/**
 * Waits until all jobs ordered so far have run. Returns false if there is no thread. Neither on the disk's thread nor
 * under the cache's lock.
 */
bool afc__disk_wait(afc__disk *disk);

/** Returns whether a removal, a scan or an eviction in slices is under way. On the disk's thread. */
bool afc__disk_has_long_work(afc__disk *disk);

/** Count a change of a key as waiting, or as done. Under the cache's lock. */
void afc__disk_begin_change(afc__disk *disk, uint64_t primary);
void afc__disk_end_change(afc__disk *disk, uint64_t primary);

/**
 * Ends a change that has announced its entry to the table, unless a later one has announced it since. An entry that has
 * no file then leaves the table. Under the cache's lock.
 */
void afc__disk_end_announcement(afc__disk *disk, const afc__http_cache_stored *stored);

/** Notes in the table that an entry has no file. One that is announced stays there. Under the cache's lock. */
void afc__disk_lose_file(afc__disk *disk, uint64_t primary, uint64_t variant);

/**
 * Returns whether the table may be wrong about a key: changes wait, or other processes have appended to the journal.
 * Under the cache's lock.
 */
bool afc__disk_is_ahead(afc__disk *disk, uint64_t primary);

/**
 * Returns whether the file of an entry has the body with this number. True also if that is unknown, as there are no
 * descriptors to open the file.
 */
bool afc__disk_has_content(afc__disk *disk, afc__cache_store_name name, uint64_t content);

/** Returns the journal's record of a response whose file has this name and size. */
afc__journal_record afc__disk_put_record(afc__disk *disk, afc__cache_store_name name,
                                         const afc__http_cache_stored *stored, uint32_t units,
                                         uint32_t stored_s);

/** Applies a record to the table. Under the cache's lock. */
void afc__disk_apply(afc__disk *disk, const afc__journal_record *record);

/** Copies the records of all entries on disk, least recently used first. Returns NULL if out of memory. */
afc__entry_record *afc__disk_copy_entries(afc__disk *disk, size_t *count);

/** Replaces the locked journal by one with the entries on disk only, without older records. Returns whether it did. */
bool afc__disk_rewrite_journal(afc__disk *disk);

#endif
