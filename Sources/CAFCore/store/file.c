#include "store/file.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

afc_status afc__file_load(afc__buffer *out, const char *path, afc_failure *failure) {
    afc_failure found;
    afc_status status = afc__read_file(out, path, AFC__FILE_REGULAR, &found);
    if (status == AFC_OK || found.system_error == ENOENT) return AFC_OK;
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

afc_status afc__file_save(const char *path, afc_slice bytes, afc_failure *failure) {
    static const char suffix[] = ".XXXXXX";
    size_t size = strlen(path) + sizeof suffix;
    char *temporary = afc__alloc(size);
    if (temporary == NULL) return afc__fail_memory(failure);
    snprintf(temporary, size, "%s%s", path, suffix);
    afc_status status = AFC_OK;
    /* Created with mode 0600. */
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0) {
        status = afc__fail_file(failure, "cannot write", path, errno);
        afc_free(temporary);
        return status;
    }
    errno = afc__write_all(descriptor, bytes.bytes, bytes.size);
    if (errno != 0 || fsync(descriptor) != 0)
        status = afc__fail_file(failure, "cannot write", path, errno);
    if (close(descriptor) != 0 && status == AFC_OK)
        status = afc__fail_file(failure, "cannot write", path, errno);
    if (status == AFC_OK && rename(temporary, path) != 0)
        status = afc__fail_file(failure, "cannot replace", path, errno);
    if (status != AFC_OK) unlink(temporary);
    afc_free(temporary);
    return status;
}
