/* Multipart forms: their parts, how the heads are encoded, and reading the form as one body. */
#include <afcore/multipart.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "message/fields.h"
#include "message/media_types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum af__part_kind { AF__PART_BYTES, AF__PART_FILE, AF__PART_READER } af__part_kind;

/** A part: its head, ready to be sent, and its body. */
typedef struct af__part {
    af__part_kind kind;
    void *block;    /**< Contains the head, and a copy of the bytes or the path. */
    af_slice head;  /**< Delimiter, header lines and empty line. */
    int64_t length; /**< Length of the body; AF_LENGTH_UNKNOWN: to the end of the reader. */
    /* BYTES */
    const char *bytes;
    void (*release)(void *context);
    void *context;
    /* FILE */
    const char *path;
    int64_t offset;
    int64_t file_size; /**< AF_LENGTH_UNKNOWN: any size that includes the range. */
    /* READER */
    af_reader reader;
    bool has_started; /**< The reader was called since the last rewind. */
} af__part;

struct af_multipart {
    af__part *parts;
    size_t count, capacity;
    int64_t length;       /**< Length without the closing delimiter, or AF_LENGTH_UNKNOWN. */
    bool is_own_boundary; /**< The boundary is the caller's; bytes are scanned for it. */
    char boundary[AF_MULTIPART_BOUNDARY_MAX + 1];
    char content_type[AF_MULTIPART_BOUNDARY_MAX + 32];
    char closing[AF_MULTIPART_BOUNDARY_MAX + 16];

    size_t packet_size; /**< 0: no throttle. */
    int64_t delay_us, not_before_us;
    bool was_too_early; /**< The last read returned AF_READ_AGAIN because of the throttle. */

    /* The position of reading. */
    bool has_started; /**< Reading has started: parts can't be added. */
    bool
        is_in_body; /**< In the body of parts[at], not its head; at == count: in the closing delimiter. */
    size_t at;
    int64_t position;   /**< Position within that head, body or closing delimiter. */
    int descriptor;     /**< Descriptor of the current file. */
    af_failure failure; /**< Set by the first failure. */
};

/** Returns the closing delimiter after the present parts. */
static af_slice closing_of(const af_multipart *form) {
    /* The line break before it belongs to the previous part. */
    return af_slice_of(form->closing + (form->count == 0 ? 2 : 0));
}

/* ---- Files --------------------------------------------------------------------------------- */

