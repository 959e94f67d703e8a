/**
 * The folder of a cache on disk.
 *
 *     FOLDER/1/key        a random key for the names of files
 *     FOLDER/1/journal    what is stored
 *     FOLDER/1/entries/   one file for each response; its name is the hash of its key, in hexadecimal digits
 *     FOLDER/1/new/       files that are being written
 *
 * The 1 is the version of the formats. Folders have mode 0700, files 0600. Nothing that a server sends becomes part of
 * a name. A file that is read is locked with LOCK_SH, one that is written with LOCK_EX, without waiting: locks end with
 * their processes. A file under its final name is complete, and only its meta is ever changed.
 */
#ifndef AFC_HTTP_CACHE_DISK_FOLDER_H
#define AFC_HTTP_CACHE_DISK_FOLDER_H

#include "http_cache/memory/stored.h"

enum { AFC__FOLDER_NAME_SIZE = 33 };

typedef struct afc__folder {
    int root, entries, fresh; /**< Descriptors: FOLDER/1, entries and new; -1 if closed. */
    uint64_t key[2];
    char *path; /**< Absolute. */
} afc__folder;

/**
 * Opens a folder, and makes it and what is missing in it, but not its parents. Fails with AFC_EFILE, also if FOLDER/1
 * belongs to another user or others may use it, or with AFC_ENOMEM.
 */
afc_status afc__folder_open(afc__folder *folder, const char *path, afc_failure *failure);
void afc__folder_close(afc__folder *folder);

/** Returns whether neither the folder nor a part of it was removed. */
bool afc__folder_is_in_place(const afc__folder *folder);

/**
 * Makes again what was removed of the folder, with the same key and under the same descriptors. Returns false if that
 * fails, or if another process has given it another key.
 */
bool afc__folder_restore(afc__folder *folder);

typedef enum afc__folder_access { AFC__FOLDER_READ, AFC__FOLDER_CHANGE } afc__folder_access;

/** Fails with AFC_EFILE and errno: "cannot WHAT the cache folder PATH: REASON". */
afc_status afc__folder_fail(afc_failure *failure, const char *what, const char *path);

/**
 * How long to wait for a lock of another process, in milliseconds. A change waits briefly: other jobs wait behind it,
 * and if it fails, only a response isn't stored. Opening waits longer: if it fails, there is no cache.
 */
enum { AFC__CHANGE_MS = 200, AFC__OPEN_MS = 5000 };

/**
 * Locks a file of the folder with LOCK_EX, and waits up to `patience_ms` for other processes, as one may be stopped
 * while it has the lock. flock() has no time limit, so it is retried. Returns false with errno, which is EWOULDBLOCK if
 * the time is over.
 */
bool afc__folder_lock(int descriptor, int patience_ms);

/**
 * Opens an entry's file, locked for reading. Returns -1 with errno if it is missing (ENOENT), is being reused
 * (EWOULDBLOCK), or on an error.
 */
int afc__folder_open_entry(const afc__folder *folder, uint64_t primary, uint64_t variant,
                           afc__folder_access access);

/** Removes an entry's file. Returns false with errno if that fails. */
bool afc__folder_remove_entry(const afc__folder *folder, uint64_t primary, uint64_t variant);

/** Gives an entry another variant's name. */
bool afc__folder_rename_entry(const afc__folder *folder, uint64_t primary, uint64_t variant,
                              uint64_t new_variant);

/** Makes a file in new/, locked for writing; its name is made from `number`. Returns -1 with errno on failure. */
int afc__folder_new_file(const afc__folder *folder, uint64_t number);

/**
 * Moves an entry's file to new/ to be overwritten, locked for writing. That costs a twentieth of removing one file and
 * making another. Returns -1 if the file is missing, or if it is in use: then it is removed.
 */
int afc__folder_reuse(const afc__folder *folder, uint64_t primary, uint64_t variant,
                      uint64_t number);

/** Gives a file in new/ its final name. */
bool afc__folder_publish(const afc__folder *folder, uint64_t number, uint64_t primary,
                         uint64_t variant);
/** Removes a file in new/. */
void afc__folder_discard(const afc__folder *folder, uint64_t number);

/** Removes the files in new/ that aren't locked: their writers have ended. */
void afc__folder_clean(const afc__folder *folder);

/** Reads the hashes from the name of an entry's file; false if it isn't one. */
bool afc__folder_parse_name(const char *name, uint64_t *primary, uint64_t *variant);

/**
 * Unlocks and closes a file in new/. Closing alone would leave it locked if a forked process has the descriptor, too.
 */
void afc__folder_close_new(int file);

#endif
