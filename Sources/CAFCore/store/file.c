#include "store/file.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * Checks whether a file can be created in the folder of `path`: otherwise the later save would fail, perhaps unnoticed.
 */
static afc_status check_folder(const char *path, afc_failure *failure) {
    char folder[PATH_MAX];
    int error = afc__folder_of(path, folder, sizeof folder);
    if (error != 0) return afc__fail_file(failure, "cannot create", path, error);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0) return AFC_OK;
    error = errno;
    size_t size = strlen(folder);
    if (size > 1) folder[size - 1] = '\0';
    return afc__fail_file(failure, "cannot create files in the folder", folder, error);
}

afc_status afc__file_load(afc__buffer *out, const char *path, afc_failure *failure) {
    afc_failure found;
    afc_status status = afc__read_file(out, path, AFC__FILE_REGULAR, &found);
    if (status == AFC_OK) return AFC_OK;
    if (found.system_error == ENOENT) return check_folder(path, failure);
    if (status != AFC_ENOMEM) found.status = AFC_EFILE;
    if (failure != NULL) *failure = found;
    return found.status;
}

bool afc__file_next_line(afc_slice *rest, char *line, size_t capacity) {
    while (rest->size > 0) {
        const char *start = rest->bytes;
        const char *end = memchr(start, '\n', rest->size);
        size_t size = end != NULL ? (size_t)(end - start) : rest->size;
        size_t step = end != NULL ? size + 1 : size;
        *rest = (afc_slice){start + step, rest->size - step};
        /* Editors on other systems end lines with CR LF. */
        if (size > 0 && start[size - 1] == '\r') size--;
        if (size >= capacity || memchr(start, '\0', size) != NULL) continue;
        memcpy(line, start, size);
        line[size] = '\0';
        return true;
    }
    return false;
}

/** Writes the bytes to the disk. Returns 0 or an errno. */
static int write_and_sync(int descriptor, afc_slice bytes) {
    int error = afc__write_all(descriptor, bytes.bytes, bytes.size);
    return error == 0 && fsync(descriptor) != 0 ? errno : error;
}

static afc_status save_failed(afc_failure *failure, const char *what, const char *path, int error) {
    if (error == ENOMEM) return afc__fail_memory(failure);
    return afc__fail_file(failure, what, path, error);
}

static afc_status save(const char *path, afc_slice bytes, afc_failure *failure) {
    int descriptor;
    char *name;
    int error = afc__temporary_create_private(path, &descriptor, &name);
    if (error != 0) return save_failed(failure, "cannot write", path, error);
    afc_status status = AFC_OK;
    error = write_and_sync(descriptor, bytes);
    if (error != 0) {
        status = save_failed(failure, "cannot write", path, error);
    } else {
        error = afc__temporary_rename(descriptor, name, path, true);
        if (error != 0) status = save_failed(failure, "cannot replace", path, error);
    }
    if (close(descriptor) != 0 && status == AFC_OK)
        status = save_failed(failure, "cannot write", path, errno);
    if (status != AFC_OK && name != NULL) unlink(name);
    afc_free(name);
    return status;
}

/**
 * Returns whether a path is the link of a descriptor, such as /proc/self/fd/3, or leads to one, as /dev/stdout does.
 * The file behind a descriptor may be deleted, or another one by now.
 */
static bool is_descriptor(const char *path) {
    char current[PATH_MAX];
    struct stat link, proc;
    size_t size = strlen(path);
    if (size >= sizeof current || stat("/proc/self", &proc) != 0) return false;
    memcpy(current, path, size + 1);
    for (int i = 0; i <= AFC__LINKS_MAX; i++) {
        if (lstat(current, &link) != 0 || !S_ISLNK(link.st_mode)) return false;
        if (link.st_dev == proc.st_dev) return true;
        if (afc__follow_link(current) != 0) return false;
    }
    return false;
}

/**
 * Follows symbolic links instead of replacing them: users keep such files elsewhere, for example under version control.
 */
afc_status afc__file_save(const char *path, afc_slice bytes, afc_failure *failure) {
    int error;
    if (is_descriptor(path)) return save_failed(failure, "cannot replace", path, EXDEV);
    char *target = afc__follow_links(path, &error);
    if (target == NULL)
        return save_failed(failure, "cannot write", path, error != 0 ? error : ENOMEM);
    afc_status status = save(target, bytes, failure);
    afc_free(target);
    return status;
}
