/* Multipart forms: their parts, the encoding of the parts' heads, and reading the form as one body. */
#include <afcore/multipart.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/media_types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum afc__form_part_kind {
    AFC__FORM_PART_BYTES,
    AFC__FORM_PART_FILE,
    AFC__FORM_PART_READER
} afc__form_part_kind;

/** A part: its head, ready to be sent, and its body. */
typedef struct afc__part {
    afc__form_part_kind kind;
    void *block;    /**< The memory of the head, and of a copy of the bytes or the path. */
    afc_slice head; /**< Delimiter, header lines and empty line. */
    /** Length of the body; AFC_LENGTH_UNKNOWN if it extends to the end of the reader or file. */
    int64_t length;
    /* BYTES */
    const char *bytes;
    void (*release)(void *context);
    void *context;
    /* FILE */
    const char *path;
    int64_t offset;
    int64_t file_size; /**< AFC_LENGTH_UNKNOWN if any size is right that includes the range. */
    /* READER */
    afc_reader reader;
    bool was_read; /**< The reader gave bytes, ended or failed since the last rewind. */
} afc__part;

struct afc_multipart {
    afc__part *parts;
    size_t count, capacity;
    int64_t length;       /**< Length without the closing delimiter, or AFC_LENGTH_UNKNOWN. */
    bool is_own_boundary; /**< The boundary is the caller's; bytes are scanned for it. */
    char boundary[AFC_MULTIPART_BOUNDARY_MAX + 1];
    char content_type[AFC_MULTIPART_BOUNDARY_MAX + 32];
    char closing[AFC_MULTIPART_BOUNDARY_MAX + 16];

    size_t packet_size; /**< Maximum size of a read with a throttle; 0 without one. */
    int64_t delay_us, not_before_us;
    bool was_too_early; /**< The last read returned AFC_READ_AGAIN because of the throttle. */

    /* The position of reading. */
    bool has_started; /**< Reading has started: parts can't be added. */
    /** The position is in the body of parts[at], not in its head. With at == count it is in the closing delimiter. */
    bool is_in_body;
    size_t at;
    int64_t position;    /**< Position within that head, body or closing delimiter. */
    int descriptor;      /**< Descriptor of the current file; -1 if none is open. */
    afc_failure failure; /**< Set by the first failure. */
};

/** Returns the closing delimiter after the present parts. */
static afc_slice closing_of(const afc_multipart *form) {
    /* The line break before it belongs to the previous part. */
    return afc_slice_of(form->closing + (form->count == 0 ? 2 : 0));
}

/* ---- Files --------------------------------------------------------------------------------- */

static afc_status wrong_size(const afc__part *part, const char *how, int64_t expected,
                             afc_failure *failure) {
    return afc__fail(failure, AFC_EFILE, "%s is %s than its %lld bytes", part->path, how,
                     (long long)expected);
}

/** Checks the size of an open file; `*size` is its present size. Fails with AFC_EFILE. */
static afc_status check_size(const afc__part *part, int descriptor, int64_t *size,
                             afc_failure *failure) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return afc__fail_file(failure, "cannot read", part->path, errno);
    }
    *size = facts.st_size;
    int64_t expected = part->file_size;
    if (expected != AFC_LENGTH_UNKNOWN && *size > expected) {
        return wrong_size(part, "longer", expected, failure);
    }
    if (expected == AFC_LENGTH_UNKNOWN && part->length != AFC_LENGTH_UNKNOWN) {
        expected = part->offset + part->length;
    }
    return *size < expected ? wrong_size(part, "shorter", expected, failure) : AFC_OK;
}

/** Closes the current file, if there is one. */
static void close_file(afc_multipart *form) {
    if (form->descriptor >= 0) close(form->descriptor);
    form->descriptor = -1;
}

/* ---- The boundary -------------------------------------------------------------------------- */

/**
 * Returns whether a text consists of characters that are allowed in a boundary (RFC 2046 5.1.1) and need no quotes as a
 * parameter.
 */
