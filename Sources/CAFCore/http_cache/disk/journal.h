/**
 * The journal of a cache folder: which entries are stored, and in which order they were used. Processes append records
 * to it, and read what others have appended.
 *
 * It makes the cache faster; no response depends on it to be correct. An entry is recorded before its file gets its
 * final name, and a removal after the file is gone. So the journal may name files that don't exist, but lacks none,
 * unless the machine lost power: therefore its head names the boot of the machine, and after another boot it is
 * compared with the folder. A journal that names no boot is incomplete.
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
    /**
     * All responses of a key were removed, because an unsafe request has changed the resource: responses that were
     * requested before are outdated.
     */
    AFC__JOURNAL_CHANGE = 4,
    /** As CHANGE, for any key: many responses were removed, perhaps some that only another process has in memory. */
    AFC__JOURNAL_CHANGE_ALL = 5
} afc__journal_kind;

typedef struct afc__journal_record {
    afc__journal_kind kind;
    uint64_t primary, variant;      /**< 0 with CHANGE_ALL, `variant` also with CHANGE. */
    uint32_t units, stored_s, host; /**< PUT only. */
} afc__journal_record;

/** Receives records in their order. */
typedef struct afc__journal_reader {
    void (*take)(void *context, const afc__journal_record *record);
    /** The journal was replaced: forget everything, as all its records follow. */
    void (*restart)(void *context);
    /** Records of changes may have been lost: what was requested before may be outdated. */
    void (*lack_changes)(void *context);
    void *context;
} afc__journal_reader;

typedef struct afc__journal {
    int folder;     /**< Borrowed. */
    int descriptor; /**< Its number stays the same while the journal is open. */
    uint64_t seed;  /**< Seed of the checksums. */
    /** Size up to which it was read or written, with bytes that are being written. */
    atomic_uint_fast64_t known;
    atomic_uint_fast64_t settled; /**< As `known`, but without bytes that are being written. */
    /**
     * Identifies the last change of one or all keys that was read or written: a random number in the head of the first
     * journal, raised by each such record. A journal that replaces another one continues with the number, so that a
     * reader knows whether it has missed any. 0 if unknown.
     */
    uint64_t changes;
    /**
     * It was missing, damaged or of another boot: the folder may hold entries that it lacks. The file is marked as
     * incomplete, too, until the folder was scanned, so that another process scans it if this one is killed.
     */
    bool is_incomplete;
    bool needs_scan; /**< It was found incomplete since the last scan began. */
    bool is_locked;  /**< This process holds the lock. Changed by the locking thread only. */
    afc__journal_reader reader;
} afc__journal;

/**
 * Opens "journal" in `folder` and reads it. Returns false with errno if it can't be opened or made, or if another
 * process keeps it locked for seconds (EWOULDBLOCK).
 */
bool afc__journal_open(afc__journal *journal, int folder, uint64_t seed,
                       afc__journal_reader reader);
void afc__journal_close(afc__journal *journal);

/** Returns whether the file is still the journal: it wasn't removed or replaced. */
bool afc__journal_is_in_place(const afc__journal *journal);

/** Returns whether other processes have appended to the journal, or replaced it. Any thread; doesn't block. */
bool afc__journal_has_changed(const afc__journal *journal);

/**
 * Locks the journal against other processes and reads what they have appended. Returns false if that fails, or isn't
 * possible within a fraction of a second.
 */
bool afc__journal_lock(afc__journal *journal);
void afc__journal_unlock(afc__journal *journal);

/**
 * Appends all records or none. Returns whether it did. It never appends to a journal that isn't locked, as other
 * processes may have appended records that weren't read yet.
 */
bool afc__journal_append(afc__journal *journal, const afc__journal_record *records, size_t count);

/**
 * Replaces the locked journal by one with these records, which is locked, too. Returns whether it did. The new journal
 * names this boot unless `is_incomplete` is set.
 */
bool afc__journal_replace(afc__journal *journal, const afc__journal_record *records, size_t count);

/**
 * Removes the journal, because something that every process must know can't be recorded. That needs neither the lock
 * nor space. All processes then start over, with nothing in memory and a scan of the folder. Any thread.
 */
void afc__journal_discard(const afc__journal *journal);

/** Marks the journal as incomplete: a record is missing in it, or in what was read from it. */
void afc__journal_lack(afc__journal *journal);

/** Returns the number of records. */
uint64_t afc__journal_count(const afc__journal *journal);

#endif