static af_status file_failed(af_failure *failure, const char *what, const char *path, int error) {
    af_status status = af__fail(failure, AF_EFILE, "%s %s: %s", what, path, strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

/** Opens a part's file, which must be a regular one. AF_EFILE. */
static af_status open_part(const af__part *part, int *descriptor, af_failure *failure) {
    /* Non-blocking, so that a FIFO without a writer is refused below instead of blocking. */
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

/** Checks the size of the open file; `*size` is its present size. AF_EFILE. */
static af_status check_size(const af__part *part, int descriptor, int64_t *size,
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

/** Closes the current file, if there is one. */
static void close_file(af_multipart *form) {
    if (form->descriptor >= 0) close(form->descriptor);
    form->descriptor = -1;
}

/* ---- The boundary -------------------------------------------------------------------------- */

/** Characters that are allowed in a boundary (RFC 2046 5.1.1) and need no quotes as a parameter. */
static bool is_boundary(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "'+_-.";
    size_t size = strlen(text);
    return size >= 1 && size <= AF_MULTIPART_BOUNDARY_MAX && strspn(text, allowed) == size;
}

static af_status make_boundary(char *out) {
    static const char prefix[] = "AFBoundary-";
    unsigned char bits[16];
    size_t filled = 0;
    while (filled < sizeof bits) {
        ssize_t count = getrandom(bits + filled, sizeof bits - filled, 0);
        if (count < 0 && errno != EINTR) return AF_EINTERNAL;
        if (count > 0) filled += (size_t)count;
    }
    memcpy(out, prefix, sizeof prefix);
    out += sizeof prefix - 1;
    for (size_t i = 0; i < sizeof bits; i++, out += 2) snprintf(out, 3, "%02x", bits[i]);
    return AF_OK;
}

static af_status set_boundary(af_multipart *form, const char *boundary, af_failure *failure) {
    form->is_own_boundary = boundary != NULL;
    if (boundary != NULL) {
        if (!is_boundary(boundary)) {
            return af__fail(failure, AF_EINVAL,
                            "invalid boundary: expected 1 to 70 letters, digits and '+_-.");
        }
        memcpy(form->boundary, boundary, strlen(boundary) + 1);
    } else if (make_boundary(form->boundary) != AF_OK) {
        af_status status = af__fail(failure, AF_EINTERNAL, "the system has no random bytes");
        if (failure != NULL) failure->system_error = errno;
        return status;
    }
    snprintf(form->content_type, sizeof form->content_type, "multipart/form-data; boundary=%s",
             form->boundary);
    snprintf(form->closing, sizeof form->closing, "\r\n--%s--\r\n", form->boundary);
    return AF_OK;
}

/* ---- The form ------------------------------------------------------------------------------ */

af_status af_multipart_new(af_multipart **out, const char *boundary, af_failure *failure) {
    *out = NULL;
    af_multipart *form = af__zalloc(sizeof *form);
    if (form == NULL) return af__fail_memory(failure);
    form->descriptor = -1;
    af_status status = set_boundary(form, boundary, failure);
    if (status == AF_OK)
        *out = form;
    else
        af_free(form);
    return status;
}

void af_multipart_trust_boundary(af_multipart *form) {
    form->is_own_boundary = false;
}

/** Releases what the part borrows. */
static void release_part(const af__part *part) {
    if (part->kind == AF__PART_BYTES && part->release != NULL) part->release(part->context);
    if (part->kind == AF__PART_READER && part->reader.release != NULL) {
        part->reader.release(part->reader.context);
    }
}

void af_multipart_free(af_multipart *form) {
    if (form == NULL) return;
    close_file(form);
    for (size_t i = 0; i < form->count; i++) {
        release_part(&form->parts[i]);
        af_free(form->parts[i].block);
    }
    af_free(form->parts);
    af_free(form);
}

void af_multipart_throttle(af_multipart *form, size_t packet_size, uint32_t delay_ms) {
    form->packet_size = packet_size;
    form->delay_us = (int64_t)delay_ms * 1000;
    form->not_before_us = 0;
}

size_t af_multipart_get_count(const af_multipart *form) {
    return form->count;
}

int64_t af_multipart_get_length(const af_multipart *form) {
    if (form->length == AF_LENGTH_UNKNOWN) return AF_LENGTH_UNKNOWN;
    return form->length + (int64_t)closing_of(form).size;
}

int64_t af_multipart_get_part_length(const af_multipart *form, size_t index) {
    return index < form->count ? form->parts[index].length : AF_LENGTH_UNKNOWN;
}

const char *af_multipart_get_boundary(const af_multipart *form) {
    return form->boundary;
}

const char *af_multipart_get_content_type(const af_multipart *form) {
    return form->content_type;
}

/* ---- What may stand in a head -------------------------------------------------------------- */

static af_status refuse(af_failure *failure, const char *what) {
    return af__fail(failure, AF_EINVAL, "%s of the part contains a control character", what);
}

static af_status check_header(const af_part *part, const af_header *header, bool is_raw,
                              af_failure *failure) {
    if (!af__is_token(header->name)) {
        return af__fail(failure, AF_EINVAL, "the name of a header of the part isn't a token");
    }
    int size = header->name.size < 100 ? (int)header->name.size : 100;
    if (!af__may_be_sent(header->value)) {
        return af__fail(failure, AF_EINVAL,
                        "the header %.*s of the part contains a control character", size,
                        header->name.bytes);
    }
    bool is_double = !is_raw &&
                     (af__same_name(header->name, "Content-Disposition") ||
                      (part->content_type.size > 0 && af__same_name(header->name, "Content-Type")));
    if (is_double || (header->flags & AF_HEADER_REMOVE)) {
        return af__fail(failure, AF_EINVAL, "the header %.*s of the part is set by the form", size,
                        header->name.bytes);
    }
    return AF_OK;
}

/** Also limits every size, so that their sum can't overflow. */
static af_status check_part(const af_part *part, bool is_raw, af_failure *failure) {
    const size_t limit = AF_MULTIPART_HEAD_MAX;
    if (part->size != sizeof *part) {
        return af__fail(failure, AF_EINVAL, "the part must be initialised with AF_PART_INIT");
    }
    if (!af__may_be_sent(part->name)) return refuse(failure, "the name");
    if (!af__may_be_sent(part->file_name)) return refuse(failure, "the file name");
    if (!af__may_be_sent(part->content_type)) return refuse(failure, "the content type");
    bool fits = part->name.size <= limit && part->file_name.size <= limit &&
                part->content_type.size <= limit && part->header_count <= limit / 4;
    for (size_t i = 0; i < part->header_count && fits; i++) {
        const af_header *header = &part->headers[i];
        af_status status = check_header(part, header, is_raw, failure);
        if (status != AF_OK) return status;
        fits = header->name.size <= limit && header->value.size <= limit;
    }
    if (fits) return AF_OK;
    return af__fail(failure, AF_ETOOBIG, "the headers of the part exceed the limit of %zu bytes",
                    limit);
}

/* ---- Writing a head ------------------------------------------------------------------------ */

/** Only measures if `bytes` is NULL. */
typedef struct part_writer {
    char *bytes;
    size_t size;
} part_writer;

static void put(part_writer *writer, af_slice text) {
    if (writer->bytes != NULL && text.size > 0) {
        memcpy(writer->bytes + writer->size, text.bytes, text.size);
    }
    writer->size += text.size;
}

static void put_text(part_writer *writer, const char *text) {
    put(writer, af_slice_of(text));
}

static void put_quoted(part_writer *writer, af_slice text) {
    put_text(writer, "\"");
    while (text.size > 0) {
        const char *quote = memchr(text.bytes, '"', text.size);
        size_t plain = quote != NULL ? (size_t)(quote - text.bytes) : text.size;
        put(writer, (af_slice){text.bytes, plain});
        if (quote == NULL) break;
        put_text(writer, "%22");
        text = (af_slice){quote + 1, text.size - plain - 1};
    }
    put_text(writer, "\"");
}

static void put_header(part_writer *writer, af_slice name, af_slice value) {
    put(writer, name);
    put_text(writer, ": ");
    put(writer, value);
    put_text(writer, "\r\n");
}

static void put_head(part_writer *writer, const af_multipart *form, const af_part *part,
                     bool is_raw) {
    put_text(writer, form->count == 0 ? "--" : "\r\n--");
    put_text(writer, form->boundary);
    put_text(writer, "\r\n");
    if (!is_raw) {
        put_text(writer, "Content-Disposition: form-data; name=");
        put_quoted(writer, part->name);
        if (part->file_name.bytes != NULL) {
            put_text(writer, "; filename=");
            put_quoted(writer, part->file_name);
        }
        put_text(writer, "\r\n");
        if (part->content_type.size > 0) {
            put_header(writer, af_slice_of("Content-Type"), part->content_type);
        }
    }
    for (size_t i = 0; i < part->header_count; i++) {
        put_header(writer, part->headers[i].name, part->headers[i].value);
    }
    put_text(writer, "\r\n");
}

/* ---- Adding -------------------------------------------------------------------------------- */

static bool has_delimiter(const af_multipart *form, af_slice text) {
    if (text.size == 0) return false;
    /* Within the closing delimiter: after its line break, without the second pair of hyphens. */
    return memmem(text.bytes, text.size, form->closing + 2, strlen(form->boundary) + 2) != NULL;
}

static af_status check_delimiter(const af_multipart *form, af_slice text, af_failure *failure) {
    if (!form->is_own_boundary || !has_delimiter(form, text)) return AF_OK;
    return af__fail(failure, AF_EINVAL, "the boundary occurs in the part");
}

static af_status check_form(const af_multipart *form, af_failure *failure) {
    if (form->has_started) {
        return af__fail(failure, AF_EINVAL, "parts can't be added after the form was read from");
    }
    if (form->count < AF_MULTIPART_PARTS_MAX) return AF_OK;
    return af__fail(failure, AF_ETOOBIG, "the form exceeds the limit of %d parts",
                    AF_MULTIPART_PARTS_MAX);
}

static af_status add_length(int64_t *total, int64_t more, af_failure *failure) {
    if (*total == AF_LENGTH_UNKNOWN || more == AF_LENGTH_UNKNOWN) {
        *total = AF_LENGTH_UNKNOWN;
        return AF_OK;
    }
    /* Reserves room for the closing delimiter. */
    if (__builtin_add_overflow(*total, more, total) || *total > INT64_MAX - 1024) {
        return af__fail(failure, AF_ETOOBIG, "the form's length overflows 64 bits");
    }
    return AF_OK;
}

static af_status make_room(af_multipart *form, af_failure *failure) {
    if (form->count < form->capacity) return AF_OK;
    size_t capacity = form->capacity != 0 ? form->capacity * 2 : 8;
    af__part *parts = af__realloc(form->parts, capacity * sizeof *parts);
    if (parts == NULL) return af__fail_memory(failure);
    form->parts = parts;
    form->capacity = capacity;
    return AF_OK;
}

/** Writes the head and `copied` into one block of the part. */
static af_status write_block(const af_multipart *form, const af_part *part, bool is_raw,
                             af_slice copied, af__part *made, af_failure *failure) {
    part_writer writer = {NULL, 0};
    put_head(&writer, form, part, is_raw);
    size_t head = writer.size;
    if (head > AF_MULTIPART_HEAD_MAX) {
        return af__fail(failure, AF_ETOOBIG, "the headers of the part exceed the limit of %d bytes",
                        AF_MULTIPART_HEAD_MAX);
    }
    if (copied.size > SIZE_MAX - head || (made->block = af__alloc(head + copied.size)) == NULL) {
        return af__fail(failure, AF_ENOMEM, "out of memory for a part of %zu bytes", copied.size);
    }
    writer = (struct part_writer){made->block, 0};
    put_head(&writer, form, part, is_raw);
    made->head = (af_slice){writer.bytes, head};
    put(&writer, copied);
    return AF_OK;
}

/** The last step of all functions that add parts: `made` has the body, `copied` is stored after the head. */
static af_status append(af_multipart *form, const af_part *part, bool is_raw, af_slice copied,
                        af__part *made, af_failure *failure) {
    af_status status = check_form(form, failure);
    if (status == AF_OK) status = check_part(part, is_raw, failure);
    if (status == AF_OK) status = write_block(form, part, is_raw, copied, made, failure);
    if (status != AF_OK) return status;
    int64_t length = form->length;
    size_t delimiter = strlen(form->boundary) + (form->count == 0 ? 2 : 4);
    af_slice head = {made->head.bytes + delimiter, made->head.size - delimiter};
    status = check_delimiter(form, head, failure);
    if (status == AF_OK) status = add_length(&length, (int64_t)made->head.size, failure);
    if (status == AF_OK) status = add_length(&length, made->length, failure);
    if (status == AF_OK) status = make_room(form, failure);
    if (status != AF_OK) {
        af_free(made->block);
        return status;
    }
    form->parts[form->count++] = *made;
    form->length = length;
    return AF_OK;
}

static af_status add_bytes(af_multipart *form, const af_part *part, bool is_raw, af__part *made,
                           af_failure *failure) {
    af_slice bytes = {made->bytes, (size_t)made->length};
    af_status status = AF_OK;
    if (made->length < 0 || (bytes.bytes == NULL && bytes.size > 0)) {
        status = af__fail(failure, AF_EINVAL, "the part has a size but no bytes");
    }
    if (status == AF_OK) status = check_delimiter(form, bytes, failure);
    bool is_copied = made->release == NULL;
    af_slice copied = {bytes.bytes, is_copied ? bytes.size : 0};
    if (status == AF_OK) status = append(form, part, is_raw, copied, made, failure);
    if (status != AF_OK) {
        release_part(made);
    } else if (is_copied) {
        af__part *added = &form->parts[form->count - 1];
        added->bytes = added->head.bytes + added->head.size;
    }
    return status;
}

af_status af_multipart_add_bytes(af_multipart *form, const af_part *part, af_slice bytes,
                                 void (*release)(void *context), void *context,
                                 af_failure *failure) {
    af__part made = {.kind = AF__PART_BYTES,
                     .bytes = bytes.bytes,
                     .length = (int64_t)bytes.size,
                     .release = release,
                     .context = context};
    return add_bytes(form, part, false, &made, failure);
}

af_status af_multipart_add_raw(af_multipart *form, const af_header *headers, size_t header_count,
                               af_slice bytes, void (*release)(void *context), void *context,
                               af_failure *failure) {
    af_part part = AF_PART_INIT;
    part.headers = headers;
    part.header_count = header_count;
    af__part made = {.kind = AF__PART_BYTES,
                     .bytes = bytes.bytes,
                     .length = (int64_t)bytes.size,
                     .release = release,
                     .context = context};
    return add_bytes(form, &part, true, &made, failure);
}

af_status af_multipart_add_reader(af_multipart *form, const af_part *part, const af_reader *reader,
                                  int64_t length, af_failure *failure) {
    af__part made = {.kind = AF__PART_READER, .reader = *reader, .length = length};
    af_status status = AF_OK;
    if (reader->read == NULL) {
        status = af__fail(failure, AF_EINVAL, "the part's reader has no read function");
    } else if (length < AF_LENGTH_UNKNOWN) {
        status = af__fail(failure, AF_EINVAL, "the part's length is negative");
    }
    if (status == AF_OK) status = append(form, part, false, (af_slice){NULL, 0}, &made, failure);
    if (status != AF_OK) release_part(&made);
    return status;
}

/* ---- Adding files -------------------------------------------------------------------------- */

/** Sets unspecified sizes, and refuses files that can't be read. */
static af_status measure_file(const af_part_file *file, af__part *made, af_failure *failure) {
    bool is_range = file->offset >= 0 && file->length >= AF_LENGTH_UNKNOWN &&
                    file->size >= AF_LENGTH_UNKNOWN &&
                    (file->length <= 0 || file->offset <= INT64_MAX - file->length);
    if (!is_range) return af__fail(failure, AF_EINVAL, "the part's offset or length is negative");
    int descriptor;
    af_status status = open_part(made, &descriptor, failure);
    if (status != AF_OK) return status;
    int64_t size;
    status = check_size(made, descriptor, &size, failure);
    close(descriptor);
    if (status != AF_OK || file->length != AF_LENGTH_UNKNOWN) return status;
    if (file->offset > size) {
        return af__fail(failure, AF_EFILE, "%s has only %lld bytes", file->path, (long long)size);
    }
    made->file_size = size;
    made->length = size - file->offset;
    return AF_OK;
}

af_status af_multipart_add_file(af_multipart *form, const af_part *part, const af_part_file *file,
                                af_failure *failure) {
    if (file->path == NULL || file->path[0] == '\0') {
        return af__fail(failure, AF_EINVAL, "the part's file has no path");
    }
    af__part made = {.kind = AF__PART_FILE,
                     .path = file->path,
                     .offset = file->offset,
                     .length = file->length,
                     .file_size = file->size};
    af_part named = *part;
    if (named.file_name.bytes == NULL) named.file_name = af__last_component(file->path);
    if (named.content_type.size == 0) {
        named.content_type = af_slice_of(af__media_type_of_path(file->path));
    }
    af_slice path = {file->path, strlen(file->path) + 1};
    af_status status = measure_file(file, &made, failure);
    if (status == AF_OK) status = append(form, &named, false, path, &made, failure);
    if (status != AF_OK) return status;
    af__part *added = &form->parts[form->count - 1];
    added->path = added->head.bytes + added->head.size;
    return AF_OK;
}

/* ---- Reading a file -------------------------------------------------------------------------- */

static af_status open_file(af_multipart *form, const af__part *part, af_failure *failure) {
    af_status status = open_part(part, &form->descriptor, failure);
    if (status != AF_OK) return status;
    posix_fadvise(form->descriptor, part->offset, part->length, POSIX_FADV_SEQUENTIAL);
    int64_t size;
    return check_size(part, form->descriptor, &size, failure);
}

static ptrdiff_t read_file(af_multipart *form, const af__part *part, void *buffer, size_t size,
                           af_failure *failure) {
    if (form->descriptor < 0 && open_file(form, part, failure) != AF_OK) return AF_READ_FAILED;
    if (size == 0) {
        /* Checked again at the end: of a file that grew meanwhile, only a part was sent. */
        int64_t now;
        af_status status = check_size(part, form->descriptor, &now, failure);
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
        return reader_failed(form, "returned more bytes than requested", failure);
    return count;
}

/* ---- One piece after the other ------------------------------------------------------------- */

static ptrdiff_t read_text(const af_multipart *form, af_slice text, void *buffer, size_t size) {
    size_t left = text.size - (size_t)form->position;
    if (size > left) size = left;
    if (size > 0) memcpy(buffer, text.bytes + form->position, size);
    return (ptrdiff_t)size;
}

/** Reads a body. AF_READ_END: it is complete. */
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

/** Reads the next bytes of a head, a body or the closing delimiter. Returns their number or AF_READ_…. */
static ptrdiff_t read_piece(af_multipart *form, void *buffer, size_t size, af_failure *failure) {
    while (form->at < form->count) {
        ptrdiff_t count = form->is_in_body
                              ? read_body(form, buffer, size, failure)
                              : read_text(form, form->parts[form->at].head, buffer, size);
        if (count != AF_READ_END) return count;
        if (form->is_in_body) {
            close_file(form);
            form->at++;
        }
        form->is_in_body = !form->is_in_body;
        form->position = 0;
    }
    return read_text(form, closing_of(form), buffer, size);
}

static bool has_ended(const af_multipart *form) {
    return form->at == form->count && (size_t)form->position == closing_of(form).size;
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
    /* Returns at least 1 after AF_READ_AGAIN, even if the delay has passed meanwhile: the caller must read again. */
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
        close_file(form);
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
        return af__fail(failure, AF_EREPLAY,
                        "the form can't be replayed: the reader of part %zu has no rewind", number);
    }
    if (!part->reader.rewind(part->reader.context)) {
        return af__fail(failure, AF_EREPLAY,
                        "the form can't be replayed: the reader of part %zu failed to rewind",
                        number);
    }
    part->has_started = false;
    return AF_OK;
}

af_status af_multipart_rewind(af_multipart *form, af_failure *failure) {
    close_file(form);
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
        /* Bytes that were read but not written are lost, so the form can't continue. */
        int error = af__write_all(descriptor, buffer, (size_t)count);
        if (error != 0) {
            af__fail(&form->failure, AF_EFILE, "cannot write the form: %s", strerror(error));
            form->failure.system_error = error;
            close_file(form);
            if (failure != NULL) *failure = form->failure;
            return AF_READ_FAILED;
        }
        written += (size_t)count;
    }
    return (ptrdiff_t)written;
}
