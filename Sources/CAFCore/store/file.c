#include "store/file.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static af_status fail(af_failure *failure, const char *what, const char *path) {
    int error = errno;
    af__fail(failure, AF_EFILE, "cannot %s %s: %s", what, path, strerror(error));
    if (failure != NULL) failure->system_error = error;
    return AF_EFILE;
}

af_status af__file_load(af__buffer *out, const char *path, af_failure *failure) {
    af_failure found;
    af_status status = af__read_file(out, path, AF__FILE_REGULAR, &found);
    if (status == AF_OK || found.system_error == ENOENT) return AF_OK;
    if (status != AF_ENOMEM) found.status = AF_EFILE;
    if (failure != NULL) *failure = found;
    return found.status;
}

af_status af__file_save(const char *path, af_slice bytes, af_failure *failure) {
    static const char suffix[] = ".XXXXXX";
    size_t size = strlen(path) + sizeof suffix;
    char *temporary = af__alloc(size);
    if (temporary == NULL) return af__fail_memory(failure);
    snprintf(temporary, size, "%s%s", path, suffix);
    af_status status = AF_OK;
    /* Created with mode 0600. */
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0) {
        status = fail(failure, "write", path);
        af_free(temporary);
        return status;
    }
    errno = af__write_all(descriptor, bytes.bytes, bytes.size);
    if (errno != 0 || fsync(descriptor) != 0) status = fail(failure, "write", path);
    if (close(descriptor) != 0 && status == AF_OK) status = fail(failure, "write", path);
    if (status == AF_OK && rename(temporary, path) != 0) status = fail(failure, "replace", path);
    if (status != AF_OK) unlink(temporary);
    af_free(temporary);
    return status;
}
