#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "message/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

af_slice af__multipart_closing(const af_multipart *form) {
    /* The line break in front belongs to the part before. */
    return af_slice_of(form->closing + (form->count == 0 ? 2 : 0));
}

/* ---- Files --------------------------------------------------------------------------------- */

static af_status file_failed(af_failure *failure, const char *what, const char *path, int error) {
    af_status status = af__fail(failure, AF_EFILE, "%s %s: %s", what, path, strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

af_status af__part_open(const af__part *part, int *descriptor, af_failure *failure) {
    /* Non-blocking, so that a FIFO without a writer is refused below instead of waited for. */
    *descriptor = open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0) return file_failed(failure, "cannot open", part->path, errno);
    struct stat facts;
    int error = fstat(*descriptor, &facts) != 0 ? errno
                : S_ISDIR(facts.st_mode)        ? EISDIR
                : !S_ISREG(facts.st_mode)       ? EINVAL
                                                : 0;
    if (error == 0) return AF_OK;
    close(*descriptor);
    *descriptor = -1;
    return file_failed(failure, "cannot read", part->path, error);
}

static af_status wrong_size(const af__part *part, const char *how, int64_t expected,
                            af_failure *failure) {
    return af__fail(failure, AF_EFILE, "%s is %s than its %lld bytes", part->path, how,
                    (long long)expected);
}

af_status af__part_check_size(const af__part *part, int descriptor, int64_t *size,
                              af_failure *failure) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return file_failed(failure, "cannot read", part->path, errno);
    }
    *size = facts.st_size;
    int64_t expected = part->file_size;
    if (expected != AF_LENGTH_UNKNOWN && *size > expected) {
        return wrong_size(part, "longer", expected, failure);
    }
    if (expected == AF_LENGTH_UNKNOWN && part->length != AF_LENGTH_UNKNOWN) {
        expected = part->offset + part->length;
    }
    return *size < expected ? wrong_size(part, "shorter", expected, failure) : AF_OK;
}

void af__multipart_close_file(af_multipart *form) {
    if (form->descriptor >= 0) close(form->descriptor);
    form->descriptor = -1;
}

static af_status open_file(af_multipart *form, const af__part *part, af_failure *failure) {
    af_status status = af__part_open(part, &form->descriptor, failure);
    if (status != AF_OK) return status;
    posix_fadvise(form->descriptor, part->offset, part->length, POSIX_FADV_SEQUENTIAL);
    int64_t size;
    return af__part_check_size(part, form->descriptor, &size, failure);
}

static ptrdiff_t read_file(af_multipart *form, const af__part *part, void *buffer, size_t size,
                           af_failure *failure) {
    if (form->descriptor < 0 && open_file(form, part, failure) != AF_OK) return AF_READ_FAILED;
    if (size == 0) {
        /* What was sent is the file as it was added only if it did not grow meanwhile. */
        int64_t now;
        af_status status = af__part_check_size(part, form->descriptor, &now, failure);
        return status == AF_OK ? AF_READ_END : AF_READ_FAILED;
    }
    for (;;) {
        ssize_t count = pread(form->descriptor, buffer, size, part->offset + form->position);
        if (count > 0) return count;
        if (count == 0) {
            wrong_size(part, "shorter", part->offset + part->length, failure);
            return AF_READ_FAILED;
        }
        if (errno == EINTR) continue;
        file_failed(failure, "cannot read", part->path, errno);
        return AF_READ_FAILED;
    }
}

/* ---- Readers ------------------------------------------------------------------------------- */

static ptrdiff_t reader_failed(const af_multipart *form, const char *how, af_failure *failure) {
    af__fail(failure, AF_ESOURCE, "the reader of part %zu %s", form->at + 1, how);
    return AF_READ_FAILED;
}

static ptrdiff_t read_reader(af_multipart *form, af__part *part, void *buffer, size_t size,
                             af_failure *failure) {
    if (size == 0) return AF_READ_END;
    part->has_started = true;
    ptrdiff_t count = part->reader.read(part->reader.context, buffer, size);
    if (count == AF_READ_AGAIN) return count;
    if (count == AF_READ_END) {
        if (part->length == AF_LENGTH_UNKNOWN) return count;
        return reader_failed(form, "ended before its length", failure);
    }
    if (count < 0) return reader_failed(form, "failed", failure);
    if ((size_t)count > size)
        return reader_failed(form, "wrote more than it was asked for", failure);
    return count;
}

/* ---- One piece after the other ------------------------------------------------------------- */

static ptrdiff_t read_text(const af_multipart *form, af_slice text, void *buffer, size_t size) {
    size_t left = text.size - (size_t)form->position;
    if (size > left) size = left;
    if (size > 0) memcpy(buffer, text.bytes + form->position, size);
    return (ptrdiff_t)size;
}

/** AF_READ_END: this part's body is complete. */
static ptrdiff_t read_body(af_multipart *form, void *buffer, size_t size, af_failure *failure) {
    af__part *part = &form->parts[form->at];
    if (part->length != AF_LENGTH_UNKNOWN) {
        uint64_t left = (uint64_t)(part->length - form->position);
        if (size > left) size = (size_t)left;
    }
    switch (part->kind) {
    case AF__PART_BYTES:
        return read_text(form, (af_slice){part->bytes, (size_t)part->length}, buffer, size);
    case AF__PART_FILE:
        return read_file(form, part, buffer, size, failure);
    case AF__PART_READER:
        return read_reader(form, part, buffer, size, failure);
    }
    return AF_READ_END;
}