static bool is_boundary(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "'+_-.";
    size_t size = strlen(text);
    return size >= 1 && size <= AFC_MULTIPART_BOUNDARY_MAX && strspn(text, allowed) == size;
}

static afc_status make_boundary(char *out) {
    static const char prefix[] = "AFBoundary-";
    unsigned char bits[16];
    if (!afc__random(bits, sizeof bits)) return AFC_EINTERNAL;
    memcpy(out, prefix, sizeof prefix);
    out += sizeof prefix - 1;
    afc__hex_write(out, bits, sizeof bits);
    return AFC_OK;
}

static afc_status set_boundary(afc_multipart *form, const char *boundary, afc_failure *failure) {
    form->is_own_boundary = boundary != NULL;
    if (boundary != NULL) {
        if (!is_boundary(boundary)) {
            return afc__fail(failure, AFC_EINVAL,
                             "invalid boundary: expected 1 to 70 letters, digits and '+_-.");
        }
        memcpy(form->boundary, boundary, strlen(boundary) + 1);
    } else if (make_boundary(form->boundary) != AFC_OK) {
        int error = errno;
        afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
        if (failure != NULL) failure->system_error = error;
        return AFC_EINTERNAL;
    }
    snprintf(form->content_type, sizeof form->content_type, "multipart/form-data; boundary=%s",
             form->boundary);
    snprintf(form->closing, sizeof form->closing, "\r\n--%s--\r\n", form->boundary);
    return AFC_OK;
}

/* ---- The form ------------------------------------------------------------------------------ */

afc_status afc_multipart_new(afc_multipart **out, const char *boundary, afc_failure *failure) {
    *out = NULL;
    afc__clear_failure(failure);
    afc_multipart *form = afc__zalloc(sizeof *form);
    if (form == NULL) return afc__fail_memory(failure);
    form->descriptor = -1;
    afc_status status = set_boundary(form, boundary, failure);
    if (status == AFC_OK)
        *out = form;
    else
        afc_free(form);
    return status;
}

void afc_multipart_trust_boundary(afc_multipart *form) {
    form->is_own_boundary = false;
}

/** Calls the release functions of what the part borrows. */
static void release_part(const afc__part *part) {
    if (part->kind == AFC__FORM_PART_BYTES && part->release != NULL) part->release(part->context);
    if (part->kind == AFC__FORM_PART_READER && part->reader.release != NULL) {
        part->reader.release(part->reader.context);
    }
}

void afc_multipart_free(afc_multipart *form) {
    if (form == NULL) return;
    close_file(form);
    for (size_t i = 0; i < form->count; i++) {
        release_part(&form->parts[i]);
        afc_free(form->parts[i].block);
    }
    afc_free(form->parts);
    afc_free(form);
}

void afc_multipart_throttle(afc_multipart *form, size_t packet_size, uint32_t delay_ms) {
    form->packet_size = packet_size;
    form->delay_us = (int64_t)delay_ms * 1000;
    form->not_before_us = 0;
}

size_t afc_multipart_get_count(const afc_multipart *form) {
    return form->count;
}

int64_t afc_multipart_get_length(const afc_multipart *form) {
    if (form->length == AFC_LENGTH_UNKNOWN) return AFC_LENGTH_UNKNOWN;
    return form->length + (int64_t)closing_of(form).size;
}

int64_t afc_multipart_get_part_length(const afc_multipart *form, size_t index) {
    return index < form->count ? form->parts[index].length : AFC_LENGTH_UNKNOWN;
}

const char *afc_multipart_get_boundary(const afc_multipart *form) {
    return form->boundary;
}

const char *afc_multipart_get_content_type(const afc_multipart *form) {
    return form->content_type;
}

/* ---- Checks of heads ----------------------------------------------------------------------- */

static afc_status refuse(afc_failure *failure, const char *what) {
    return afc__fail(failure, AFC_EINVAL, "%s of the part contains a control character", what);
}

