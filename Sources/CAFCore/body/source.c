#include "body/source.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void af__body_release(const af_body *body) {
    if (body->release != NULL) body->release(body->context);
    if (body->kind == AF_BODY_READER && body->reader.release != NULL) {
        body->reader.release(body->reader.context);
    }
    if (body->kind == AF_BODY_MULTIPART) af_multipart_free(body->form);
}

static af_status check(const af_body *body, af_failure *failure) {
    switch (body->kind) {
    case AF_BODY_NONE:
        return AF_OK;
    case AF_BODY_BYTES:
        if (body->bytes.bytes != NULL || body->bytes.size == 0) return AF_OK;
        return af__fail(failure, AF_EINVAL, "the request body has a size but no bytes");
    case AF_BODY_FILE:
        if (body->path != NULL && body->path[0] != '\0') return AF_OK;
        return af__fail(failure, AF_EINVAL, "the request body's file has no path");
    case AF_BODY_READER:
        if (body->reader.read == NULL) {
            return af__fail(failure, AF_EINVAL, "the request body's reader has no read function");
        }
        if (body->length < AF_LENGTH_UNKNOWN) {
            return af__fail(failure, AF_EINVAL, "the request body's length is negative");
        }
        return AF_OK;
    case AF_BODY_MULTIPART:
        if (body->form != NULL) return AF_OK;
        return af__fail(failure, AF_EINVAL, "the request body has no form");
    }
    return af__fail(failure, AF_EINVAL, "invalid kind of request body: %d", (int)body->kind);
}

af_status af__source_init(af__source *source, const af_body *body, af_failure *failure) {
    *source = (af__source){.body = *body, .descriptor = -1};
    af_status status = check(body, failure);
    if (status == AF_OK && body->kind == AF_BODY_FILE) {
        source->owned = af__copy_text(af_slice_of(body->path));
        source->body.path = source->owned;
        if (source->owned == NULL) status = af__fail_memory(failure);
    } else if (status == AF_OK && body->kind == AF_BODY_BYTES && body->release == NULL &&
               body->bytes.size > 0) {
        source->owned = af__alloc(body->bytes.size);
        if (source->owned == NULL) {
            status = af__fail(failure, AF_ENOMEM, "out of memory for a body of %zu bytes",
                              body->bytes.size);
        } else {
            memcpy(source->owned, body->bytes.bytes, body->bytes.size);
            source->body.bytes.bytes = source->owned;
        }
    }
    if (status != AF_OK) {
        af__body_release(body);
        *source = (af__source){.descriptor = -1};
        return status;
    }
    if (body->kind == AF_BODY_BYTES) source->length = (int64_t)body->bytes.size;
    if (body->kind == AF_BODY_READER) source->length = body->length;
    if (body->kind == AF_BODY_MULTIPART) source->length = af_multipart_get_length(body->form);
    return AF_OK;
}

static void close_file(af__source *source) {
    if (source->descriptor >= 0) close(source->descriptor);
    source->descriptor = -1;
}

void af__source_clear(af__source *source) {
    close_file(source);
    af__body_release(&source->body);
    af_free(source->owned);
    *source = (af__source){.descriptor = -1};
}