/** The next bytes of one head, body or closing, or AF_READ_…. */
static ptrdiff_t read_piece(af_multipart *form, void *buffer, size_t size, af_failure *failure) {
    while (form->at < form->count) {
        ptrdiff_t count = form->is_in_body
                              ? read_body(form, buffer, size, failure)
                              : read_text(form, form->parts[form->at].head, buffer, size);
        if (count != AF_READ_END) return count;
        if (form->is_in_body) {
            af__multipart_close_file(form);
            form->at++;
        }
        form->is_in_body = !form->is_in_body;
        form->position = 0;
    }
    return read_text(form, af__multipart_closing(form), buffer, size);
}

static bool has_ended(const af_multipart *form) {
    return form->at == form->count && (size_t)form->position == af__multipart_closing(form).size;
}

static ptrdiff_t fill(af_multipart *form, char *buffer, size_t size) {
    size_t filled = 0;
    while (filled < size && !has_ended(form)) {
        ptrdiff_t count = read_piece(form, buffer + filled, size - filled, &form->failure);
        if (count == AF_READ_FAILED) return count;
        if (count == AF_READ_AGAIN) return filled > 0 ? (ptrdiff_t)filled : count;
        form->position += count;
        filled += (size_t)count;
    }
    return (ptrdiff_t)filled;
}

static int64_t delay_left(const af_multipart *form) {
    return form->not_before_us != 0 ? form->not_before_us - af__now_us() : 0;
}

int64_t af_multipart_get_delay_us(const af_multipart *form) {
    int64_t delay = delay_left(form);
    if (delay > 0) return delay;
    /* The time may have come since the read that said "again": whoever asks must still come back. */
    return form->was_too_early ? 1 : 0;
}

ptrdiff_t af_multipart_read(af_multipart *form, void *buffer, size_t size, af_failure *failure) {
    form->has_started = true;
    if (form->failure.status != AF_OK) {
        if (failure != NULL) *failure = form->failure;
        return AF_READ_FAILED;
    }
    if (has_ended(form)) return AF_READ_END;
    form->was_too_early = delay_left(form) > 0;
    if (form->was_too_early) return AF_READ_AGAIN;
    if (form->packet_size != 0 && size > form->packet_size) size = form->packet_size;
    ptrdiff_t count = fill(form, buffer, size);
    if (count > 0 && form->delay_us > 0) form->not_before_us = af__now_us() + form->delay_us;
    if (count == AF_READ_FAILED) {
        af__multipart_close_file(form);
        if (failure != NULL) *failure = form->failure;
    }
    return count;
}

/* ---- Once more ----------------------------------------------------------------------------- */

bool af_multipart_can_rewind(const af_multipart *form) {
    for (size_t i = 0; i < form->count; i++) {
        const af__part *part = &form->parts[i];
        if (part->has_started && part->reader.rewind == NULL) return false;
    }
    return true;
}

static af_status rewind_reader(af__part *part, size_t number, af_failure *failure) {
    if (!part->has_started) return AF_OK;
    if (part->reader.rewind == NULL) {
        return af__fail(failure, AF_EREPLAY, "the reader of part %zu can be read only once",
                        number);
    }
    if (!part->reader.rewind(part->reader.context)) {
        return af__fail(failure, AF_EREPLAY, "the reader of part %zu could not be rewound", number);
    }
    part->has_started = false;
    return AF_OK;
}

af_status af_multipart_rewind(af_multipart *form, af_failure *failure) {
    af__multipart_close_file(form);
    form->failure = (af_failure){0};
    form->is_in_body = false;
    form->at = 0;
    form->position = 0;
    for (size_t i = 0; i < form->count && form->failure.status == AF_OK; i++) {
        rewind_reader(&form->parts[i], i + 1, &form->failure);
    }
    if (form->failure.status != AF_OK && failure != NULL) *failure = form->failure;
    return form->failure.status;
}

/* ---- Into a file --------------------------------------------------------------------------- */

ptrdiff_t af_multipart_write(af_multipart *form, int descriptor, size_t size, af_failure *failure) {
    char buffer[32 * 1024];
    size_t written = 0;
    while (written < size) {
        size_t left = size - written;
        ptrdiff_t count = af_multipart_read(form, buffer,
                                            left < sizeof buffer ? left : sizeof buffer, failure);
        if (count == AF_READ_FAILED) return count;
        if (count <= 0) return written > 0 ? (ptrdiff_t)written : count;
        /* What was read and not written is lost, so the form can't go on. */
        int error = af__write_all(descriptor, buffer, (size_t)count);
        if (error != 0) {
            af__fail(&form->failure, AF_EFILE, "cannot write the form: %s", strerror(error));
            form->failure.system_error = error;
            af__multipart_close_file(form);
            if (failure != NULL) *failure = form->failure;
            return AF_READ_FAILED;
        }
        written += (size_t)count;
    }
    return (ptrdiff_t)written;
}
