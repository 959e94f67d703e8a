#include "store/file.h"

#include "base/alloc.h"
#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static af_status fail(af_failure *failure, const char *what, const char *path) {
    int error = errno;
    af__fail(failure, AF_EFILE, "%s can't be %s: %s", path, what, strerror(error));
    if (failure != NULL) failure->system_error = error;
    return AF_EFILE;
}

static af_status read_all(af__buffer *out, int descriptor, const char *path, af_failure *failure) {
    char block[16 * 1024];
    for (;;) {
        ssize_t count = read(descriptor, block, sizeof block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(failure, "read", path);
        if (count == 0) return AF_OK;
        af_status status = af__buffer_append(out, block, (size_t)count);
        if (status == AF_ENOMEM) return af__fail(failure, status, "out of memory");
        if (status != AF_OK) return af__fail(failure, AF_EFILE, "%s is too large", path);
    }
}

af_status af__file_load(af__buffer *out, const char *path, af_failure *failure) {
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return errno == ENOENT ? AF_OK : fail(failure, "opened", path);
    af_status status = AF_OK;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = af__fail(failure, AF_EFILE, "%s is no file", path);
    }
    if (status == AF_OK) status = read_all(out, descriptor, path, failure);
    close(descriptor);
    return status;
}

static bool write_all(int descriptor, af_slice bytes) {
    while (bytes.size > 0) {
        ssize_t count = write(descriptor, bytes.bytes, bytes.size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes = (af_slice){bytes.bytes + count, bytes.size - (size_t)count};
    }
    return true;
}

af_status af__file_save(const char *path, af_slice bytes, af_failure *failure) {
    static const char suffix[] = ".XXXXXX";
    size_t size = strlen(path) + sizeof suffix;
    char *temporary = af__alloc(size);
    if (temporary == NULL) return af__fail(failure, AF_ENOMEM, "out of memory");
    snprintf(temporary, size, "%s%s", path, suffix);
    af_status status = AF_OK;
    /* Made with the mode 0600. */
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0) {
        status = fail(failure, "written", path);
        af_free(temporary);
        return status;
    }
    bool is_written = write_all(descriptor, bytes) && fsync(descriptor) == 0;
    if (!is_written) status = fail(failure, "written", path);
    if (close(descriptor) != 0 && status == AF_OK) status = fail(failure, "written", path);
    if (status == AF_OK && rename(temporary, path) != 0) status = fail(failure, "replaced", path);
    if (status != AF_OK) unlink(temporary);
    af_free(temporary);
    return status;
}
