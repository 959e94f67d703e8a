#include "body/download_file.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "body/overwrite.h"
#include "body/resume_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Number of attempts: another process may create or remove the file between two steps. */
    MAX_ATTEMPTS = 16,
    PRIVATE_MODE = 0600,
    OPEN_FLAGS = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
};

/* ---- Failing ------------------------------------------------------------------------------- */

static afc_status failed_at(const char *path, int error, afc_failure *failure) {
    afc__fail_file(failure, "cannot write", path, error);
    if (error != ENOMEM) return AFC_EFILE;
    if (failure != NULL) failure->status = AFC_ENOMEM;
    return AFC_ENOMEM;
}

afc_status afc__file_failed(const afc__file *file, int error, afc_failure *failure) {
    return failed_at(file->path, error, failure);
}

static afc_status fail_busy(const afc__file *file, afc_failure *failure) {
    afc_status status = afc__fail(failure, AFC_EFILE,
                                  "%s is in use by another download: retry when that has ended",
                                  file->partial_path);
    if (failure != NULL) failure->system_error = EBUSY;
    return status;
}

/* ---- Names --------------------------------------------------------------------------------- */

static char *join(const char *path, const char *suffix) {
    size_t size = strlen(path), suffix_size = strlen(suffix) + 1;
    char *joined = afc__alloc(size + suffix_size);
    if (joined == NULL) return NULL;
    memcpy(joined, path, size);
    memcpy(joined + size, suffix, suffix_size);
    return joined;
}

afc_status afc__file_init(afc__file *file, const char *path, unsigned flags, bool is_resumable,
                          afc_failure *failure) {
    *file = AFC__FILE_INIT;
    size_t size = strlen(path);
    if (size == 0) return afc__fail(failure, AFC_EINVAL, "the file path is empty");
    if (path[size - 1] == '/') {
        return afc__fail(failure, AFC_EINVAL, "%s is a folder, not a file", path);
    }
    file->flags = flags;
    file->is_resumable = is_resumable;
    int error = 0;
    file->path = (flags & AFC_FILE_FOLLOW_LINKS) != 0 ? afc__follow_links(path, &error)
                                                      : afc__copy_text((afc_slice){path, size});
    if (error != 0) return failed_at(path, error, failure);
    if (file->path == NULL) return afc__fail_memory(failure);
    path = file->path;
    if (!is_resumable) return AFC_OK;
    file->partial_path = join(path, ".part");
    file->token_path = join(path, ".part.resume");
    if (file->partial_path != NULL && file->token_path != NULL) return AFC_OK;
    afc__file_clear(file);
    return afc__fail_memory(failure);
}

static void close_file(afc__file *file) {
    (void)afc__overwrite_end(&file->overwritten, false);
    if (file->descriptor < 0) return;
    /* A forked process may have the descriptor too: closing alone would leave the file locked. */
    if (file->is_resumable) flock(file->descriptor, LOCK_UN);
    close(file->descriptor);
    file->descriptor = -1;
}

