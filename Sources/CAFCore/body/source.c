#include "body/source.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/sized.h"
#include "body/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void afc__body_release(const afc_body *body) {
    if (body->release != NULL) body->release(body->context);
    /*
     * A body without a kind is refused if other fields are set, but what they borrow is released, as with any other
     * body.
     */
    bool has_no_kind = body->kind == AFC_BODY_NONE;
    bool has_reader = body->kind == AFC_BODY_READER || (has_no_kind && body->reader.read != NULL);
    if (has_reader && body->reader.release != NULL) body->reader.release(body->reader.context);
    if (body->kind == AFC_BODY_MULTIPART || has_no_kind) afc_multipart_free(body->form);
}

static afc_status check_length(const afc_body *body, afc_failure *failure) {
    if (body->length >= AFC_LENGTH_UNKNOWN) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL,
                     "body.length is %lld: expected a number of bytes or AFC_LENGTH_UNKNOWN",
                     (long long)body->length);
}

/**
 * Refuses the length 0, which AFC_REQUEST_INIT sets: nothing would be read, and a server may accept the request without
 * a body.
 */
static afc_status check_descriptor(const afc_body *body, afc_failure *failure) {
    if (body->length != 0) return check_length(body, failure);
    return afc__fail(failure, AFC_EINVAL,
                     "body.length is 0 for AFC_BODY_FD: expected a number of bytes or "
                     "AFC_LENGTH_UNKNOWN (an empty body: AFC_BODY_BYTES)");
}

/** Refuses a body without its kind: it would not be sent, and a server may accept the request without one. */
static afc_status check_none(const afc_body *body, afc_failure *failure) {
    const char *field = NULL, *kind = NULL;
    if (body->bytes.size > 0) field = "bytes", kind = "BYTES";
    if (body->path != NULL) field = "path", kind = "FILE";
    if (body->reader.read != NULL) field = "reader", kind = "READER";
    if (body->form != NULL) field = "form", kind = "MULTIPART";
    if (field == NULL) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL,
                     "body.%s is set but body.kind is AFC_BODY_NONE: set it to AFC_BODY_%s", field,
                     kind);
}

static afc_status check(const afc_body *body, afc_failure *failure) {
    switch (body->kind) {
    case AFC_BODY_NONE:
        return check_none(body, failure);
    case AFC_BODY_BYTES:
        if (body->bytes.bytes != NULL || body->bytes.size == 0) return AFC_OK;
        return afc__fail(failure, AFC_EINVAL, "the request body has a size but no bytes");
    case AFC_BODY_FILE:
        if (body->path != NULL && body->path[0] != '\0') return AFC_OK;
        return afc__fail(failure, AFC_EINVAL, "the request body's file has no path");
    case AFC_BODY_READER:
        if (body->reader.read == NULL) {
            return afc__fail(failure, AFC_EINVAL, "the request body's reader has no read function");
        }
        return check_length(body, failure);
    case AFC_BODY_FD:
        return check_descriptor(body, failure);
    case AFC_BODY_MULTIPART:
        if (body->form != NULL) return AFC_OK;
        return afc__fail(failure, AFC_EINVAL, "the request body has no form");
    }
    return afc__fail(failure, AFC_EINVAL, "invalid kind of request body: %d", (int)body->kind);
}

afc_status afc__source_init(afc__source *source, const afc_body *body, afc_failure *failure) {
    *source = (afc__source){.body = *body, .descriptor = -1};
    afc_status status = AFC__CHECK_RESERVED(body, "afc_body", failure);
    if (status == AFC_OK) status = check(body, failure);
    if (status == AFC_OK && body->kind == AFC_BODY_FILE) {
        source->owned = afc__copy_text(afc_slice_of(body->path));
        source->body.path = source->owned;
        if (source->owned == NULL) status = afc__fail_memory(failure);
    } else if (status == AFC_OK && body->kind == AFC_BODY_FD) {
        status = afc__descriptor_open(&source->descriptor, body->descriptor, failure);
    } else if (status == AFC_OK && body->kind == AFC_BODY_BYTES && body->release == NULL &&
               body->bytes.size > 0) {
        source->owned = afc__alloc(body->bytes.size);
        if (source->owned == NULL) {
            status = afc__fail(failure, AFC_ENOMEM, "out of memory for a body of %zu bytes",
                               body->bytes.size);
        } else {
            memcpy(source->owned, body->bytes.bytes, body->bytes.size);
            source->body.bytes.bytes = source->owned;
        }
    }
    if (status != AFC_OK) {
        afc__body_release(body);
        *source = (afc__source){.descriptor = -1};
        return status;
    }
    if (body->kind == AFC_BODY_BYTES) source->length = (int64_t)body->bytes.size;
    bool is_stream = body->kind == AFC_BODY_READER || body->kind == AFC_BODY_FD;
    if (is_stream) source->length = body->length;
    if (body->kind == AFC_BODY_MULTIPART) {
        source->length = afc_multipart_get_length(body->form);
        /* The caller may have read from the form before: the first hop rewinds it. */
        source->use = AFC__SOURCE_READ;
    }
    return AFC_OK;
}