static afc_status check_header(const afc_part *part, const afc_header *header, bool is_raw,
                               afc_failure *failure) {
    if (!afc__is_token(header->name)) {
        return afc__fail(failure, AFC_EINVAL, "the name of a header of the part isn't a token");
    }
    int size = header->name.size < 100 ? (int)header->name.size : 100;
    if (!afc__may_be_sent(header->value)) {
        return afc__fail(failure, AFC_EINVAL,
                         "the header %.*s of the part contains a control character", size,
                         header->name.bytes);
    }
    bool is_double = !is_raw && (afc__same_name(header->name, "Content-Disposition") ||
                                 (part->content_type.size > 0 &&
                                  afc__same_name(header->name, "Content-Type")));
    if (is_double || (header->flags & AFC_HEADER_REMOVE)) {
        return afc__fail(failure, AFC_EINVAL, "the header %.*s of the part is set by the form",
                         size, header->name.bytes);
    }
    return AFC_OK;
}

static afc_status read_part(afc_part *out, const afc_part *part, afc_failure *failure) {
    static const afc_part defaults = AFC_PART_INIT;
    afc_part storage;
    afc_failure found;
    part = afc__sized_read(&storage, &defaults, part, AFC__SIZED(afc_part, header_count),
                           "AFC_PART_INIT", &found);
    if (found.status == AFC_OK) *out = *part;
    if (found.status != AFC_OK && failure != NULL) *failure = found;
    return found.status;
}

static afc_status check_slice(afc_slice text, const char *what, afc_failure *failure) {
    if (text.bytes != NULL || text.size == 0) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "%s of the part has a size but no bytes", what);
}

static afc_status check_slices(const afc_part *part, afc_failure *failure) {
    afc_status status = check_slice(part->name, "the name", failure);
    if (status == AFC_OK) status = check_slice(part->file_name, "the file name", failure);
    if (status == AFC_OK) status = check_slice(part->content_type, "the content type", failure);
    return status;
}

/** Checks a part. Also limits every size, so that their sum can't overflow. */
static afc_status check_part(const afc_part *part, bool is_raw, afc_failure *failure) {
    const size_t limit = AFC_MULTIPART_HEAD_MAX;
    afc_status status = check_slices(part, failure);
    /* The limit is checked before the headers are: a count that is too big may have no array of its size. */
    if (status == AFC_OK && part->header_count <= limit / 4) {
        status = afc__check_header_pointers(part->headers, part->header_count, failure);
    }
    if (status != AFC_OK) return status;
    if (!afc__may_be_sent(part->name)) return refuse(failure, "the name");
    if (!afc__may_be_sent(part->file_name)) return refuse(failure, "the file name");
    if (!afc__may_be_sent(part->content_type)) return refuse(failure, "the content type");
    bool fits = part->name.size <= limit && part->file_name.size <= limit &&
                part->content_type.size <= limit && part->header_count <= limit / 4;
    for (size_t i = 0; i < part->header_count && fits; i++) {
        const afc_header *header = &part->headers[i];
        status = check_header(part, header, is_raw, failure);
        if (status != AFC_OK) return status;
        fits = header->name.size <= limit && header->value.size <= limit;
    }
    if (fits) return AFC_OK;
    return afc__fail(failure, AFC_ETOOBIG, "the headers of the part exceed the limit of %zu bytes",
                     limit);
}

/* ---- Writing a head ------------------------------------------------------------------------ */

/** Writes texts one after the other; only counts their size if `bytes` is NULL. */
typedef struct part_writer {
    char *bytes;
    size_t size;
} part_writer;

static void put(part_writer *writer, afc_slice text) {
    if (writer->bytes != NULL && text.size > 0) {
        memcpy(writer->bytes + writer->size, text.bytes, text.size);
    }
    writer->size += text.size;
}

static void put_text(part_writer *writer, const char *text) {
    put(writer, afc_slice_of(text));
}

static void put_quoted(part_writer *writer, afc_slice text) {
    put_text(writer, "\"");
    while (text.size > 0) {
        const char *quote = memchr(text.bytes, '"', text.size);
        size_t plain = quote != NULL ? (size_t)(quote - text.bytes) : text.size;
        put(writer, (afc_slice){text.bytes, plain});
        if (quote == NULL) break;
        put_text(writer, "%22");
        text = (afc_slice){quote + 1, text.size - plain - 1};
    }
    put_text(writer, "\"");
}

