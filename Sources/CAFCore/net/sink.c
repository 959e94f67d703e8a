#include "net/sink.h"

#include "base/alloc.h"
#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STAGE_SIZE = 64 * 1024,
    /* A block of this size costs more to copy than to write by itself. */
    LARGE_BLOCK = 8 * 1024
};

#define DEFAULT_MEMORY_LIMIT (64u * 1024u * 1024u)
/* What Content-Length alone may reserve: more is believed once it arrives. */
#define RESERVE_LIMIT (256u * 1024u * 1024u)

static af_status name_files(af__sink *sink, const char *path) {
    static atomic_uint counter;
    size_t room = strlen(path) + 32;
    sink->path = af__copy_text(af_slice_of(path));
    sink->partial_path = af__alloc(room);
    if (sink->path == NULL || sink->partial_path == NULL) return AF_ENOMEM;
    snprintf(sink->partial_path, room, "%s.%lx-%x.part", path, (unsigned long)getpid(),
             atomic_fetch_add(&counter, 1));
    return AF_OK;
}

af_status af__sink_init(af__sink *sink, const af_sink *options, uint64_t limit,
                        af_failure *failure) {
    *sink = (af__sink){.kind = options->kind, .descriptor = -1};
    switch (options->kind) {
    case AF_SINK_MEMORY:
        sink->limit = limit != 0 ? limit : DEFAULT_MEMORY_LIMIT;
        af__buffer_init(&sink->memory, sink->limit);
        return AF_OK;
    case AF_SINK_FILE:
        if (options->path == NULL || options->path[0] == '\0') {
            return af__fail(failure, AF_EINVAL, "the file sink has no path");
        }
        sink->limit = limit != 0 ? limit : UINT64_MAX;
        af__buffer_init(&sink->memory, STAGE_SIZE);
        if (name_files(sink, options->path) == AF_OK) return AF_OK;
        af__sink_clear(sink);
        return af__fail(failure, AF_ENOMEM, "out of memory");
    case AF_SINK_EVENTS:
        sink->limit = limit != 0 ? limit : UINT64_MAX;
        af__buffer_init(&sink->memory, 0);
        return AF_OK;
    }
    return af__fail(failure, AF_EINVAL, "unknown kind of sink: %d", (int)options->kind);
}

void af__sink_clear(af__sink *sink) {
    if (sink->descriptor >= 0) {
        close(sink->descriptor);
        unlink(sink->partial_path);
    }
    af_free(sink->path);
    af_free(sink->partial_path);
    af__buffer_clear(&sink->memory);
    *sink = (af__sink){.descriptor = -1};
}

static af_status too_big(const af__sink *sink, af_failure *failure) {
    return af__fail(failure, AF_ETOOBIG, "the body is longer than the limit of %llu bytes",
                    (unsigned long long)sink->limit);
}

static af_status file_failed(const af__sink *sink, af_failure *failure, int error) {
    af_status status = af__fail(failure, AF_EFILE, "cannot write %s: %s", sink->path,
                                strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

static af_status open_file(af__sink *sink, af_failure *failure) {
    sink->descriptor = open(sink->partial_path,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return sink->descriptor >= 0 ? AF_OK : file_failed(sink, failure, errno);
}

af_status af__sink_open(af__sink *sink, int status, int64_t length, bool is_encoded,
                        af_failure *failure) {
    uint64_t expected = length > 0 ? (uint64_t)length : 0;
    if (!is_encoded && expected > sink->limit) return too_big(sink, failure);
    switch (sink->kind) {
    case AF_SINK_MEMORY: {
        uint64_t reserve = expected < RESERVE_LIMIT ? expected : RESERVE_LIMIT;
        if (reserve == 0 || is_encoded) return AF_OK;
        if (af__buffer_reserve(&sink->memory, reserve) == AF_OK) return AF_OK;
        return af__fail(failure, AF_ENOMEM, "no memory for a body of %llu bytes",
                        (unsigned long long)expected);
    }
    case AF_SINK_FILE:
        if (status >= 200 && status <= 299) return open_file(sink, failure);
        sink->is_diverted = true;
        af__buffer_clear(&sink->memory);
        af__buffer_init(&sink->memory, AF__ERROR_BODY_LIMIT);
        return AF_OK;
    case AF_SINK_EVENTS:
        return AF_OK;
    }
    return AF_OK;
}

af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure) {
    if (size > sink->limit - sink->written) return too_big(sink, failure);
    return AF_OK;
}

static af_status write_out(af__sink *sink, const char *bytes, size_t size, af_failure *failure) {
    while (size > 0) {
        ssize_t count = write(sink->descriptor, bytes, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return file_failed(sink, failure, count < 0 ? errno : EIO);
        bytes += count;
        size -= (size_t)count;
    }
    return AF_OK;
}

static af_status flush(af__sink *sink, af_failure *failure) {
    af_status status = write_out(sink, sink->memory.bytes, sink->memory.size, failure);
    sink->memory.size = 0;
    return status;
}

static af_status write_file(af__sink *sink, af_slice bytes, af_failure *failure) {
    bool is_large = bytes.size >= LARGE_BLOCK;
    if (is_large || sink->memory.size + bytes.size > STAGE_SIZE) {
        af_status status = flush(sink, failure);
        if (status != AF_OK) return status;
    }
    if (is_large) return write_out(sink, bytes.bytes, bytes.size, failure);
    if (af__buffer_append(&sink->memory, bytes.bytes, bytes.size) == AF_OK) return AF_OK;
    return af__fail(failure, AF_ENOMEM, "out of memory");
}

static af_status write_memory(af__sink *sink, af_slice bytes, af_failure *failure) {
    af_status status = af__buffer_append(&sink->memory, bytes.bytes, bytes.size);
    if (status == AF_OK) return AF_OK;
    if (status == AF_ENOMEM) {
        return af__fail(failure, status, "no memory for a body of more than %zu bytes",
                        sink->memory.size);
    }
    return too_big(sink, failure);
}

af_status af__sink_write(af__sink *sink, af_slice bytes, af_failure *failure) {
    af_status status = af__sink_admit(sink, bytes.size, failure);
    if (status != AF_OK) return status;
    if (sink->is_diverted) {
        /* The rest of an error page is of no use to anyone. */
        size_t room = AF__ERROR_BODY_LIMIT - sink->memory.size;
        if (bytes.size > room) bytes.size = room;
    }
    if (sink->kind == AF_SINK_FILE && !sink->is_diverted) {
        status = write_file(sink, bytes, failure);
    } else {
        status = write_memory(sink, bytes, failure);
    }
    if (status == AF_OK) sink->written += bytes.size;
    return status;
}

af_status af__sink_finish(af__sink *sink, af_failure *failure) {
    if (sink->kind != AF_SINK_FILE || sink->descriptor < 0) return AF_OK;
    af_status status = flush(sink, failure);
    if (status != AF_OK) return status;
    int descriptor = sink->descriptor;
    sink->descriptor = -1;
    int error = close(descriptor) != 0 ? errno : 0;
    if (error == 0 && rename(sink->partial_path, sink->path) != 0) error = errno;
    if (error == 0) return AF_OK;
    unlink(sink->partial_path);
    return file_failed(sink, failure, error);
}
