/**
 * The journal of a cache folder: which entries are stored, in which order they were used. Processes append to it, and
 * read what others have appended.
 *
 * It speeds things up and is never needed for a correct response. An entry is recorded before its file gets its name,
 * and a removal after the file is gone, so the journal may name files that don't exist, but misses none, unless the
 * machine lost power: the journal names the boot of the machine, and is compared with the folder after another one. One
 * that names none is incomplete.
 */
#ifndef AFC_HTTP_CACHE_DISK_JOURNAL_H
#define AFC_HTTP_CACHE_DISK_JOURNAL_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <stdatomic.h>

typedef enum afc__journal_kind {
    AFC__JOURNAL_PUT = 1,
    AFC__JOURNAL_USE = 2,
    AFC__JOURNAL_REMOVE = 3,
    /** All of a key was removed, as what the server has under it was changed: what was requested before is outdated. */
    AFC__JOURNAL_CHANGE = 4
} afc__journal_kind;

typedef struct afc__journal_record {
    afc__journal_kind kind;
    uint64_t primary, variant;      /**< With CHANGE, `variant` is 0. */
    uint32_t units, stored_s, host; /**< With PUT. */
} afc__journal_record;

/** Receives records, in their order. */
typedef struct afc__journal_reader {
    void (*take)(void *context, const afc__journal_record *record);
    /** The journal was replaced: what follows are all its records. */
    void (*restart)(void *context);
    void *context;
} afc__journal_reader;

typedef struct afc__journal {
    int folder;                   /**< Borrowed. */
    int descriptor;               /**< Its number never changes while the journal is open. */
    uint64_t seed;                /**< Seed of the checksums. */
    atomic_uint_fast64_t known;   /**< Bytes that were read or written, or are being written. */
    atomic_uint_fast64_t settled; /**< As `known`, without those that are being written. */
    /**
     * It was missing, damaged or of another boot: the folder may hold more. Its file says so, too, until the folder was
     * scanned, so that another process scans it if this one is killed.
     */
    bool is_incomplete;
    bool needs_scan; /**< It was read like that since the last scan began. */
    bool is_locked;  /**< By this one; changed by the thread that locks it. */
    afc__journal_reader reader;
} afc__journal;

/**
 * Opens the journal "journal" in `folder` and reads it. false: it can't be opened or made, or another process keeps it
 * locked for seconds (errno EWOULDBLOCK).
 */
bool afc__journal_open(afc__journal *journal, int folder, uint64_t seed,
                       afc__journal_reader reader);
void afc__journal_close(afc__journal *journal);

/** Returns whether the file is still the journal: it wasn't removed or replaced. */
bool afc__journal_is_in_place(const afc__journal *journal);

/** Returns whether there is something to read. Any thread; doesn't block. */
bool afc__journal_has_changed(const afc__journal *journal);

/**
 * Locks the journal against other processes and reads what they have appended. false: not possible, or not within a
 * fraction of a second.
 */
bool afc__journal_lock(afc__journal *journal);
void afc__journal_unlock(afc__journal *journal);

/**
 * Appends to the locked journal, all records or none. Returns whether it did: never to one that isn't locked, where
 * other processes may have appended what wasn't read yet.
 */
bool afc__journal_append(afc__journal *journal, const afc__journal_record *records, size_t count);

/**
 * Replaces the locked journal by one with these records; it stays locked. Returns whether it did. Unless it is
 * incomplete, the new one is of this boot.
 */
bool afc__journal_replace(afc__journal *journal, const afc__journal_record *records, size_t count);

/**
 * Removes the journal, as something that every process must know can't be recorded. That needs neither the lock nor
 * space: all processes then start over, with nothing in memory and a scan of the folder. Any thread.
 */
void afc__journal_discard(const afc__journal *journal);

/** Takes note that something is missing, in the journal or in what was read from it. */
void afc__journal_lack(afc__journal *journal);

/** Returns the number of records. */
uint64_t afc__journal_count(const afc__journal *journal);

#endif