static void put_header(part_writer *writer, afc_slice name, afc_slice value) {
    put(writer, name);
    put_text(writer, ": ");
    put(writer, value);
    put_text(writer, "\r\n");
}

static void put_head(part_writer *writer, const afc_multipart *form, const afc_part *part,
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
            put_header(writer, afc_slice_of("Content-Type"), part->content_type);
        }
    }
    for (size_t i = 0; i < part->header_count; i++) {
        put_header(writer, part->headers[i].name, part->headers[i].value);
    }
    put_text(writer, "\r\n");
}

/* ---- Adding -------------------------------------------------------------------------------- */

static bool has_delimiter(const afc_multipart *form, afc_slice text) {
    if (text.size == 0) return false;
    /*
     * The delimiter "--boundary" is a part of the closing delimiter: without its line break and the second pair of
     * hyphens.
     */
    return memmem(text.bytes, text.size, form->closing + 2, strlen(form->boundary) + 2) != NULL;
}

static afc_status check_delimiter(const afc_multipart *form, afc_slice text, afc_failure *failure) {
    if (!form->is_own_boundary || !has_delimiter(form, text)) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the boundary occurs in the part");
}

static afc_status check_form(const afc_multipart *form, afc_failure *failure) {
    if (form->has_started) {
        return afc__fail(failure, AFC_EINVAL, "parts can't be added after the form was read from");
    }
    if (form->count < AFC_MULTIPART_PARTS_MAX) return AFC_OK;
    return afc__fail(failure, AFC_ETOOBIG, "the form exceeds the limit of %d parts",
                     AFC_MULTIPART_PARTS_MAX);
}

static afc_status add_length(int64_t *total, int64_t more, afc_failure *failure) {
    if (*total == AFC_LENGTH_UNKNOWN || more == AFC_LENGTH_UNKNOWN) {
        *total = AFC_LENGTH_UNKNOWN;
        return AFC_OK;
    }
    /* Reserves space for the closing delimiter. */
    if (__builtin_add_overflow(*total, more, total) || *total > INT64_MAX - 1024) {
        return afc__fail(failure, AFC_ETOOBIG, "the form's length overflows 64 bits");
    }
    return AFC_OK;
}

static afc_status ensure_capacity(afc_multipart *form, afc_failure *failure) {
    if (form->count < form->capacity) return AFC_OK;
    size_t capacity = form->capacity != 0 ? form->capacity * 2 : 8;
    afc__part *parts = afc__realloc(form->parts, capacity * sizeof *parts);
    if (parts == NULL) return afc__fail_memory(failure);
    form->parts = parts;
    form->capacity = capacity;
    return AFC_OK;
}

/** Writes the head and `copied` to the block of the part. */
static afc_status write_block(const afc_multipart *form, const afc_part *part, bool is_raw,
                              afc_slice copied, afc__part *made, afc_failure *failure) {
    part_writer writer = {NULL, 0};
    put_head(&writer, form, part, is_raw);
    size_t head = writer.size;
    if (head > AFC_MULTIPART_HEAD_MAX) {
        return afc__fail(failure, AFC_ETOOBIG,
                         "the headers of the part exceed the limit of %d bytes",
                         AFC_MULTIPART_HEAD_MAX);
    }
    if (copied.size > SIZE_MAX - head || (made->block = afc__alloc(head + copied.size)) == NULL) {
        return afc__fail(failure, AFC_ENOMEM, "out of memory for a part of %zu bytes", copied.size);
    }
    writer = (struct part_writer){made->block, 0};
    put_head(&writer, form, part, is_raw);
    made->head = (afc_slice){writer.bytes, head};
    put(&writer, copied);
    return AFC_OK;
}

/**
 * Checks and adds a part, as the last step of all functions that add one. `made` has the body; `copied` is stored
 * behind the head.
 */
