#include "base/file.h"

#include "base/alloc.h"
#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* SYSFS_MAGIC of statfs(2). */
enum { SYSFS = 0x62656572 };

/** Calls read(), again after EINTR. */
static ssize_t read_some(int descriptor, char *bytes, size_t size) {
    ssize_t count;
    do count = read(descriptor, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

/** Reads when the buffer is full, to the stack at first: the buffer only grows if there is at least one more byte. */
static ssize_t read_beyond(afc__buffer *out, int descriptor, afc_status *status) {
    char piece[1024];
    ssize_t count = read_some(descriptor, piece, sizeof piece);
    if (count > 0) *status = afc__buffer_append(out, piece, (size_t)count);
    explicit_bzero(piece, sizeof piece);
    return count;
}

afc_status afc__read_all(afc__buffer *out, int descriptor) {
    afc_status status = AFC_OK;
    ssize_t count;
    do {
        size_t available = out->capacity - out->size;
        if (available > 0) {
            count = read_some(descriptor, out->bytes + out->size, available);
            if (count > 0) out->size += (size_t)count;
        } else {
            count = read_beyond(out, descriptor, &status);
        }
    } while (count > 0 && status == AFC_OK);
    return count < 0 ? AFC_EFILE : status;
}

ssize_t afc__write_quietly(int descriptor, const void *bytes, size_t size) {
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigemptyset(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    /* A SIGPIPE that is already pending belongs to the program, and stays. */
    bool was_blocked = sigismember(&before, SIGPIPE) == 1;
    if (was_blocked) sigpending(&pending);
    ssize_t count;
    while ((count = write(descriptor, bytes, size)) < 0 && errno == EINTR) {}
    int error = errno;
    if (count < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) != 1) {
        const struct timespec now = {0, 0};
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR) {}
    }
    if (!was_blocked) pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return count;
}

int afc__write_all(int descriptor, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t count = afc__write_quietly(descriptor, at, size);
        if (count <= 0) return count < 0 ? errno : EIO;
        at += count;
        size -= (size_t)count;
    }
    return 0;
}

/** Reserves the size of the file first, so that no contents are moved while reading. */
static afc_status read_open(afc__buffer *out, int descriptor, const char *path, afc__file_kind kind,
                            afc_failure *failure) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return afc__fail_file(failure, "cannot read", path, errno);
    bool is_file = kind == AFC__FILE_ANY ? !S_ISDIR(facts.st_mode) : S_ISREG(facts.st_mode);
    if (!is_file) return afc__fail(failure, AFC_EINVAL, "%s is not a regular file", path);
    afc_status status = AFC_OK;
    if (facts.st_size > 0) {
        status = afc__buffer_reserve(out, out->size + (uint64_t)facts.st_size);
    }
    if (status == AFC_OK) status = afc__read_all(out, descriptor);
    if (status == AFC_EFILE) return afc__fail_file(failure, "cannot read", path, errno);
    if (status == AFC_ETOOBIG) {
        return afc__fail(failure, status, "%s is larger than the limit of %llu bytes", path,
                         (unsigned long long)out->limit);
    }
    return status == AFC_OK ? AFC_OK : afc__fail_memory(failure);
}

afc_status afc__read_file(afc__buffer *out, const char *path, afc__file_kind kind,
                          afc_failure *failure) {
    /* Opening a FIFO without a writer would block before fstat() can show what it is. */
    int unblocked = kind == AFC__FILE_REGULAR ? O_NONBLOCK : 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | unblocked);
    if (descriptor < 0) return afc__fail_file(failure, "cannot read", path, errno);
    afc_status status = read_open(out, descriptor, path, kind, failure);
    close(descriptor);
    return status;
}

static int measure(int descriptor, const struct stat *facts, int64_t *length) {
    if (S_ISDIR(facts->st_mode)) return EISDIR;
    struct statfs system;
    *length = facts->st_size;
    /* sysfs reports the size of a page, however short a file is. */
    if (facts->st_size == sysconf(_SC_PAGESIZE) && fstatfs(descriptor, &system) == 0 &&
        system.f_type == SYSFS) {
        *length = AFC_LENGTH_UNKNOWN;
    }
    if (facts->st_size > 0) return 0;
    char byte;
    ssize_t count;
    do count = pread(descriptor, &byte, 1, 0);
    while (count < 0 && errno == EINTR);
    if (count > 0) *length = AFC_LENGTH_UNKNOWN;
    return count < 0 ? errno : 0;
}

