#include "http_cache/disk/journal.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/random.h"
#include "http_cache/disk/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECORD_SIZE = 40,
    HEAD_SIZE = 64,
    BOOT_SIZE = 36,
    CHANGES_OFFSET = 8 + BOOT_SIZE,
    /* Records that are written at once. */
    BATCH = 1024,
    /* Records that are read at once, to the stack: a lack of memory must not make the journal look damaged. */
    READ_BATCH = 256
};

/* A larger journal counts as damaged. It would be needed for more than a million entries. */
static const int64_t MAX_SIZE = INT64_C(256) << 20;

/* The value of `known` for a journal that wasn't read yet; no file has this size. */
static const uint64_t UNREAD = UINT64_MAX;

static const char NAME[] = "journal", NEW_NAME[] = "journal.new";

/* The digit is the version of the format. */
static const char MAGIC[8] = {'A', 'F', 'j', 'r', 'n', 'l', '0', '1'};

/* ---- The format ----------------------------------------------------------------------------- */

/*
 * CHANGE and CHANGE_ALL are written as REMOVE with these numbers in place of the units. Older programs read them as the
 * removal of an entry that doesn't exist.
 */
enum { IS_CHANGE = 1, IS_CHANGE_ALL = 2 };

static bool is_change(const afc__journal_record *record) {
    return record->kind == AFC__JOURNAL_CHANGE || record->kind == AFC__JOURNAL_CHANGE_ALL;
}

static void encode(char out[RECORD_SIZE], const afc__journal_record *record, uint64_t seed) {
    uint32_t kind = record->kind, units = record->units;
    if (is_change(record)) {
        units = kind == AFC__JOURNAL_CHANGE ? IS_CHANGE : IS_CHANGE_ALL;
        kind = AFC__JOURNAL_REMOVE;
    }
    afc__save_64(out, record->primary);
    afc__save_64(out + 8, record->variant);
    afc__save_32(out + 16, units);
    afc__save_32(out + 20, record->stored_s);
    afc__save_32(out + 24, record->host);
    afc__save_32(out + 28, kind);
    afc__save_64(out + 32, afc__checksum(seed, out, 32));
}

static bool decode(afc__journal_record *out, const char *bytes, uint64_t seed) {
    if (afc__load_64(bytes + 32) != afc__checksum(seed, bytes, 32)) return false;
    uint32_t kind = afc__load_32(bytes + 28);
    if (kind < AFC__JOURNAL_PUT || kind > AFC__JOURNAL_REMOVE) return false;
    uint32_t units = afc__load_32(bytes + 16);
    if (kind == AFC__JOURNAL_REMOVE && units == IS_CHANGE) kind = AFC__JOURNAL_CHANGE;
    if (kind == AFC__JOURNAL_REMOVE && units == IS_CHANGE_ALL) kind = AFC__JOURNAL_CHANGE_ALL;
    *out = (afc__journal_record){
        .kind = (afc__journal_kind)kind,
        .primary = afc__load_64(bytes),
        .variant = afc__load_64(bytes + 8),
        .units = units,
        .stored_s = afc__load_32(bytes + 20),
        .host = afc__load_32(bytes + 24),
    };
    return true;
}

/** Reads the id of this boot. Writes zeros, which no boot has, if the system doesn't provide it. */
static void read_boot(char out[BOOT_SIZE]) {
    memset(out, 0, BOOT_SIZE);
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    if (read(descriptor, out, BOOT_SIZE) != BOOT_SIZE) memset(out, 0, BOOT_SIZE);
    close(descriptor);
}

static void make_head(char out[HEAD_SIZE], const afc__journal *journal) {
    memset(out, 0, HEAD_SIZE);
    memcpy(out, MAGIC, sizeof MAGIC);
    if (!journal->is_incomplete) read_boot(out + 8);
    /* Older programs write zeros here. */
    afc__save_64(out + CHANGES_OFFSET, journal->changes);
    afc__save_64(out + HEAD_SIZE - 8, afc__checksum(journal->seed, out, HEAD_SIZE - 8));
}

/** Whether a journal can be trusted. */
typedef enum journal_state {
    VALID,
    INCOMPLETE, /* It names another boot or none: entries may be missing. */
    DAMAGED
} journal_state;

