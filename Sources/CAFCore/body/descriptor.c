#include "body/descriptor.h"

#include "base/failure.h"

#include <afcore/task.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

afc_status afc__descriptor_copy(int *out, int descriptor, const char *what, afc_failure *failure) {
    *out = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (*out >= 0) return AFC_OK;
    int error = errno;
    afc_status status = error == EBADF ? AFC_EINVAL : AFC_EFILE;
    afc__fail(failure, status, "cannot use descriptor %d for %s: %s", descriptor, what,
              strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

/*
 * The descriptor isn't made non-blocking: that would hold for all of its duplicates, also in other processes, which
 * may share a terminal. After poll() a read doesn't block, unless another process reads from it too.
 */
ptrdiff_t afc__descriptor_read(int descriptor, void *buffer, size_t size, afc_failure *failure) {
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    int ready;
    while ((ready = poll(&polled, 1, 0)) < 0 && errno == EINTR) {}
    if (ready == 0) return AFC_READ_AGAIN;
    ssize_t count;
    while ((count = read(descriptor, buffer, size)) < 0 && errno == EINTR) {}
    if (count >= 0) return count;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return AFC_READ_AGAIN;
    int error = errno;
    afc__fail(failure, AFC_EFILE, "cannot read the request body: %s", strerror(error));
    if (failure != NULL) failure->system_error = error;
    return AFC_READ_FAILED;
}