void afc__file_clear(afc__file *file) {
    if (file->descriptor >= 0 && file->is_touched) afc__file_discard(file);
    close_file(file);
    afc_free(file->path);
    afc_free(file->partial_path);
    afc_free(file->token_path);
    afc__resume_clear(&file->token);
    *file = AFC__FILE_INIT;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static bool is_under_name(const char *path, const struct stat *facts) {
    struct stat named;
    return lstat(path, &named) == 0 && named.st_dev == facts->st_dev &&
           named.st_ino == facts->st_ino;
}

/** Returns what is in place of PATH.part; NULL if that is a regular file, or nothing. */
static const char *obstacle_at(const char *path) {
    struct stat facts;
    if (lstat(path, &facts) != 0 || S_ISREG(facts.st_mode)) return NULL;
    if (S_ISLNK(facts.st_mode)) return "a symbolic link";
    if (S_ISDIR(facts.st_mode)) return "a folder";
    if (S_ISFIFO(facts.st_mode)) return "a named pipe";
    return S_ISSOCK(facts.st_mode) ? "a socket" : "a device";
}

/** Fails because of what is in place of PATH.part. Nothing is written through it, and it isn't removed. */
static afc_status fail_to_open(const afc__file *file, int error, afc_failure *failure) {
    const char *obstacle = obstacle_at(file->partial_path);
    if (obstacle == NULL) return failed_at(file->partial_path, error, failure);
    afc__fail(failure, AFC_EFILE, "%s is in place of the partial file: remove %s", obstacle,
              file->partial_path);
    if (failure != NULL) failure->system_error = error;
    return AFC_EFILE;
}

/**
 * Opens PATH.part and locks it. `*is_there` is false if it doesn't exist. After locking, the file must still have its
 * name: since it was opened, it may have been renamed to its final name, or replaced.
 */
static afc_status open_locked(afc__file *file, struct stat *facts, bool *is_there,
                              afc_failure *failure) {
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        *is_there = false;
        file->descriptor = open(file->partial_path, OPEN_FLAGS);
        if (file->descriptor < 0) {
            return errno == ENOENT ? AFC_OK : fail_to_open(file, errno, failure);
        }
        int error = 0;
        if (fstat(file->descriptor, facts) != 0) error = errno;
        if (error == 0 && !S_ISREG(facts->st_mode)) error = ENOTSUP;
        if (error == 0 && flock(file->descriptor, LOCK_EX | LOCK_NB) != 0) error = errno;
        if (error == 0 && is_under_name(file->partial_path, facts)) {
            /* The size may have changed before the file was locked. */
            *is_there = fstat(file->descriptor, facts) == 0;
            return AFC_OK;
        }
        if (error != 0) close(file->descriptor);
        if (error == 0) close_file(file);
        file->descriptor = -1;
        if (error == EWOULDBLOCK) return fail_busy(file, failure);
        if (error != 0) return fail_to_open(file, error, failure);
    }
    return fail_busy(file, failure);
}

/** Returns whether the file is private: only the user can write to it, and it has no other name. */
static bool is_private(const struct stat *facts) {
    return facts->st_uid == geteuid() && facts->st_nlink == 1 &&
           (facts->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/**
 * Returns the birth time in nanoseconds since 1970, or 0 if the file system doesn't record it. It
 * can't be changed.
 */
static uint64_t birth_of(int descriptor) {
    struct statx facts;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &facts) != 0) return 0;
    if ((facts.stx_mask & STATX_BTIME) == 0 || facts.stx_btime.tv_sec < 0) return 0;
    return (uint64_t)facts.stx_btime.tv_sec * 1000000000u + facts.stx_btime.tv_nsec;
}

/**
 * Returns whether a file has grown since its download ended: then it has bytes of another origin. A shorter file is the
 * beginning of the download, and can be resumed.
 */
static bool has_grown(const afc__resume_token *token, int64_t size) {
    bool has_ended = token->received > 0;
    return (has_ended && size > token->received) ||
           (token->total != AFC_LENGTH_UNKNOWN && size > token->total);
}

static bool is_of(const afc__resume_token *token, afc_slice url, const struct stat *facts,
                  uint64_t birth_time) {
    return afc__resume_exists(token) && afc__is_same(token->url, url) &&
           token->device == (uint64_t)facts->st_dev && token->inode == (uint64_t)facts->st_ino &&
           token->birth_time == birth_time && !has_grown(token, facts->st_size);
}

static afc_status copy_token(const afc__resume_token *from, afc__resume_token *to) {
    *to = *from;
    to->block = afc__alloc(from->url.size + from->validator.size);
    if (to->block == NULL) {
        *to = (afc__resume_token){0};
        return AFC_ENOMEM;
    }
    char *validator = to->block + from->url.size;
    memcpy(to->block, from->url.bytes, from->url.size);
    memcpy(validator, from->validator.bytes, from->validator.size);
    to->url.bytes = to->block;
    to->validator.bytes = validator;
    return AFC_OK;
}

