#include "base/temporary_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Names have 64 random bits: a collision means that they are being guessed. */
    MAX_ATTEMPTS = 16,
    SUFFIX_SIZE = 32,
    /* Maximum number of bytes of the destination's name in a random name: file systems allow 255 in all. */
    MAX_BEGINNING = 200,
    DESCRIPTOR_PATH_SIZE = 48
};

/* ---- Names --------------------------------------------------------------------------------- */

/** Makes PATH.RANDOM.part. Returns NULL with errno on failure. */
static char *random_name(const char *path) {
    uint64_t bits;
    /* Process ids aren't unique across containers. */
    if (!afc__random(&bits, sizeof bits)) return NULL;
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t size = (size_t)(base - path) + strnlen(base, MAX_BEGINNING);
    char *name = afc__alloc(size + SUFFIX_SIZE);
    if (name == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(name, path, size);
    snprintf(name + size, SUFFIX_SIZE, ".%016" PRIx64 ".part", bits);
    return name;
}

static void path_of_descriptor(int descriptor, char path[DESCRIPTOR_PATH_SIZE]) {
    snprintf(path, DESCRIPTOR_PATH_SIZE, "/proc/self/fd/%d", descriptor);
}

/**
 * Links the file through /proc, as open(2) recommends: linkat(2) with AT_EMPTY_PATH needs a
 * capability.
 */
static int link_to(int descriptor, const char *path) {
    char from[DESCRIPTOR_PATH_SIZE];
    path_of_descriptor(descriptor, from);
    return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* ---- Creating ------------------------------------------------------------------------------ */

/**
 * Returns whether the destination's name is too long. Without this check, that would only be noticed on the final
 * rename.
 */
static bool is_too_long(const char *path) {
    struct stat facts;
    return lstat(path, &facts) != 0 && errno == ENAMETOOLONG;
}

/** Creates an unnamed file (O_TMPFILE). Returns false if that isn't possible in this folder. */
static bool create_unnamed(const char *path, mode_t mode, int *descriptor) {
    char folder[PATH_MAX], link[DESCRIPTOR_PATH_SIZE];
    if (afc__folder_of(path, folder, sizeof folder) != 0) return false;
    *descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (*descriptor < 0) return false;
    path_of_descriptor(*descriptor, link);
    /* Without /proc the file could never get a name. */
    if (access(link, F_OK) == 0) return true;
    close(*descriptor);
    return false;
}

/** Creates a file with a random name, which the caller frees. */
static int create_named(const char *path, mode_t mode, int *descriptor, char **name) {
    enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        *name = random_name(path);
        if (*name == NULL) return errno;
        *descriptor = open(*name, FLAGS, mode);
        if (*descriptor >= 0) return 0;
        int error = errno;
        afc_free(*name);
        *name = NULL;
        if (error != EEXIST) return error;
    }
    return EEXIST;
}

/*
 * The mode depends on the umask, which can only be read by changing it for all threads, and on the
 * folder's default ACL. So the system is asked with a file that is removed again.
 */
int afc__new_file_mode(const char *path, mode_t *mode) {
    struct stat facts;
    int probe;
    char *name = NULL;
    /* Without a name if possible, so that nothing stays if the process is killed here. */
    int error = create_unnamed(path, 0666, &probe) ? 0 : create_named(path, 0666, &probe, &name);
    if (error != 0) return error;
    if (fstat(probe, &facts) != 0) error = errno;
    close(probe);
    if (name != NULL && unlink(name) != 0 && error == 0) error = errno;
    afc_free(name);
    if (error == 0) *mode = facts.st_mode & 0666;
    return error;
}

int afc__temporary_create(const char *path, int *descriptor, char **name, mode_t *mode) {
    *name = NULL;
    *mode = 0;
    if (!is_too_long(path) && create_unnamed(path, 0666, descriptor)) return 0;
    return afc__temporary_create_named(path, descriptor, name, mode);
}

int afc__temporary_create_named(const char *path, int *descriptor, char **name, mode_t *mode) {
    *name = NULL;
    if (is_too_long(path)) return ENAMETOOLONG;
    int error = afc__new_file_mode(path, mode);
    return error == 0 ? create_named(path, 0600, descriptor, name) : error;
}

int afc__temporary_create_private(const char *path, int *descriptor, char **name) {
    *name = NULL;
    if (is_too_long(path)) return ENAMETOOLONG;
    if (create_unnamed(path, 0600, descriptor)) return 0;
    return create_named(path, 0600, descriptor, name);
}

/* ---- Naming -------------------------------------------------------------------------------- */

static int rename_unless_there(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (link(from, to) != 0) return errno;
    return unlink(from) == 0 ? 0 : errno;
}

static int rename_over(const char *from, const char *to) {
    return rename(from, to) == 0 ? 0 : errno;
}

static int link_over(int descriptor, const char *path) {
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        char *name = random_name(path);
        if (name == NULL) return errno;
        int error = link_to(descriptor, name);
        bool is_linked = error == 0;
        if (is_linked) error = rename_over(name, path);
        if (is_linked && error != 0) unlink(name);
        afc_free(name);
        if (is_linked || error != EEXIST) return error;
    }
    return EEXIST;
}

int afc__temporary_rename(int descriptor, const char *name, const char *path, bool replaces) {
    if (name != NULL) return replaces ? rename_over(name, path) : rename_unless_there(name, path);
    int error = link_to(descriptor, path);
    return error == EEXIST && replaces ? link_over(descriptor, path) : error;
}