static afc_status append(afc_multipart *form, const afc_part *part, bool is_raw, afc_slice copied,
                         afc__part *made, afc_failure *failure) {
    afc_part named;
    afc_status status = read_part(&named, part, failure);
    if (status == AFC_OK) status = check_form(form, failure);
    if (status == AFC_OK) status = check_part(&named, is_raw, failure);
    if (status == AFC_OK) status = write_block(form, &named, is_raw, copied, made, failure);
    if (status != AFC_OK) return status;
    int64_t length = form->length;
    size_t delimiter = strlen(form->boundary) + (form->count == 0 ? 2 : 4);
    afc_slice head = {made->head.bytes + delimiter, made->head.size - delimiter};
    status = check_delimiter(form, head, failure);
    if (status == AFC_OK) status = add_length(&length, (int64_t)made->head.size, failure);
    if (status == AFC_OK) status = add_length(&length, made->length, failure);
    if (status == AFC_OK) status = ensure_capacity(form, failure);
    if (status != AFC_OK) {
        afc_free(made->block);
        return status;
    }
    form->parts[form->count++] = *made;
    form->length = length;
    return AFC_OK;
}

static afc_status add_bytes(afc_multipart *form, const afc_part *part, bool is_raw, afc__part *made,
                            afc_failure *failure) {
    afc_slice bytes = {made->bytes, (size_t)made->length};
    afc_status status = AFC_OK;
    afc__clear_failure(failure);
    if (made->length < 0 || (bytes.bytes == NULL && bytes.size > 0)) {
        status = afc__fail(failure, AFC_EINVAL, "the part has a size but no bytes");
    }
    if (status == AFC_OK) status = check_delimiter(form, bytes, failure);
    bool is_copied = made->release == NULL;
    afc_slice copied = {bytes.bytes, is_copied ? bytes.size : 0};
    if (status == AFC_OK) status = append(form, part, is_raw, copied, made, failure);
    if (status != AFC_OK) {
        release_part(made);
    } else if (is_copied) {
        afc__part *added = &form->parts[form->count - 1];
        added->bytes = added->head.bytes + added->head.size;
    }
    return status;
}

afc_status afc_multipart_add_bytes(afc_multipart *form, const afc_part *part, afc_slice bytes,
                                   void (*release)(void *context), void *context,
                                   afc_failure *failure) {
    afc__part made = {.kind = AFC__FORM_PART_BYTES,
                      .bytes = bytes.bytes,
                      .length = (int64_t)bytes.size,
                      .release = release,
                      .context = context};
    return add_bytes(form, part, false, &made, failure);
}

afc_status afc_multipart_add_raw(afc_multipart *form, const afc_header *headers,
                                 size_t header_count, afc_slice bytes,
                                 void (*release)(void *context), void *context,
                                 afc_failure *failure) {
    afc_part part = AFC_PART_INIT;
    part.headers = headers;
    part.header_count = header_count;
    afc__part made = {.kind = AFC__FORM_PART_BYTES,
                      .bytes = bytes.bytes,
                      .length = (int64_t)bytes.size,
                      .release = release,
                      .context = context};
    return add_bytes(form, &part, true, &made, failure);
}

afc_status afc_multipart_add_reader(afc_multipart *form, const afc_part *part,
                                    const afc_reader *reader, int64_t length,
                                    afc_failure *failure) {
    afc__clear_failure(failure);
    if (reader == NULL) return afc__fail(failure, AFC_EINVAL, "the part has no reader");
    afc__part made = {.kind = AFC__FORM_PART_READER, .reader = *reader, .length = length};
    afc_status status = AFC_OK;
    if (reader->read == NULL) {
        status = afc__fail(failure, AFC_EINVAL, "the part's reader has no read function");
    } else if (length < AFC_LENGTH_UNKNOWN) {
        status = afc__fail(failure, AFC_EINVAL, "the part's length is negative");
    }
    if (status == AFC_OK) status = append(form, part, false, (afc_slice){NULL, 0}, &made, failure);
    if (status != AFC_OK) release_part(&made);
    return status;
}

/* ---- Adding files -------------------------------------------------------------------------- */

