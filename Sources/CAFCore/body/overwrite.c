#include "body/overwrite.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Bytes of a piece, which take some milliseconds. Between two pieces the writer thread does other work. */
    PIECE = 4 * 1024 * 1024,
    /* The unit of stx_blocks. */
    BLOCK = 512
};

static int check(int descriptor, int64_t size) {
    struct statx file;
    unsigned wanted = STATX_TYPE | STATX_BLOCKS;
    if (statx(descriptor, "", AT_EMPTY_PATH, wanted, &file) != 0) return errno;
    /* File systems also report EBUSY for a file that is in use. */
    if (!S_ISREG(file.stx_mode) || (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return EBUSY;
    uint64_t available = afc__free_space(descriptor), occupied = file.stx_blocks * BLOCK;
    bool fits = available > UINT64_MAX - occupied || (uint64_t)size <= available + occupied;
    return fits ? 0 : ENOSPC;
}

int afc__overwrite_begin(int *target, const char *path, int64_t size) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return errno;
    int error = check(descriptor, size);
    if (error == 0)
        *target = descriptor;
    else
        close(descriptor);
    return error;
}

int afc__overwrite_piece(int target, int source, int64_t size, bool *has_more) {
    off_t written = lseek(target, 0, SEEK_CUR);
    off_t end = size - written < PIECE ? size : written + PIECE;
    while (written < end) {
        ssize_t count = sendfile(target, source, &written, (size_t)(end - written));
        if (count < 0 && errno == EINTR) continue;
        /* 0 means that the source has become shorter. */
        if (count <= 0) return count < 0 ? errno : EIO;
    }
    *has_more = end < size;
    return 0;
}

int afc__overwrite_end(int *target, bool syncs) {
    if (*target < 0) return 0;
    int error = ftruncate(*target, lseek(*target, 0, SEEK_CUR)) != 0 ? errno : 0;
    if (error == 0 && syncs && fsync(*target) != 0) error = errno;
    /* A quota may be noticed only now. */
    if (close(*target) != 0 && error == 0) error = errno;
    *target = -1;
    return error;
}