static afc_status find_token(afc__file *file, afc_slice url, const afc__resume_token *given,
                             const struct stat *facts, afc_failure *failure) {
    uint64_t birth_time = birth_of(file->descriptor);
    if (given != NULL && is_of(given, url, facts, birth_time)) {
        return copy_token(given, &file->token) == AFC_OK ? AFC_OK : afc__fail_memory(failure);
    }
    afc__token_kind kind;
    afc_status status = afc__token_load(file->token_path, &file->token, &kind);
    if (status == AFC_ENOMEM) return afc__fail_memory(failure);
    if (status != AFC_OK) {
        afc__fail_file(failure, "cannot read", file->token_path, errno);
        return status;
    }
    file->has_damaged_token = kind == AFC__TOKEN_DAMAGED || kind == AFC__TOKEN_FOREIGN;
    if (kind == AFC__TOKEN_READ && !is_of(&file->token, url, facts, birth_time))
        afc__resume_clear(&file->token);
    return AFC_OK;
}

afc_status afc__file_find(afc__file *file, afc_slice url, const afc__resume_token *given,
                          afc_failure *failure) {
    struct stat facts;
    bool is_there;
    afc_status status = open_locked(file, &facts, &is_there, failure);
    if (status != AFC_OK || !is_there) return status;
    if (facts.st_size > 0 && is_private(&facts))
        status = find_token(file, url, given, &facts, failure);
    if (status != AFC_OK) {
        close_file(file);
        return status;
    }
    if (afc__resume_exists(&file->token)) {
        file->token.received = file->size = facts.st_size;
    } else {
        close_file(file);
    }
    return AFC_OK;
}

afc_status afc__file_check_partial(afc__file *file, afc_slice url, afc_failure *failure) {
    struct stat facts;
    afc_status status = afc__file_find(file, url, NULL, failure);
    if (status != AFC_OK || afc__resume_exists(&file->token)) return status;
    if (lstat(file->partial_path, &facts) == 0)
        return failed_at(file->partial_path, EEXIST, failure);
    if (!afc__token_is_foreign(file->token_path)) return AFC_OK;
    return failed_at(file->token_path, EEXIST, failure);
}

static int make_folders(const char *path) {
    char folder[PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof folder) return ENAMETOOLONG;
    memcpy(folder, path, size + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) return errno;
        *at = '/';
    }
    return 0;
}

/**
 * Checks for errors that would otherwise be noticed after the last byte, or never: rename() would replace /dev/null or
 * a pipe by a file. Returns 0 or an errno.
 */