/** Sets unspecified sizes, and refuses files that can't be read. */
static afc_status measure_file(const afc_part_file *file, afc__part *made, afc_failure *failure) {
    bool is_range = file->offset >= 0 && file->length >= AFC_LENGTH_UNKNOWN &&
                    file->size >= AFC_LENGTH_UNKNOWN &&
                    (file->length <= 0 || file->offset <= INT64_MAX - file->length);
    if (!is_range)
        return afc__fail(failure, AFC_EINVAL,
                         "the part's offset or length is negative, or "
                         "their sum exceeds 2^63 - 1");
    int descriptor;
    int64_t length, size;
    afc_status status = afc__open_regular(&descriptor, file->path, &length, failure);
    if (status != AFC_OK) return status;
    status = check_size(made, descriptor, &size, failure);
    close(descriptor);
    if (status != AFC_OK) return status;
    bool is_open_end = file->length == AFC_LENGTH_UNKNOWN;
    bool is_stream = length == AFC_LENGTH_UNKNOWN && file->offset == 0 && is_open_end;
    /* A stream of unknown length: `made` already has AFC_LENGTH_UNKNOWN for both sizes. */
    if (is_stream && file->size == AFC_LENGTH_UNKNOWN) return AFC_OK;
    if (is_stream) return wrong_size(made, "longer", file->size, failure);
    if (file->offset + (is_open_end ? 0 : file->length) > size) {
        return afc__fail(failure, AFC_EFILE, "%s has only %lld bytes", file->path, (long long)size);
    }
    if (!is_open_end) return AFC_OK;
    made->file_size = size;
    made->length = size - file->offset;
    return AFC_OK;
}

afc_status afc_multipart_add_file(afc_multipart *form, const afc_part *part,
                                  const afc_part_file *file, afc_failure *failure) {
    afc__clear_failure(failure);
    if (file == NULL) return afc__fail(failure, AFC_EINVAL, "the part has no file");
    if (file->path == NULL || file->path[0] == '\0') {
        return afc__fail(failure, AFC_EINVAL, "the part's file has no path");
    }
    afc__part made = {.kind = AFC__FORM_PART_FILE,
                      .path = file->path,
                      .offset = file->offset,
                      .length = file->length,
                      .file_size = file->size};
    afc_part named;
    afc_status status = read_part(&named, part, failure);
    if (status == AFC_OK) status = AFC__CHECK_RESERVED(file, "afc_part_file", failure);
    if (status != AFC_OK) return status;
    if (named.file_name.bytes == NULL) named.file_name = afc__last_component(file->path);
    if (named.content_type.size == 0) {
        named.content_type = afc_slice_of(afc__media_type_of_path(file->path));
    }
    afc_slice path = {file->path, strlen(file->path) + 1};
    status = measure_file(file, &made, failure);
    if (status == AFC_OK) status = append(form, &named, false, path, &made, failure);
    if (status != AFC_OK) return status;
    afc__part *added = &form->parts[form->count - 1];
    added->path = added->head.bytes + added->head.size;
    return AFC_OK;
}

/* ---- Reading a file -------------------------------------------------------------------------- */

static afc_status open_file(afc_multipart *form, const afc__part *part, afc_failure *failure) {
    int64_t length, size;
    afc_status status = afc__open_regular(&form->descriptor, part->path, &length, failure);
    if (status != AFC_OK) return status;
    posix_fadvise(form->descriptor, part->offset, part->length > 0 ? part->length : 0,
                  POSIX_FADV_SEQUENTIAL);
    return check_size(part, form->descriptor, &size, failure);
}

static ptrdiff_t read_file(afc_multipart *form, const afc__part *part, void *buffer, size_t size,
                           afc_failure *failure) {
    if (form->descriptor < 0 && open_file(form, part, failure) != AFC_OK) return AFC_READ_FAILED;
    if (size == 0) {
        /* Checked again at the end: if the file has grown meanwhile, only a part of it was sent. */
        int64_t now;
        afc_status status = check_size(part, form->descriptor, &now, failure);
        return status == AFC_OK ? AFC_READ_END : AFC_READ_FAILED;
    }
    for (;;) {
        ssize_t count = pread(form->descriptor, buffer, size, part->offset + form->position);
        if (count > 0) return count;
        if (count == 0 && part->length == AFC_LENGTH_UNKNOWN) return AFC_READ_END;
        if (count == 0) {
            wrong_size(part, "shorter", part->offset + part->length, failure);
            return AFC_READ_FAILED;
        }
        if (errno == EINTR) continue;
        afc__fail_file(failure, "cannot read", part->path, errno);
        return AFC_READ_FAILED;
    }
}

