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
    /** Entries whose last use wasn't recorded yet. */
    AFC__DISK_USES = 64,
    AFC__DISK_BUCKETS = 256,
    /** Bytes that may wait for the disk; beyond, responses aren't stored. */
    AFC__DISK_QUEUED_MAX = 8 * 1024 * 1024,
    /** Files that long work handles before other jobs have their turn, and other processes the journal. */
    AFC__DISK_SLICE = 128
};

/** An entry that may be evicted, unless it was used since. */
typedef struct afc__disk_victim {
    afc__cache_store_name name;
    uint64_t used;
} afc__disk_victim;

struct afc__disk {
    afc_http_cache *cache;
    void (*ended)(
        void *cache); /**< Frees the cache once the disk's thread has ended, or without one. */
    afc__folder folder;
    afc__journal journal;
    /** The folder is being compared with the table, which may lack entries. */
    atomic_bool is_scanning;
    /* Under the cache's lock. */
    afc__writer *writer; /**< NULL before the first job. */
    uint64_t capacity;   /**< In AFC__ENTRY_UNIT. */
    bool is_trimming;    /**< A job evicts what exceeds the capacity. */
    uint64_t queued_bytes;
    uint64_t unfinished_bytes; /**< Bytes of bodies whose responses aren't complete yet. */
    uint32_t pending[AFC__DISK_BUCKETS]; /**< Changes that wait, by the hash of their keys. */
    uint32_t removals_pending[AFC__DISK_BUCKETS]; /**< Those of them that are removals. */
    uint32_t changes[AFC__DISK_BUCKETS];          /**< Changes ever made. */
    uint32_t others
        [AFC__DISK_BUCKETS]; /**< How often other processes have recorded AFC__JOURNAL_CHANGE. */
    afc__cache_store_name uses[AFC__DISK_USES];
    size_t use_count;
    bool is_tidy_ordered;                  /**< They are about to be recorded. */
    bool scans_without[AFC__DISK_BUCKETS]; /**< Entries removed while the folder is scanned. */
    /* The disk's thread. */
    afc__job closing;
    afc__list removals;        /**< Those that are done in part: disk_removal.c. */
    afc__disk_victim *victims; /**< The least recently used entries, oldest first. */
    size_t victim_count, next_victim;
    uint64_t selections; /**< How often victims were selected; for tests. */
};

/**
 * Returns the index in the arrays above of a key's hash. Keys share them: what is true of one may be said of another.
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
 * Work for the disk's thread, a member of its owner. It holds no reference to the cache: the thread does all of its
 * work before it ends, and the cache is freed after that.
 */
typedef struct afc__disk_job {
    afc__job job;
    afc__disk *disk;
    /** Returns true to be called again, behind the jobs that wait. Else the job may be freed. */
    bool (*work)(struct afc__disk_job *job);
} afc__disk_job;

/** Locks the journal, in a folder that is made again if it was removed. false: that isn't possible. */
bool afc__disk_lock_journal(afc__disk *disk);

/** Orders work. false: there is no thread; nothing was ordered. */
bool afc__disk_order(afc__disk *disk, afc__disk_job *job, bool (*work)(afc__disk_job *job));

/** Returns whether so many more bytes may wait for the disk. Under the cache's lock. */
bool afc__disk_has_room(const afc__disk *disk, uint64_t size);

/** Waits until what waits for the disk now is written. false: there is no thread for that. Not on the disk's thread. */
bool afc__disk_wait(afc__disk *disk);

/** Returns whether work is under way that goes on after other jobs. On the disk's thread. */
bool afc__disk_has_long_work(afc__disk *disk);

/** Counts a change of a key as waiting, or as done. Under the cache's lock. */
void afc__disk_begin_change(afc__disk *disk, uint64_t primary);
void afc__disk_end_change(afc__disk *disk, uint64_t primary);

/** The same for a removal, which is a change. */
void afc__disk_begin_removal(afc__disk *disk, uint64_t primary);
void afc__disk_end_removal(afc__disk *disk, uint64_t primary);

/**
 * Returns whether a change that isn't a removal waits, so that the table names what isn't written yet. Under the lock.
 */
bool afc__disk_awaits_put(const afc__disk *disk, uint64_t primary);

/**
 * Does the same on the disk's thread, during a change of the key that isn't a removal: whether there is another one.
 */
bool afc__disk_awaits_other_put(const afc__disk *disk, uint64_t primary);

/**
 * Returns whether the table can't be trusted about a key: changes wait, or another process made some. Under the lock.
 */
bool afc__disk_is_ahead(afc__disk *disk, uint64_t primary);

/**
 * Returns whether the file of an entry has the body of this number, or may have: it can't be opened without
 * descriptors.
 */
bool afc__disk_has_content(afc__disk *disk, afc__cache_store_name name, uint64_t content);

/** Returns the record of a response whose file has this name and size. */
afc__journal_record afc__disk_put_record(afc__disk *disk, afc__cache_store_name name,
                                         const afc__http_cache_stored *stored, uint32_t units,
                                         uint32_t stored_s);

/** Applies a record to the table. Under the cache's lock. */
void afc__disk_apply(afc__disk *disk, const afc__journal_record *record);

/** Copies the records of all entries on disk, least recently used first. NULL: out of memory. */
afc__entry_record *afc__disk_copy_entries(afc__disk *disk, size_t *count);

/** Writes the locked journal anew, without what was undone since. Returns whether it did. */
bool afc__disk_rewrite_journal(afc__disk *disk);

#endif