static int check_destination(afc__file *file) {
    struct stat facts;
    if ((file->flags & AFC_FILE_MAKE_FOLDERS) != 0) {
        int error = make_folders(file->path);
        if (error != 0) return error;
    }
    if (lstat(file->path, &facts) != 0) return 0;
    if (S_ISDIR(facts.st_mode)) return EISDIR;
    if ((file->flags & AFC_FILE_NO_REPLACE) != 0) return EEXIST;
    if (stat(file->path, &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) return 0;
    file->is_device = S_ISCHR(facts.st_mode);
    return file->is_device ? 0 : ENOTSUP;
}

/** Removes an existing file with the temporary name, unless another task is writing it. */
static afc_status clear_way(afc__file *file, afc_failure *failure) {
    struct stat facts;
    bool is_there = file->descriptor >= 0;
    afc_status status = AFC_OK;
    if (!is_there) status = open_locked(file, &facts, &is_there, failure);
    if (status != AFC_OK || !is_there) return status;
    int error = unlink(file->partial_path) != 0 && errno != ENOENT ? errno : 0;
    close_file(file);
    return error == 0 ? AFC_OK : failed_at(file->partial_path, error, failure);
}

static afc_status create_locked(afc__file *file, afc_failure *failure) {
    afc__resume_clear(&file->token);
    file->size = 0;
    file->has_lost_bytes = false;
    int error = afc__new_file_mode(file->partial_path, &file->mode);
    if (error != 0) return failed_at(file->partial_path, error, failure);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        afc_status status = clear_way(file, failure);
        if (status != AFC_OK) return status;
        file->descriptor = open(file->partial_path, OPEN_FLAGS | O_CREAT | O_EXCL, PRIVATE_MODE);
        if (file->descriptor < 0 && errno == EEXIST) continue;
        if (file->descriptor < 0) return failed_at(file->partial_path, errno, failure);
        if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0) {
            error = errno;
            close(file->descriptor);
            file->descriptor = -1;
            if (error == EWOULDBLOCK) return fail_busy(file, failure);
            return failed_at(file->partial_path, error, failure);
        }
        file->is_touched = true;
        return AFC_OK;
    }
    return fail_busy(file, failure);
}

afc_status afc__file_create(afc__file *file, afc_failure *failure) {
    int error = check_destination(file);
    if (error != 0) return failed_at(file->path, error, failure);
    if (file->is_device) {
        file->descriptor = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return file->descriptor >= 0 ? AFC_OK : failed_at(file->path, errno, failure);
    }
    if (file->is_resumable) return create_locked(file, failure);
    error = afc__temporary_create(file->path, &file->descriptor, &file->partial_path, &file->mode);
    if (error == ENOMEM) return afc__fail_memory(failure);
    if (error != 0) return failed_at(file->path, error, failure);
    file->is_touched = true;
    return AFC_OK;
}

afc_status afc__file_resume(afc__file *file, afc_failure *failure) {
    int error = check_destination(file);
    if (error == 0 && file->is_device) error = ENOTSUP;
    if (error == 0 && lseek(file->descriptor, file->size, SEEK_SET) < 0) error = errno;
    if (error != 0) return failed_at(file->path, error, failure);
    file->is_touched = true;
    return AFC_OK;
}

/** Saves the token with the number of bytes in the file at the end of the download; 0 while it is under way. */
static afc_status save_token(afc__file *file, int64_t received, mode_t *mode, int *error) {
    bool syncs = (file->flags & AFC_FILE_SYNC) != 0;
    file->token.received = received;
    afc_status status = afc__token_save(file->token_path, &file->token, syncs, mode, error);
    file->token.received = file->size;
    return status;
}

/** Removes the token. A file that this task hasn't saved may be the user's, and is only removed if it is a token. */
static void remove_token(const afc__file *file) {
    if (file->has_saved_token || !afc__token_is_foreign(file->token_path)) unlink(file->token_path);
}

afc_status afc__file_write_token(afc__file *file, afc__resume_token *token, afc_failure *failure) {
    struct stat facts;
    if (fstat(file->descriptor, &facts) != 0) return afc__file_failed(file, errno, failure);
    if (token != &file->token) {
        afc__resume_clear(&file->token);
        file->token = *token;
        *token = (afc__resume_token){0};
    }
    if (!afc__resume_exists(&file->token)) {
        remove_token(file);
        return AFC_OK;
    }
    file->token.device = (uint64_t)facts.st_dev;
    file->token.inode = (uint64_t)facts.st_ino;
    file->token.birth_time = birth_of(file->descriptor);
    int error = 0;
    mode_t mode = 0;
    afc_status status = save_token(file, 0, &mode, &error);
    /*
     * A file that was found is private, so the destination's mode isn't known from it: use that of new files in the
     * folder.
     */
    if (file->mode == 0) file->mode = mode;
    if (status == AFC_OK) file->has_saved_token = true;
    if (status == AFC_OK) return AFC_OK;
    if (status == AFC_EFILE) return failed_at(file->token_path, error, failure);
    return afc__fail(failure, status, "%s", afc_status_text(status));
}

