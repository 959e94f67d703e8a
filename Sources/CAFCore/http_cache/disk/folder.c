#include "http_cache/disk/folder.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/random.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY_SIZE = 32 };

static const char MAGIC[8] = {'A', 'F', 'c', 'a', 'c', 'h', 'e', '1'};

/* ---- Names ---------------------------------------------------------------------------------- */

static void make_name(char out[AFC__FOLDER_NAME_SIZE], uint64_t primary, uint64_t variant) {
    snprintf(out, AFC__FOLDER_NAME_SIZE, "%016llx%016llx", (unsigned long long)primary,
             (unsigned long long)variant);
}

static void make_fresh_name(char out[AFC__FOLDER_NAME_SIZE], uint64_t number) {
    snprintf(out, AFC__FOLDER_NAME_SIZE, "%016llx", (unsigned long long)number);
}

static bool parse_hex(const char *text, uint64_t *out) {
    *out = 0;
    for (unsigned i = 0; i < 16; i++) {
        int value = afc__hex_value(text[i]);
        if (value < 0) return false;
        *out = *out << 4 | (uint64_t)value;
    }
    return true;
}

bool afc__folder_parse_name(const char *name, uint64_t *primary, uint64_t *variant) {
    return strlen(name) == AFC__FOLDER_NAME_SIZE - 1 && parse_hex(name, primary) &&
           parse_hex(name + 16, variant);
}

/* ---- Opening -------------------------------------------------------------------------------- */

afc_status afc__folder_fail(afc_failure *failure, const char *what, const char *path) {
    int error = errno;
    const char *reason = error == EWOULDBLOCK ? "another process keeps it locked" : strerror(error);
    afc__fail(failure, AFC_EFILE, "cannot %s the cache folder %s: %s", what, path, reason);
    if (failure != NULL) failure->system_error = error;
    return AFC_EFILE;
}

static int open_folder(int parent, const char *name) {
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/** Makes a folder unless it is there, and opens it. */
static int make_folder(int parent, const char *name) {
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return -1;
    return open_folder(parent, name);
}

static bool is_private(int descriptor) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return false;
    if (facts.st_uid == geteuid() && (facts.st_mode & 077) == 0) return true;
    errno = EPERM;
    return false;
}