/* ---- Readers ------------------------------------------------------------------------------- */

static ptrdiff_t reader_failed(const afc_multipart *form, const char *how, afc_failure *failure) {
    afc__fail(failure, AFC_ESOURCE, "the reader of part %zu %s", form->at + 1, how);
    return AFC_READ_FAILED;
}

static ptrdiff_t read_reader(afc_multipart *form, afc__part *part, void *buffer, size_t size,
                             afc_failure *failure) {
    if (size == 0) return AFC_READ_END;
    ptrdiff_t count = part->reader.read(part->reader.context, buffer, size);
    if (count == AFC_READ_AGAIN) return count;
    part->was_read = true;
    if (count == AFC_READ_END) {
        if (part->length == AFC_LENGTH_UNKNOWN) return count;
        return reader_failed(form, "ended before its length", failure);
    }
    if (count == AFC_READ_FAILED) return reader_failed(form, "failed", failure);
    if (count < 0) {
        afc__fail(failure, AFC_ESOURCE,
                  "the reader of part %zu returned %td: expected a number of bytes or AFC_READ_…",
                  form->at + 1, count);
        return AFC_READ_FAILED;
    }
    if ((size_t)count > size)
        return reader_failed(form, "returned more bytes than requested", failure);
    return count;
}

/* ---- Reading piece by piece ---------------------------------------------------------------- */

static ptrdiff_t read_text(const afc_multipart *form, afc_slice text, void *buffer, size_t size) {
    size_t left = text.size - (size_t)form->position;
    if (size > left) size = left;
    if (size > 0) memcpy(buffer, text.bytes + form->position, size);
    return (ptrdiff_t)size;
}

/** Reads from the current body. Returns AFC_READ_END when it is complete. */
static ptrdiff_t read_body(afc_multipart *form, void *buffer, size_t size, afc_failure *failure) {
    afc__part *part = &form->parts[form->at];
    if (part->length != AFC_LENGTH_UNKNOWN) {
        uint64_t left = (uint64_t)(part->length - form->position);
        if (size > left) size = (size_t)left;
    }
    switch (part->kind) {
    case AFC__FORM_PART_BYTES:
        return read_text(form, (afc_slice){part->bytes, (size_t)part->length}, buffer, size);
    case AFC__FORM_PART_FILE:
        return read_file(form, part, buffer, size, failure);
    case AFC__FORM_PART_READER:
        return read_reader(form, part, buffer, size, failure);
    }
    return AFC_READ_END;
}

/** Reads the next bytes of a head, a body or the closing delimiter. Returns their number or AFC_READ_…. */
static ptrdiff_t read_piece(afc_multipart *form, void *buffer, size_t size, afc_failure *failure) {
    while (form->at < form->count) {
        ptrdiff_t count = form->is_in_body
                              ? read_body(form, buffer, size, failure)
                              : read_text(form, form->parts[form->at].head, buffer, size);
        if (count != AFC_READ_END) return count;
        if (form->is_in_body) {
            close_file(form);
            form->at++;
        }
        form->is_in_body = !form->is_in_body;
        form->position = 0;
    }
    return read_text(form, closing_of(form), buffer, size);
}

static bool has_ended(const afc_multipart *form) {
    return form->at == form->count && (size_t)form->position == closing_of(form).size;
}

static ptrdiff_t fill(afc_multipart *form, char *buffer, size_t size) {
    size_t filled = 0;
    while (filled < size && !has_ended(form)) {
        ptrdiff_t count = read_piece(form, buffer + filled, size - filled, &form->failure);
        if (count == AFC_READ_FAILED) return count;
        if (count == AFC_READ_AGAIN) return filled > 0 ? (ptrdiff_t)filled : count;
        form->position += count;
        filled += (size_t)count;
    }
    return (ptrdiff_t)filled;
}

