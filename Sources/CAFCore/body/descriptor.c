#include "body/descriptor.h"

#include "base/failure.h"
#include "base/file.h"

#include <afcore/request.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ------------------------------------------------------------------------------- */

static afc_status copy(int *out, int descriptor, const char *what, afc_failure *failure) {
    *out = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (*out >= 0) return AFC_OK;
    int error = errno;
    afc_status status = error == EBADF ? AFC_EINVAL : AFC_EFILE;
    afc__fail(failure, status, "cannot use descriptor %d for %s: %s", descriptor, what,
              strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

afc_status afc__descriptor_open(int *out, int descriptor, afc_failure *failure) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY) {
        return afc__fail(failure, AFC_EINVAL, "descriptor %d isn't open for reading", descriptor);
    }
    return copy(out, descriptor, "the request body", failure);
}

/*
 * The descriptor isn't made non-blocking: O_NONBLOCK applies to all duplicates of it, even in other processes, which
 * may share a terminal. After poll() a read doesn't block, unless another process reads from it, too.
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

/* ---- Writing ------------------------------------------------------------------------------- */

/**
 * Opens the same pipe or terminal again without blocking, so that the flags of the caller's descriptor, and of those
 * who share it, don't change. Fails for a terminal of another user, and without /proc.
 */
static bool reopen(afc__output *output) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", output->descriptor);
    int again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (again < 0) return false;
    close(output->descriptor);
    output->descriptor = again;
    return true;
}

static afc__output_kind find_kind(afc__output *output, int flags, mode_t mode) {
    if (S_ISREG(mode) || S_ISBLK(mode)) return AFC__OUTPUT_FILE;
    if (S_ISSOCK(mode)) return AFC__OUTPUT_SOCKET;
    if ((flags & O_NONBLOCK) != 0) return AFC__OUTPUT_NONBLOCKING;
    /* Opening other devices again may have side effects. */
    bool is_terminal = isatty(output->descriptor);
    if ((S_ISFIFO(mode) || is_terminal) && reopen(output)) return AFC__OUTPUT_NONBLOCKING;
    return is_terminal ? AFC__OUTPUT_TERMINAL : AFC__OUTPUT_BLOCKING;
}

afc_status afc__output_open(afc__output *output, int descriptor, afc_failure *failure) {
    struct stat facts;
    int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        return afc__fail(failure, AFC_EINVAL, "descriptor %d isn't open for writing", descriptor);
    }
    afc_status status = copy(&output->descriptor, descriptor, "the response body", failure);
    if (status != AFC_OK) return status;
    if (fstat(output->descriptor, &facts) != 0) facts.st_mode = S_IFCHR;
    output->kind = find_kind(output, flags, facts.st_mode);
    return AFC_OK;
}

void afc__output_close(afc__output *output) {
    if (output->descriptor >= 0) close(output->descriptor);
    *output = AFC__OUTPUT_CLOSED;
}

static ssize_t send_now(int descriptor, const char *bytes, size_t size) {
    ssize_t count;
    do {
        count = send(descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count;
}

static ssize_t write_if_ready(int descriptor, const char *bytes, size_t size) {
    struct pollfd polled = {.fd = descriptor, .events = POLLOUT};
    int ready;
    while ((ready = poll(&polled, 1, 0)) < 0 && errno == EINTR) {}
    if (ready <= 0) {
        if (ready == 0) errno = EAGAIN;
        return -1;
    }
    return afc__write_quietly(descriptor, bytes, size);
}

static ssize_t write_once(const afc__output *output, const char *bytes, size_t size) {
    switch (output->kind) {
    case AFC__OUTPUT_SOCKET:
        return send_now(output->descriptor, bytes, size);
    case AFC__OUTPUT_BLOCKING:
        /* If poll() reports room in a pipe, PIPE_BUF bytes fit (pipe(7)). */
        return write_if_ready(output->descriptor, bytes, size < PIPE_BUF ? size : PIPE_BUF);
    case AFC__OUTPUT_TERMINAL:
        return write_if_ready(output->descriptor, bytes, 1);
    case AFC__OUTPUT_FILE:
    case AFC__OUTPUT_NONBLOCKING:
        break;
    case AFC__OUTPUT_NONE:
        errno = EBADF;
        return -1;
    }
    return afc__write_quietly(output->descriptor, bytes, size);
}

ptrdiff_t afc__output_write(const afc__output *output, const char *bytes, size_t size,
                            afc_failure *failure) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = write_once(output, bytes + done, size - done);
        if (count > 0) {
            done += (size_t)count;
            continue;
        }
        int error = count < 0 ? errno : EIO;
        if (error == EAGAIN || error == EWOULDBLOCK) break;
        afc__fail(failure, AFC_EFILE, "cannot write the response body: %s", strerror(error));
        if (failure != NULL) failure->system_error = error;
        return -1;
    }
    return (ptrdiff_t)done;
}