static afc_status measure_open(int descriptor, const char *path, int64_t *length,
                               afc_failure *failure) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return afc__fail_file(failure, "cannot read", path, errno);
    if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
        afc__fail(failure, AFC_EFILE, "cannot read %s: it is not a regular file", path);
        if (failure != NULL) failure->system_error = EINVAL;
        return AFC_EFILE;
    }
    int error = measure(descriptor, &facts, length);
    return error == 0 ? AFC_OK : afc__fail_file(failure, "cannot read", path, error);
}

afc_status afc__open_regular(int *descriptor, const char *path, int64_t *length,
                             afc_failure *failure) {
    /* Non-blocking, so that a FIFO without a writer is refused, instead of blocking. A terminal is refused, too. */
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*descriptor < 0) return afc__fail_file(failure, "cannot open", path, errno);
    afc_status status = measure_open(*descriptor, path, length, failure);
    if (status == AFC_OK) return AFC_OK;
    close(*descriptor);
    *descriptor = -1;
    return status;
}

char *afc__absolute_path(const char *path) {
    char folder[PATH_MAX];
    bool is_relative = path[0] != '/' && path[0] != '\0';
    if (!is_relative || getcwd(folder, sizeof folder) == NULL || folder[0] != '/')
        return afc__copy_text(afc_slice_of(path));
    size_t folder_size = strlen(folder), size = strlen(path) + 1;
    char *joined = afc__alloc(folder_size + 1 + size);
    if (joined == NULL) return NULL;
    memcpy(joined, folder, folder_size);
    joined[folder_size] = '/';
    memcpy(joined + folder_size + 1, path, size);
    return joined;
}

/* ---- Symbolic links ------------------------------------------------------------------------ */

int afc__follow_link(char path[PATH_MAX]) {
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target);
    if (size < 0) return errno;
    char *slash = strrchr(path, '/');
    size_t folder = slash != NULL && target[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    if (size == 0) return ENOENT;
    if (folder + (size_t)size >= PATH_MAX) return ENAMETOOLONG;
    memcpy(path + folder, target, (size_t)size);
    path[folder + (size_t)size] = '\0';
    return 0;
}

char *afc__follow_links(const char *path, int *error) {
    char current[PATH_MAX];
    size_t size = strlen(path);
    *error = size < sizeof current ? 0 : ENAMETOOLONG;
    if (*error != 0) return NULL;
    memcpy(current, path, size + 1);
    /* Links in /proc to pipes and devices contain no path. */
    struct stat there;
    bool is_special = stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
    if (is_special) return afc__copy_text(afc_slice_of(current));
    for (int i = 0; i <= AFC__LINKS_MAX; i++) {
        struct stat facts;
        if (lstat(current, &facts) != 0 || !S_ISLNK(facts.st_mode)) {
            return afc__copy_text(afc_slice_of(current));
        }
        *error = afc__follow_link(current);
        if (*error != 0) return NULL;
    }
    *error = ELOOP;
    return NULL;
}

uint64_t afc__free_space(int descriptor) {
    struct statvfs facts;
    if (fstatvfs(descriptor, &facts) != 0 || facts.f_blocks == 0) return UINT64_MAX;
    /* Blocks are counted in f_frsize; f_bsize is only what is best to write at once. */
    return (uint64_t)facts.f_bavail * facts.f_frsize;
}

int afc__folder_of(const char *path, char *folder, unsigned long size) {
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 2;
    if (length >= size) return ENAMETOOLONG;
    memcpy(folder, slash != NULL ? path : "./", length);
    folder[length] = '\0';
    return 0;
}

bool afc__lacks_descriptors(void) {
    int first = open("/", O_PATH | O_CLOEXEC), error = first < 0 ? errno : 0;
    int second = first >= 0 ? open("/", O_PATH | O_CLOEXEC) : -1;
    if (first >= 0 && second < 0) error = errno;
    if (first >= 0) close(first);
    if (second >= 0) close(second);
    return afc__is_shortage(error);
}