static af_status file_failed(af_failure *failure, const char *what, const char *path, int error) {
    af_status status = af__fail(failure, AF_EFILE, "%s %s: %s", what, path, strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

af_status af__source_open(af__source *source, af_failure *failure) {
    if (source->body.kind != AF_BODY_FILE || source->descriptor >= 0) return AF_OK;
    const char *path = source->body.path;
    /* Non-blocking, so that a FIFO without a writer is refused below, instead of blocking. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return file_failed(failure, "cannot open", path, errno);
    struct stat facts;
    int error = fstat(descriptor, &facts) != 0 ? errno
                : S_ISDIR(facts.st_mode)       ? EISDIR
                : !S_ISREG(facts.st_mode)      ? EINVAL
                                               : 0;
    if (error != 0) {
        close(descriptor);
        return file_failed(failure, "cannot read", path, error);
    }
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    source->descriptor = descriptor;
    source->length = facts.st_size;
    return AF_OK;
}

bool af__source_exists(const af__source *source) {
    return source->body.kind != AF_BODY_NONE;
}

const af_slice *af__source_in_memory(const af__source *source) {
    return source->body.kind == AF_BODY_BYTES ? &source->body.bytes : NULL;
}

static ptrdiff_t read_file(const af__source *source, void *buffer, size_t size,
                           af_failure *failure) {
    for (;;) {
        ssize_t count = read(source->descriptor, buffer, size);
        if (count >= 0) return count;
        if (errno == EINTR) continue;
        file_failed(failure, "cannot read", source->body.path, errno);
        return AF_READ_FAILED;
    }
}

static ptrdiff_t read_some(const af__source *source, void *buffer, size_t size,
                           af_failure *failure) {
    switch (source->body.kind) {
    case AF_BODY_NONE:
        return AF_READ_END;
    case AF_BODY_BYTES:
        if (size > 0) memcpy(buffer, source->body.bytes.bytes + source->position, size);
        return (ptrdiff_t)size;
    case AF_BODY_FILE:
        return read_file(source, buffer, size, failure);
    case AF_BODY_READER:
        return source->body.reader.read(source->body.reader.context, buffer, size);
    case AF_BODY_MULTIPART:
        return af_multipart_read(source->body.form, buffer, size, failure);
    }
    return AF_READ_FAILED;
}

static ptrdiff_t wrong_length(const af__source *source, const char *how, af_failure *failure) {
    bool is_file = source->body.kind == AF_BODY_FILE;
    af__fail(failure, is_file ? AF_EFILE : AF_ESOURCE, "%s %s than its %lld bytes",
             is_file ? source->body.path : "the request body became", how,
             (long long)source->length);
    return AF_READ_FAILED;
}

static ptrdiff_t end_of_source(const af__source *source, af_failure *failure) {
    if (source->length != AF_LENGTH_UNKNOWN && source->position < source->length) {
        return wrong_length(source, "is shorter", failure);
    }
    return AF_READ_END;
}

static ptrdiff_t wait_for_more(af__source *source) {
    source->is_waiting = true;
    if (source->body.kind == AF_BODY_MULTIPART) {
        int64_t delay = af_multipart_get_delay_us(source->body.form);
        if (delay > 0) source->ready_us = af__now_us() + delay;
    }
    return AF_READ_AGAIN;
}

ptrdiff_t af__source_read(af__source *source, void *buffer, size_t size, af_failure *failure) {
    source->has_started = true;
    source->is_waiting = false;
    source->ready_us = 0;
    if (source->length != AF_LENGTH_UNKNOWN) {
        uint64_t left = (uint64_t)(source->length - source->position);
        if (size > left) size = (size_t)left;
        if (size == 0) return AF_READ_END;
    }
    ptrdiff_t count = read_some(source, buffer, size, failure);
    if (count == AF_READ_AGAIN) return wait_for_more(source);
    if (count == 0) return end_of_source(source, failure);
    if (count < 0) {
        if (source->body.kind == AF_BODY_READER) {
            af__fail(failure, AF_ESOURCE, "the reader of the request body failed");
        }
        return AF_READ_FAILED;
    }
    if ((size_t)count > size) return wrong_length(source, "is longer", failure);
    source->position += count;
    return count;
}

bool af__source_can_rewind(const af__source *source) {
    if (source->body.kind == AF_BODY_MULTIPART) return af_multipart_can_rewind(source->body.form);
    return source->body.kind != AF_BODY_READER || source->body.reader.rewind != NULL ||
           !source->has_started;
}

af_status af__source_rewind(af__source *source, af_failure *failure) {
    if (!source->has_started) return AF_OK;
    if (source->body.kind == AF_BODY_READER) {
        if (source->body.reader.rewind == NULL) {
            return af__fail(failure, AF_EREPLAY,
                            "the request body can't be replayed: its reader has no rewind");
        }
        if (!source->body.reader.rewind(source->body.reader.context)) {
            return af__fail(failure, AF_EREPLAY,
                            "the request body can't be replayed: its reader failed to rewind");
        }
    }
    if (source->body.kind == AF_BODY_MULTIPART) {
        af_status status = af_multipart_rewind(source->body.form, failure);
        if (status != AF_OK) return status;
    }
    source->position = source->ready_us = 0;
    source->has_started = source->is_waiting = false;
    if (source->body.kind == AF_BODY_FILE) {
        /* Opened again, because the file may have been replaced by one of another length. */
        close_file(source);
        return af__source_open(source, failure);
    }
    return AF_OK;
}