static int64_t delay_left(const afc_multipart *form) {
    return form->not_before_us != 0 ? form->not_before_us - afc__now_us() : 0;
}

int64_t afc_multipart_get_delay_us(const afc_multipart *form) {
    int64_t delay = delay_left(form);
    if (delay > 0) return delay;
    /* Returns at least 1 after AFC_READ_AGAIN, even if the delay has passed meanwhile: the caller must read again. */
    return form->was_too_early ? 1 : 0;
}

ptrdiff_t afc_multipart_read(afc_multipart *form, void *buffer, size_t size, afc_failure *failure) {
    afc__clear_failure(failure);
    form->has_started = true;
    if (form->failure.status != AFC_OK) {
        if (failure != NULL) *failure = form->failure;
        return AFC_READ_FAILED;
    }
    if (has_ended(form)) return AFC_READ_END;
    form->was_too_early = delay_left(form) > 0;
    if (form->was_too_early) return AFC_READ_AGAIN;
    if (form->packet_size != 0 && size > form->packet_size) size = form->packet_size;
    ptrdiff_t count = fill(form, buffer, size);
    if (count > 0 && form->delay_us > 0) form->not_before_us = afc__now_us() + form->delay_us;
    if (count == AFC_READ_FAILED) {
        close_file(form);
        if (failure != NULL) *failure = form->failure;
    }
    return count;
}

/* ---- Rewinding ----------------------------------------------------------------------------- */

bool afc_multipart_can_rewind(const afc_multipart *form) {
    for (size_t i = 0; i < form->count; i++) {
        const afc__part *part = &form->parts[i];
        if (part->was_read && part->reader.rewind == NULL) return false;
    }
    return true;
}

static afc_status rewind_reader(afc__part *part, size_t number, afc_failure *failure) {
    if (!part->was_read) return AFC_OK;
    if (part->reader.rewind == NULL) {
        return afc__fail(failure, AFC_EREPLAY,
                         "the form can't be replayed: the reader of part %zu has no rewind",
                         number);
    }
    if (!part->reader.rewind(part->reader.context)) {
        return afc__fail(failure, AFC_EREPLAY,
                         "the form can't be replayed: the reader of part %zu failed to rewind",
                         number);
    }
    part->was_read = false;
    return AFC_OK;
}

afc_status afc_multipart_rewind(afc_multipart *form, afc_failure *failure) {
    close_file(form);
    form->failure = (afc_failure){0};
    form->is_in_body = false;
    form->at = 0;
    form->position = 0;
    for (size_t i = 0; i < form->count && form->failure.status == AFC_OK; i++) {
        rewind_reader(&form->parts[i], i + 1, &form->failure);
    }
    if (failure != NULL) *failure = form->failure;
    return form->failure.status;
}

/* ---- Writing to a descriptor --------------------------------------------------------------- */

ptrdiff_t afc_multipart_write(afc_multipart *form, int descriptor, size_t size,
                              afc_failure *failure) {
    char buffer[32 * 1024];
    size_t written = 0;
    while (written < size) {
        size_t left = size - written;
        ptrdiff_t count = afc_multipart_read(form, buffer,
                                             left < sizeof buffer ? left : sizeof buffer, failure);
        if (count == AFC_READ_FAILED) return count;
        if (count <= 0) return written > 0 ? (ptrdiff_t)written : count;
        /* Bytes that were read but not written are lost, so the form can't continue. */
        int error = afc__write_all(descriptor, buffer, (size_t)count);
        if (error != 0) {
            afc__fail(&form->failure, AFC_EFILE, "cannot write the form: %s", strerror(error));
            form->failure.system_error = error;
            close_file(form);
            if (failure != NULL) *failure = form->failure;
            return AFC_READ_FAILED;
        }
        written += (size_t)count;
    }
    return (ptrdiff_t)written;
}