/* ---- Writing ------------------------------------------------------------------------------- */

afc_status afc__file_check_space(const afc__file *file, int64_t length, afc_failure *failure) {
    if (length <= 0 || (uint64_t)length <= afc__free_space(file->descriptor)) return AFC_OK;
    return afc__file_failed(file, ENOSPC, failure);
}

afc_status afc__file_write(afc__file *file, const char *bytes, size_t size, afc_failure *failure) {
    while (size > 0) {
        ssize_t count = write(file->descriptor, bytes, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return afc__file_failed(file, count < 0 ? errno : EIO, failure);
        bytes += count;
        size -= (size_t)count;
        file->size += count;
    }
    return AFC_OK;
}

ssize_t afc__file_read(const afc__file *file, void *buffer, size_t size, int64_t offset) {
    for (;;) {
        ssize_t count = pread(file->descriptor, buffer, size, offset);
        if (count >= 0 || errno != EINTR) return count;
    }
}

/* ---- Ending -------------------------------------------------------------------------------- */

/** Opens the folder of `path`, to sync it. Returns 0 or an errno. */
static int open_folder_of(const char *path, int *descriptor) {
    char folder[PATH_MAX];
    int error = afc__folder_of(path, folder, sizeof folder);
    if (error != 0) return error;
    *descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *descriptor >= 0 ? 0 : errno;
}

/** Closes the folder, after syncing it if it has changed. Returns 0 or an errno. */
static int leave_folder(int descriptor, bool has_changed) {
    if (descriptor < 0) return 0;
    /* EINVAL: some file systems don't support (or need) fsync() on folders. */
    int error = has_changed && fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;
    close(descriptor);
    return error;
}

/** Gives the file this owner and group, if the process may. */
static void set_owner(const afc__file *file, uid_t owner, gid_t group) {
    /* A group of the process is allowed without privileges. */
    bool is_set = fchown(file->descriptor, owner, group) == 0 ||
                  fchown(file->descriptor, (uid_t)-1, group) == 0;
    (void)is_set;
}

/** Gives the file its final permissions. Returns 0 or an errno. */
static int set_permissions(const afc__file *file) {
    struct stat facts;
    mode_t mode = file->mode;
    bool replaces = (file->flags & AFC_FILE_KEEP_MODE) != 0 && lstat(file->path, &facts) == 0 &&
                    S_ISREG(facts.st_mode);
    if (replaces) {
        mode = facts.st_mode & 0777;
        set_owner(file, facts.st_uid, facts.st_gid);
    }
    bool changes = replaces || file->partial_path != NULL;
    return changes && fchmod(file->descriptor, mode) != 0 ? errno : 0;
}

/** Gives the file its final name. Returns 0 or an errno: EBUSY if the destination can't be replaced. */
static int give_name(afc__file *file) {
    bool syncs = (file->flags & AFC_FILE_SYNC) != 0;
    int error = set_permissions(file);
    if (error != 0) return error;
    file->has_lost_bytes = syncs && fsync(file->descriptor) != 0;
    if (file->has_lost_bytes) return errno;
    bool replaces = (file->flags & AFC_FILE_NO_REPLACE) == 0;
    return afc__temporary_rename(file->descriptor, file->partial_path, file->path, replaces);
}

bool afc__file_is_overwriting(const afc__file *file) {
    return file->overwritten >= 0;
}

/** Writes the next piece over a destination that can't be replaced. Returns 0 or an errno. */
static int overwrite(afc__file *file, bool *has_more) {
    int error = afc__overwrite_piece(file->overwritten, file->descriptor, file->size, has_more);
    if (error != 0 || *has_more) return error;
    error = afc__overwrite_end(&file->overwritten, (file->flags & AFC_FILE_SYNC) != 0);
    if (error == 0 && file->partial_path != NULL) unlink(file->partial_path);
    return error;
}

/**
 * Detects bytes that were accepted and then lost: NFS and quotas report them only when a descriptor is closed
 * (close(2)). A duplicate is closed, because the file must stay locked. Returns 0 or an errno.
 */
static int flush(afc__file *file) {
    int copy = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    /* Without a free descriptor nothing is reported early, but the bytes may well be written. */
    if (copy < 0) return errno == EMFILE || errno == ENFILE ? 0 : errno;
    if (close(copy) == 0 || errno == EINTR) return 0;
    file->has_lost_bytes = true;
    return errno;
}

static int put_in_place(afc__file *file, bool may_overwrite, bool *has_more) {
    if (afc__file_is_overwriting(file)) return overwrite(file, has_more);
    int error = flush(file);
    if (error == 0) error = give_name(file);
    /* Overwrite only if the path stands for its target, whatever that is. */
    bool stands_for_target = (file->flags & AFC_FILE_FOLLOW_LINKS) != 0;
    bool replaces = (file->flags & AFC_FILE_NO_REPLACE) == 0;
    if (error != EBUSY || !may_overwrite || !replaces || !stands_for_target) return error;
    error = afc__overwrite_begin(&file->overwritten, file->path, file->size);
    return error == 0 ? overwrite(file, has_more) : error;
}

/** Returns whether the file still has its temporary name. Its folder may have been removed, or the file replaced. */
static bool is_in_place(const afc__file *file) {
    struct stat facts;
    if (file->partial_path == NULL) return true;
    return fstat(file->descriptor, &facts) == 0 && is_under_name(file->partial_path, &facts);
}

afc_status afc__file_finish(afc__file *file, bool may_overwrite, bool *has_more,
                            afc_failure *failure) {
    *has_more = false;
    if (file->is_device) {
        close_file(file);
        return AFC_OK;
    }
    /* Opened first: if it can't be read, it can't be synced either, and then the old file must stay. */
    int folder = -1;
    int error = (file->flags & AFC_FILE_SYNC) != 0 ? open_folder_of(file->path, &folder) : 0;
    /* Otherwise rename() would give the destination's name to a foreign file. */
    if (error == 0 && !is_in_place(file)) error = ENOENT;
    if (error == 0) error = put_in_place(file, may_overwrite, has_more);
    bool is_named = error == 0 && !*has_more;
    if (is_named && file->is_resumable) remove_token(file);
    int sync_error = leave_folder(folder, is_named);
    if (error == 0 && *has_more) return AFC_OK;
    if (error != 0) {
        *has_more = false;
        if (file->partial_path != NULL) {
            set_owner(file, geteuid(), getegid());
            (void)fchmod(file->descriptor, PRIVATE_MODE);
        }
        return afc__file_failed(file, error, failure);
    }
    close_file(file);
    afc__resume_clear(&file->token);
    return sync_error == 0 ? AFC_OK : afc__file_failed(file, sync_error, failure);
}

void afc__file_discard(afc__file *file) {
    if (file->descriptor >= 0 && !file->is_device && is_in_place(file)) {
        if (file->partial_path != NULL) unlink(file->partial_path);
        if (file->is_resumable) remove_token(file);
    }
    close_file(file);
    afc__resume_clear(&file->token);
}

bool afc__file_keep(afc__file *file) {
    bool is_good = file->descriptor >= 0 && afc__resume_exists(&file->token) && file->size > 0 &&
                   is_in_place(file) && !file->has_lost_bytes && flush(file) == 0;
    if (!is_good) {
        afc__file_discard(file);
        return false;
    }
    mode_t mode;
    int error;
    /* If there is no space for it, the token from the beginning of the download stays, which does as well. */
    (void)save_token(file, file->size, &mode, &error);
    close_file(file);
    return true;
}