static void close_file(afc__source *source) {
    if (source->descriptor >= 0) close(source->descriptor);
    source->descriptor = -1;
}

void afc__source_clear(afc__source *source) {
    close_file(source);
    afc__body_release(&source->body);
    if (source->body.kind != AFC_BODY_READER) afc_free(source->owned);
    *source = (afc__source){.descriptor = -1};
}

static afc_status reader_failed(ptrdiff_t count, afc_failure *failure) {
    if (count == AFC_READ_FAILED)
        return afc__fail(failure, AFC_ESOURCE, "the reader of the request body failed");
    return afc__fail(failure, AFC_ESOURCE,
                     "the reader of the request body returned %td: "
                     "expected a number of bytes or AFC_READ_…",
                     count);
}

static bool is_empty_reader(const afc__source *source) {
    return source->body.kind == AFC_BODY_READER && source->body.length == 0;
}

static afc_status fail_length(afc_failure *failure) {
    return afc__fail(failure, AFC_ESOURCE,
                     "body.length is 0, but the reader has bytes: "
                     "set it to their number or to AFC_LENGTH_UNKNOWN");
}

/**
 * A length of 0 may also be one that was forgotten. Reads from the reader to see whether it has bytes, since libcurl
 * wouldn't. If the reader can't tell yet, the body is sent like one of unknown length, and its first byte is an error.
 */
static afc_status open_empty_reader(afc__source *source, afc_failure *failure) {
    char byte;
    ptrdiff_t count = source->body.reader.read(source->body.reader.context, &byte, 1);
    source->length = count == AFC_READ_AGAIN ? AFC_LENGTH_UNKNOWN : 0;
    if (count == AFC_READ_AGAIN || count == AFC_READ_END) return AFC_OK;
    return count > 0 ? fail_length(failure) : reader_failed(count, failure);
}

afc_status afc__source_open(afc__source *source, afc_failure *failure) {
    if (is_empty_reader(source)) return open_empty_reader(source, failure);
    if (source->body.kind != AFC_BODY_FILE || source->descriptor >= 0) return AFC_OK;
    int64_t length;
    afc_status status = afc__open_regular(&source->descriptor, source->body.path, &length, failure);
    if (status != AFC_OK) return status;
    posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    source->length = length;
    return AFC_OK;
}

bool afc__source_exists(const afc__source *source) {
    return source->body.kind != AFC_BODY_NONE;
}

const afc_slice *afc__source_in_memory(const afc__source *source) {
    return source->body.kind == AFC_BODY_BYTES ? &source->body.bytes : NULL;
}

static ptrdiff_t read_file(const afc__source *source, void *buffer, size_t size,
                           afc_failure *failure) {
    for (;;) {
        ssize_t count = read(source->descriptor, buffer, size);
        if (count >= 0) return count;
        if (errno == EINTR) continue;
        afc__fail_file(failure, "cannot read", source->body.path, errno);
        return AFC_READ_FAILED;
    }
}

static ptrdiff_t read_some(const afc__source *source, void *buffer, size_t size,
                           afc_failure *failure) {
    switch (source->body.kind) {
    case AFC_BODY_NONE:
        return AFC_READ_END;
    case AFC_BODY_BYTES:
        if (size > 0) memcpy(buffer, source->body.bytes.bytes + source->position, size);
        return (ptrdiff_t)size;
    case AFC_BODY_FILE:
        return read_file(source, buffer, size, failure);
    case AFC_BODY_READER:
        return source->body.reader.read(source->body.reader.context, buffer, size);
    case AFC_BODY_MULTIPART:
        return afc_multipart_read(source->body.form, buffer, size, failure);
    case AFC_BODY_FD:
        return afc__descriptor_read(source->descriptor, buffer, size, failure);
    }
    return AFC_READ_FAILED;
}

static ptrdiff_t end_of_source(const afc__source *source, afc_failure *failure) {
    if (source->length == AFC_LENGTH_UNKNOWN || source->position >= source->length) {
        return AFC_READ_END;
    }
    bool is_file = source->body.kind == AFC_BODY_FILE;
    afc__fail(failure, is_file ? AFC_EFILE : AFC_ESOURCE, "%s is shorter than its %lld bytes",
              is_file ? source->body.path : "the request body", (long long)source->length);
    return AFC_READ_FAILED;
}