/** Writes the key file, with `key` or, if that is NULL, with a random key; `bytes` becomes its content. */
static bool write_key(int root, char bytes[KEY_SIZE], const uint64_t *key) {
    memcpy(bytes, MAGIC, sizeof MAGIC);
    if (key != NULL) {
        afc__save_64(bytes + 8, key[0]);
        afc__save_64(bytes + 16, key[1]);
    } else if (!afc__random(bytes + 8, 16)) {
        return false;
    }
    afc__save_64(bytes + 24, afc__checksum(0, bytes, 24));
    int descriptor = openat(root, "key.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                            0600);
    if (descriptor < 0) return false;
    errno = afc__write_all(descriptor, bytes, KEY_SIZE);
    /* Without its key no entry can be found. */
    bool is_written = errno == 0 && fsync(descriptor) == 0;
    close(descriptor);
    return is_written && renameat(root, "key.new", root, "key") == 0;
}

typedef enum key_state {
    KEY_READ,
    KEY_NONE, /**< The file doesn't exist, or its content isn't a key. */
    /** It can't be read now, with errno. Don't replace it: with a new key every entry would be lost. */
    KEY_UNKNOWN
} key_state;

static key_state read_key(int root, char bytes[KEY_SIZE]) {
    int descriptor = openat(root, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return errno == ENOENT || errno == ELOOP ? KEY_NONE : KEY_UNKNOWN;
    ssize_t size = read(descriptor, bytes, KEY_SIZE);
    int error = errno;
    close(descriptor);
    errno = error;
    if (size < 0) return KEY_UNKNOWN;
    bool is_key = size == KEY_SIZE && memcmp(bytes, MAGIC, sizeof MAGIC) == 0 &&
                  afc__load_64(bytes + 24) == afc__checksum(0, bytes, 24);
    return is_key ? KEY_READ : KEY_NONE;
}

bool afc__folder_lock(int descriptor, int patience_ms) {
    static const struct timespec pause = {.tv_nsec = 200 * 1000};
    int64_t deadline = afc__now_us() + (int64_t)patience_ms * 1000;
    while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        if (afc__now_us() > deadline) {
            errno = EWOULDBLOCK;
            return false;
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return true;
}

/** Reads the key. Without a key, writes `key` or, if that is NULL, a random one, under a lock on FOLDER/1. */
static bool have_key(afc__folder *folder, const uint64_t *key) {
    char bytes[KEY_SIZE];
    key_state state = read_key(folder->root, bytes);
    if (state == KEY_NONE) {
        if (!afc__folder_lock(folder->root, AFC__OPEN_MS)) return false;
        state = read_key(folder->root, bytes);
        if (state == KEY_NONE && write_key(folder->root, bytes, key)) state = KEY_READ;
        int error = errno;
        flock(folder->root, LOCK_UN);
        errno = error;
    }
    if (state != KEY_READ) return false;
    folder->key[0] = afc__load_64(bytes + 8);
    folder->key[1] = afc__load_64(bytes + 16);
    return true;
}

static bool open_all(afc__folder *folder, int outer, const uint64_t *key) {
    folder->root = make_folder(outer, "1");
    if (folder->root < 0 || !is_private(folder->root)) return false;
    folder->entries = make_folder(folder->root, "entries");
    if (folder->entries < 0) return false;
    folder->fresh = make_folder(folder->root, "new");
    return folder->fresh >= 0 && have_key(folder, key);
}

/** Opens a folder. If it has no key, gives it `key` or, if that is NULL, a random one. */
static afc_status open_with_key(afc__folder *folder, const char *path, const uint64_t *key,
                                afc_failure *failure) {
    *folder = (afc__folder){.root = -1, .entries = -1, .fresh = -1};
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return afc__folder_fail(failure, "make", path);
    int outer = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outer < 0) return afc__folder_fail(failure, "open", path);
    bool is_open = open_all(folder, outer, key);
    int error = errno;
    close(outer);
    if (is_open) return AFC_OK;
    afc__folder_close(folder);
    errno = error;
    return afc__folder_fail(failure, "use", path);
}

afc_status afc__folder_open(afc__folder *folder, const char *path, afc_failure *failure) {
    afc_status status = open_with_key(folder, path, NULL, failure);
    if (status != AFC_OK) return status;
    folder->path = afc__absolute_path(path);
    if (folder->path != NULL) return AFC_OK;
    afc__folder_close(folder);
    return afc__fail_memory(failure);
}

static void close_one(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

void afc__folder_close(afc__folder *folder) {
    close_one(&folder->root);
    close_one(&folder->entries);
    close_one(&folder->fresh);
    afc_free(folder->path);
    folder->path = NULL;
}

static bool is_linked(int descriptor) {
    struct stat facts;
    return fstat(descriptor, &facts) == 0 && facts.st_nlink > 0;
}

/** Replaces the open files with dup3(), which keeps the descriptors' numbers: other threads may be using them. */
static bool replace_descriptors(const afc__folder *folder, const afc__folder *made) {
    return dup3(made->root, folder->root, O_CLOEXEC) >= 0 &&
           dup3(made->entries, folder->entries, O_CLOEXEC) >= 0 &&
           dup3(made->fresh, folder->fresh, O_CLOEXEC) >= 0;
}

bool afc__folder_is_in_place(const afc__folder *folder) {
    return is_linked(folder->root) && is_linked(folder->entries) && is_linked(folder->fresh);
}

/** Returns whether an open folder has this key. Writes the key if the folder has no key yet. */
static bool has_key(const afc__folder *folder, const uint64_t key[2]) {
    afc__folder opened = {.root = folder->root};
    return have_key(&opened, key) && opened.key[0] == key[0] && opened.key[1] == key[1];
}

bool afc__folder_restore(afc__folder *folder) {
    afc__folder made;
    if (afc__folder_is_in_place(folder)) return has_key(folder, folder->key);
    if (open_with_key(&made, folder->path, folder->key, NULL) != AFC_OK) return false;
    bool is_ours = has_key(&made, folder->key) && replace_descriptors(folder, &made);
    afc__folder_close(&made);
    return is_ours;
}

/* ---- Entries -------------------------------------------------------------------------------- */

/** Locks a file without waiting, and returns its descriptor. On failure closes it and returns -1 with errno. */
static int locked(int descriptor, int lock) {
    if (descriptor < 0 || flock(descriptor, lock | LOCK_NB) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int afc__folder_open_entry(const afc__folder *folder, uint64_t primary, uint64_t variant,
                           afc__folder_access access) {
    char name[AFC__FOLDER_NAME_SIZE];
    make_name(name, primary, variant);
    int mode = access == AFC__FOLDER_CHANGE ? O_RDWR : O_RDONLY;
    /* O_NONBLOCK, as opening a FIFO of that name must not block. */
    int flags = mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    return locked(openat(folder->entries, name, flags), LOCK_SH);
}

bool afc__folder_remove_entry(const afc__folder *folder, uint64_t primary, uint64_t variant) {
    char name[AFC__FOLDER_NAME_SIZE];
    make_name(name, primary, variant);
    return unlinkat(folder->entries, name, 0) == 0;
}

bool afc__folder_rename_entry(const afc__folder *folder, uint64_t primary, uint64_t variant,
                              uint64_t new_variant) {
    char name[AFC__FOLDER_NAME_SIZE], new_name[AFC__FOLDER_NAME_SIZE];
    make_name(name, primary, variant);
    make_name(new_name, primary, new_variant);
    return renameat(folder->entries, name, folder->entries, new_name) == 0;
}

int afc__folder_new_file(const afc__folder *folder, uint64_t number) {
    char name[AFC__FOLDER_NAME_SIZE];
    make_fresh_name(name, number);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    return locked(openat(folder->fresh, name, flags, 0600), LOCK_EX);
}

int afc__folder_reuse(const afc__folder *folder, uint64_t primary, uint64_t variant,
                      uint64_t number) {
    char name[AFC__FOLDER_NAME_SIZE], fresh[AFC__FOLDER_NAME_SIZE];
    make_name(name, primary, variant);
    make_fresh_name(fresh, number);
    if (renameat(folder->entries, name, folder->fresh, fresh) != 0) return -1;
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int descriptor = locked(openat(folder->fresh, fresh, flags), LOCK_EX);
    struct stat facts;
    bool is_usable = descriptor >= 0 && fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                     facts.st_nlink == 1;
    if (is_usable) return descriptor;
    if (descriptor >= 0) close(descriptor);
    unlinkat(folder->fresh, fresh, 0);
    return -1;
}

bool afc__folder_publish(const afc__folder *folder, uint64_t number, uint64_t primary,
                         uint64_t variant) {
    char name[AFC__FOLDER_NAME_SIZE], fresh[AFC__FOLDER_NAME_SIZE];
    make_name(name, primary, variant);
    make_fresh_name(fresh, number);
    return renameat(folder->fresh, fresh, folder->entries, name) == 0;
}

void afc__folder_discard(const afc__folder *folder, uint64_t number) {
    char fresh[AFC__FOLDER_NAME_SIZE];
    make_fresh_name(fresh, number);
    unlinkat(folder->fresh, fresh, 0);
}

void afc__folder_clean(const afc__folder *folder) {
    int descriptor = open_folder(folder->fresh, ".");
    DIR *names = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (names == NULL) {
        if (descriptor >= 0) close(descriptor);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        int file = locked(openat(folder->fresh, entry->d_name, flags), LOCK_EX);
        if (file < 0) continue;
        unlinkat(folder->fresh, entry->d_name, 0);
        close(file);
    }
    closedir(names);
}

void afc__folder_close_new(int file) {
    flock(file, LOCK_UN);
    close(file);
}