static journal_state check_head(const char head[HEAD_SIZE], uint64_t seed) {
    static const char none[BOOT_SIZE] = {0};
    char boot[BOOT_SIZE];
    uint64_t sum = afc__checksum(seed, head, HEAD_SIZE - 8);
    if (memcmp(head, MAGIC, sizeof MAGIC) != 0) return DAMAGED;
    if (afc__load_64(head + HEAD_SIZE - 8) != sum) return DAMAGED;
    read_boot(boot);
    bool is_of_this_boot = memcmp(head + 8, boot, BOOT_SIZE) == 0 &&
                           memcmp(boot, none, BOOT_SIZE) != 0;
    return is_of_this_boot ? VALID : INCOMPLETE;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void set_known(afc__journal *journal, uint64_t size) {
    atomic_store(&journal->known, size);
    atomic_store(&journal->settled, size);
}

/**
 * Raises `changes`, unless it is unknown: two journals of older programs, which have no number, could otherwise get the
 * same one.
 */
static void count_change(afc__journal *journal, const afc__journal_record *record) {
    if (journal->changes != 0) journal->changes += is_change(record);
}

/** Reads whole records from `known` up to `end`. Returns false if they are damaged. */
static bool read_records(afc__journal *journal, uint64_t end) {
    char bytes[READ_BATCH * RECORD_SIZE];
    uint64_t at = atomic_load(&journal->known);
    bool is_valid = (end - at) % RECORD_SIZE == 0;
    while (is_valid && at < end) {
        size_t size = end - at < sizeof bytes ? (size_t)(end - at) : sizeof bytes;
        ssize_t count = pread(journal->descriptor, bytes, size, (off_t)at);
        is_valid = count == (ssize_t)size;
        for (size_t i = 0; is_valid && i < size; i += RECORD_SIZE) {
            afc__journal_record record;
            is_valid = decode(&record, bytes + i, journal->seed);
            if (!is_valid) break;
            journal->reader.take(journal->reader.context, &record);
            count_change(journal, &record);
        }
        at += size;
    }
    if (is_valid) set_known(journal, at);
    return is_valid;
}

/** Reads the whole journal, which is locked, and whether others may have recorded changes that it doesn't contain. */
static journal_state read_all(afc__journal *journal, bool *lacks_changes) {
    struct stat facts;
    char head[HEAD_SIZE];
    *lacks_changes = true;
    journal->reader.restart(journal->reader.context);
    if (fstat(journal->descriptor, &facts) != 0) return DAMAGED;
    if (facts.st_size > MAX_SIZE) return DAMAGED;
    if (pread(journal->descriptor, head, HEAD_SIZE, 0) != HEAD_SIZE) return DAMAGED;
    journal_state state = check_head(head, journal->seed);
    if (state == DAMAGED) return state;
    uint64_t changes = afc__load_64(head + CHANGES_OFFSET);
    bool is_continued = changes != 0 && changes == journal->changes;
    journal->changes = changes;
    set_known(journal, HEAD_SIZE);
    if (!read_records(journal, (uint64_t)facts.st_size)) return DAMAGED;
    *lacks_changes = !is_continued;
    return state;
}

/* ---- The file ------------------------------------------------------------------------------- */

static int open_file(int folder, const char *name, int flags) {
    return openat(folder, name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

bool afc__journal_is_in_place(const afc__journal *journal) {
    struct stat facts;
    return fstat(journal->descriptor, &facts) == 0 && facts.st_nlink > 0;
}

/** Opens the file that has the journal's name now, and keeps the descriptor's number. */
static bool reopen(afc__journal *journal) {
    int descriptor = open_file(journal->folder, NAME, O_CREAT);
    if (descriptor < 0) return false;
    /* First, so that no thread compares the new file's size with what was read of the old file. */
    set_known(journal, UNREAD);
    /* Keeps the number, which another thread may be using in fstat(). */
    int result = dup3(descriptor, journal->descriptor, O_CLOEXEC);
    close(descriptor);
    return result >= 0;
}

/** Locks the file that has the journal's name now. If that is another file than before, `known` becomes UNREAD. */
static bool lock_current(afc__journal *journal, int patience_ms) {
    enum { MAX_TRIES = 100 };
    for (unsigned i = 0; i < MAX_TRIES; i++) {
        /* Another process may still hold the lock of a journal that was removed: don't wait for that. */
        if (!afc__journal_is_in_place(journal) && !reopen(journal)) return false;
        if (!afc__folder_lock(journal->descriptor, patience_ms)) return false;
        if (afc__journal_is_in_place(journal)) {
            journal->is_locked = true;
            return true;
        }
        flock(journal->descriptor, LOCK_UN);
    }
    return false;
}

void afc__journal_discard(const afc__journal *journal) {
    /*
     * A process may be about to replace the journal, and have checked before that it is in place: it finds its new file
     * gone, or its new journal is removed, too.
     */
    unlinkat(journal->folder, NAME, 0);
    unlinkat(journal->folder, NEW_NAME, 0);
    unlinkat(journal->folder, NAME, 0);
}

void afc__journal_lack(afc__journal *journal) {
    journal->is_incomplete = journal->needs_scan = true;
}

/** Reads the whole journal, which is locked, and replaces it if it is damaged. */
static bool load(afc__journal *journal) {
    bool lacks_changes;
    journal->is_incomplete = journal->needs_scan = false;
    journal_state state = read_all(journal, &lacks_changes);
    if (state != VALID) afc__journal_lack(journal);
    if (state == DAMAGED) journal->changes = 0;
    if (lacks_changes) journal->reader.lack_changes(journal->reader.context);
    return state != DAMAGED || afc__journal_replace(journal, NULL, 0);
}

bool afc__journal_lock(afc__journal *journal) {
    struct stat facts;
    if (!lock_current(journal, AFC__CHANGE_MS)) return false;
    if (fstat(journal->descriptor, &facts) == 0) {
        uint64_t known = atomic_load(&journal->known), size = (uint64_t)facts.st_size;
        if (size == known) return true;
        if (size > known && facts.st_size <= MAX_SIZE && read_records(journal, size)) return true;
    }
    if (load(journal)) return true;
    afc__journal_unlock(journal);
    return false;
}

void afc__journal_unlock(afc__journal *journal) {
    journal->is_locked = false;
    flock(journal->descriptor, LOCK_UN);
}

bool afc__journal_has_changed(const afc__journal *journal) {
    struct stat facts;
    /*
     * The order matters: bytes between `settled` and `known` were written by this process, or were read by it before it
     * raised `known`.
     */
    uint64_t settled = atomic_load(&journal->settled);
    if (fstat(journal->descriptor, &facts) != 0) return false;
    uint64_t size = (uint64_t)facts.st_size, known = atomic_load(&journal->known);
    return size < settled || size > known || known == UNREAD || facts.st_nlink == 0;
}

bool afc__journal_append(afc__journal *journal, const afc__journal_record *records, size_t count) {
    char few[8 * RECORD_SIZE], *bytes = few;
    size_t size = count * RECORD_SIZE;
    if (count == 0) return true;
    if (!journal->is_locked) return false;
    if (size > sizeof few) bytes = afc__alloc(size);
    if (bytes == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        encode(bytes + i * RECORD_SIZE, &records[i], journal->seed);
    }
    uint64_t known = atomic_load(&journal->known);
    /* Raised before the write, as other threads compare it with the size of the file. */
    atomic_store(&journal->known, known + size);
    int error = afc__write_all(journal->descriptor, bytes, size);
    if (bytes != few) afc_free(bytes);
    if (error == 0) {
        atomic_store(&journal->settled, known + size);
        for (size_t i = 0; i < count; i++) count_change(journal, &records[i]);
        return true;
    }
    atomic_store(&journal->known, known);
    /*
     * A part of a record would make all that follow unreadable. If it can't be cut off either, the next reader finds
     * the journal damaged.
     */
    return ftruncate(journal->descriptor, (off_t)known) == 0 && false;
}

bool afc__journal_replace(afc__journal *journal, const afc__journal_record *records, size_t count) {
    char head[HEAD_SIZE];
    if (journal->changes == 0 && !afc__random(&journal->changes, sizeof journal->changes)) {
        journal->changes = 0;
    }
    int descriptor = open_file(journal->folder, NEW_NAME, O_CREAT | O_TRUNC);
    if (descriptor < 0) return false;
    afc__journal made = {.descriptor = descriptor, .seed = journal->seed};
    make_head(head, journal);
    made.is_locked = afc__folder_lock(descriptor, AFC__CHANGE_MS);
    bool is_made = made.is_locked && afc__write_all(descriptor, head, HEAD_SIZE) == 0;
    set_known(&made, HEAD_SIZE);
    for (size_t i = 0; is_made && i < count; i += BATCH) {
        size_t some = count - i < BATCH ? count - i : BATCH;
        is_made = afc__journal_append(&made, records + i, some);
    }
    /*
     * If the journal was discarded meanwhile, this process lacks a change that others have made: it must start over,
     * too. If it is discarded after this check, afc__journal_discard() removes the new file as well.
     */
    is_made = is_made && afc__journal_is_in_place(journal) &&
              renameat(journal->folder, NEW_NAME, journal->folder, NAME) == 0;
    if (is_made && dup3(descriptor, journal->descriptor, O_CLOEXEC) >= 0) {
        /* The lock of flock() belongs to the open file, which stays open under the other number. */
        set_known(journal, atomic_load(&made.known));
    } else {
        unlinkat(journal->folder, NEW_NAME, 0);
        is_made = false;
    }
    close(descriptor);
    return is_made;
}

uint64_t afc__journal_count(const afc__journal *journal) {
    uint64_t known = atomic_load(&journal->known);
    return known > HEAD_SIZE ? (known - HEAD_SIZE) / RECORD_SIZE : 0;
}

bool afc__journal_open(afc__journal *journal, int folder, uint64_t seed,
                       afc__journal_reader reader) {
    *journal = (afc__journal){.folder = folder, .seed = seed, .reader = reader};
    journal->descriptor = open_file(folder, NAME, O_CREAT);
    if (journal->descriptor < 0) return false;
    if (lock_current(journal, AFC__OPEN_MS)) {
        bool is_usable = load(journal);
        afc__journal_unlock(journal);
        if (is_usable) return true;
    }
    int error = errno;
    afc__journal_close(journal);
    errno = error;
    return false;
}

void afc__journal_close(afc__journal *journal) {
    if (journal->descriptor >= 0) close(journal->descriptor);
    journal->descriptor = -1;
}