static ptrdiff_t wait_for_more(afc__source *source, afc__source_use before) {
    source->use = before == AFC__SOURCE_READ ? AFC__SOURCE_READ : AFC__SOURCE_ASKED;
    source->is_waiting = true;
    if (source->body.kind == AFC_BODY_MULTIPART) {
        int64_t delay = afc_multipart_get_delay_us(source->body.form);
        if (delay > 0) source->ready_us = afc__now_us() + delay;
    }
    return AFC_READ_AGAIN;
}

/**
 * Reads one byte more from a reader that has given as many bytes as its length, since libcurl never would, and the last
 * bytes must not be sent if there are more. If the reader can't tell now, its length counts as right. Descriptors
 * aren't read beyond their length: the bytes that follow may belong to another reader.
 */
static bool has_surplus(const afc__source *source, afc_failure *failure) {
    char byte;
    if (source->body.kind != AFC_BODY_READER || source->position != source->length) return false;
    ptrdiff_t count = source->body.reader.read(source->body.reader.context, &byte, 1);
    if (count == AFC_READ_END || count == AFC_READ_AGAIN) return false;
    if (count > 0) {
        afc__fail(failure, AFC_ESOURCE, "the request body is longer than its %lld bytes",
                  (long long)source->length);
    } else {
        (void)reader_failed(count, failure);
    }
    return true;
}

ptrdiff_t afc__source_read(afc__source *source, void *buffer, size_t size, afc_failure *failure) {
    afc__source_use before = (afc__source_use)source->use;
    source->use = AFC__SOURCE_READ;
    source->is_waiting = false;
    source->ready_us = 0;
    if (source->length != AFC_LENGTH_UNKNOWN) {
        uint64_t left = (uint64_t)(source->length - source->position);
        if (size > left) size = (size_t)left;
        if (size == 0) return AFC_READ_END;
    }
    ptrdiff_t count = read_some(source, buffer, size, failure);
    if (count == AFC_READ_AGAIN) return wait_for_more(source, before);
    if (count == 0) return end_of_source(source, failure);
    if (count < 0) {
        if (source->body.kind == AFC_BODY_READER) (void)reader_failed(count, failure);
        return AFC_READ_FAILED;
    }
    if (is_empty_reader(source)) {
        (void)fail_length(failure);
        return AFC_READ_FAILED;
    }
    if ((size_t)count > size) {
        afc__fail(failure, AFC_ESOURCE, "the reader returned %td bytes for a buffer of %zu", count,
                  size);
        return AFC_READ_FAILED;
    }
    source->position += count;
    return has_surplus(source, failure) ? AFC_READ_FAILED : count;
}

afc_slice afc__source_lend(const afc__source *source) {
    bool may_lend = source->body.kind == AFC_BODY_READER && source->lender != NULL;
    if (!may_lend) return (afc_slice){NULL, 0};
    return source->lender->lend(source->body.reader.context);
}

void afc__source_took(afc__source *source, size_t count) {
    source->lender->took(source->body.reader.context, count);
    source->position += (int64_t)count;
}

bool afc__source_can_rewind(const afc__source *source) {
    if (source->body.kind == AFC_BODY_MULTIPART) return afc_multipart_can_rewind(source->body.form);
    if (source->body.kind == AFC_BODY_FD) return source->use != AFC__SOURCE_READ;
    return source->body.kind != AFC_BODY_READER || source->body.reader.rewind != NULL ||
           source->use != AFC__SOURCE_READ;
}

/** Rewinds a source from which bytes were read. */
static afc_status restart(afc__source *source, afc_failure *failure) {
    if (source->body.kind == AFC_BODY_FD) {
        return afc__fail(failure, AFC_EREPLAY,
                         "the request body can't be replayed: it was read from a descriptor");
    }
    if (source->body.kind == AFC_BODY_READER) {
        if (source->body.reader.rewind == NULL) {
            return afc__fail(failure, AFC_EREPLAY,
                             "the request body can't be replayed: its reader has no rewind");
        }
        if (!source->body.reader.rewind(source->body.reader.context)) {
            return afc__fail(failure, AFC_EREPLAY,
                             "the request body can't be replayed: its reader failed to rewind");
        }
    }
    if (source->body.kind == AFC_BODY_MULTIPART) {
        return afc_multipart_rewind(source->body.form, failure);
    }
    return AFC_OK;
}

afc_status afc__source_rewind(afc__source *source, afc_failure *failure) {
    if (source->use == AFC__SOURCE_UNTOUCHED) return AFC_OK;
    afc_status status = source->use == AFC__SOURCE_READ ? restart(source, failure) : AFC_OK;
    if (status != AFC_OK) return status;
    source->position = source->ready_us = 0;
    source->use = AFC__SOURCE_UNTOUCHED;
    source->is_waiting = false;
    if (source->body.kind == AFC_BODY_FILE) {
        /* Opened again, because the file may have been replaced by one of another length. */
        close_file(source);
        return afc__source_open(source, failure);
    }
    return AFC_OK;
}
