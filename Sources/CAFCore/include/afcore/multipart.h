/**
 * Multipart forms as request bodies: multipart/form-data (RFC 7578), encoded as the WHATWG HTML standard
 * specifies. A form is read piece by piece, so that files of any size need no memory.
 *
 * Add parts to a form, then either pass it to a request (afc_body, AFC_BODY_MULTIPART) or read it directly. A request
 * sends it from its first byte, whatever was read before, and fails with AFC_EREPLAY if a reader can't be rewound.
 * It may be used on any thread, by one thread at a time.
 *
 * A part consists of "--boundary", Content-Disposition, Content-Type, its other headers, an empty line and
 * its body. In names and file names a quotation mark is encoded as %22; all other bytes are preserved.
 * Control characters other than tabs are refused in everything that becomes part of a header.
 */
#ifndef AFCORE_MULTIPART_H
#define AFCORE_MULTIPART_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>
#include <afcore/task.h>

AFC_BEGIN_DECLS

enum {
    AFC_MULTIPART_PARTS_MAX = 10000,    /**< Maximum number of parts of a form. */
    AFC_MULTIPART_HEAD_MAX = 64 * 1024, /**< Maximum size of a part's headers, in bytes. */
    AFC_MULTIPART_BOUNDARY_MAX = 70     /**< Maximum length of a boundary (RFC 2046 5.1.1). */
};

/** The headers of a part. Start from AFC_PART_INIT. All are copied. Functions accept NULL for AFC_PART_INIT. */
typedef struct afc_part {
    size_t size;    /**< sizeof(afc_part). */
    afc_slice name; /**< Name of the form field; may be empty. */
    /** If `bytes` is NULL, the last component of a file's path; none for other parts. */
    afc_slice file_name;
    afc_slice content_type; /**< If empty, the type for a file's extension; none for other parts. */
    /** Other headers, sent in this order. */
    const afc_header *headers;
    size_t header_count;
} afc_part;

#define AFC_PART_INIT                                                                              \
    { sizeof(afc_part), {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL, 0 }

/** A file, or a range of it, as the body of a part. Start from AFC_PART_FILE_INIT. */
typedef struct afc_part_file {
    const char *path;
    int64_t offset; /**< Offset of the first byte. Default: 0. */
    int64_t length; /**< Length in bytes; AFC_LENGTH_UNKNOWN means to the end of the file. */
    /**
     * Size in bytes that the file must have, both now and when it is read. AFC_LENGTH_UNKNOWN means its present size,
     * or, if `length` is set, any size that includes the range.
     */
    int64_t size;
    uint64_t reserved[2]; /**< 0. */
} afc_part_file;

#define AFC_PART_FILE_INIT                                                                         \
    {                                                                                              \
        NULL, 0, AFC_LENGTH_UNKNOWN, AFC_LENGTH_UNKNOWN, {                                         \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Creates an empty form.
 *
 * `boundary`: NULL for 128 random bits. Otherwise 1 to 70 letters, digits and '+_-. that must not occur,
 * after "--", in the bytes of a part. Parts from files and readers are not scanned for it.
 *
 * Thread: any.    Owns: `*out` is yours, afc_multipart_free() or a request.
 * Fails: AFC_EINVAL (invalid boundary), AFC_ENOMEM, AFC_EINTERNAL (no random bytes); `*out` is then NULL.
 */
AFC_API afc_status afc_multipart_new(afc_multipart **out, const char *boundary,
                                     afc_failure *failure);

/**
 * Skips the boundary scan for parts added from now on: the caller guarantees that the boundary is random.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_multipart_trust_boundary(afc_multipart *form);

/**
 * Frees a form that was not passed to a request. NULL is allowed.
 *
 * Thread: owner.    Owns: takes `form`; borrowed bytes and readers are released.    Fails: never.
 */
AFC_API void afc_multipart_free(afc_multipart *form);

/**
 * Adds a part from bytes. They are copied, or, if `release` is not NULL, borrowed until release(context) is
 * called.
 *
 * Thread: owner.    Owns: takes borrowed bytes, also on failure.
 * Fails: AFC_EINVAL, `failure` says why: a control character, an invalid header name, a size without bytes, the
 * boundary in the bytes, or the form was already read from; AFC_ETOOBIG (see AFC_MULTIPART_…_MAX), AFC_ENOMEM. The
 * form is then unchanged.
 */
AFC_API afc_status afc_multipart_add_bytes(afc_multipart *form, const afc_part *part,
                                           afc_slice bytes, void (*release)(void *context),
                                           void *context, afc_failure *failure);

/**
 * Adds a part from a regular file. The file is opened again when the part is read. If it is missing or has
 * another size by then, reading fails with AFC_EFILE: the length of the body never changes. A file that has bytes
 * although its size is reported as 0, as in /proc, makes a part of unknown length, if no range or size is given.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as afc_multipart_add_bytes(); AFC_EFILE (the file can't be read now; see `system_error`).
 */
AFC_API afc_status afc_multipart_add_file(afc_multipart *form, const afc_part *part,
                                          const afc_part_file *file, afc_failure *failure);

/**
 * Adds a part of `length` bytes, or AFC_LENGTH_UNKNOWN, from a reader. If the reader ends early, reading the
 * form fails with AFC_ESOURCE. It is not read beyond `length`.
 *
 * Thread: owner.    Owns: takes the reader, also on failure.    Fails: as afc_multipart_add_bytes().
 */
AFC_API afc_status afc_multipart_add_reader(afc_multipart *form, const afc_part *part,
                                            const afc_reader *reader, int64_t length,
                                            afc_failure *failure);

/**
 * Adds a part with exactly the given headers, in this order, and bytes (see afc_multipart_add_bytes()).
 * Without headers, the part starts with the empty line.
 *
 * Thread: owner.    Owns: takes borrowed bytes, also on failure.
 * Fails: as afc_multipart_add_bytes().
 */
AFC_API afc_status afc_multipart_add_raw(afc_multipart *form, const afc_header *headers,
                                         size_t header_count, afc_slice bytes,
                                         void (*release)(void *context), void *context,
                                         afc_failure *failure);

/**
 * Throttles reading: each read returns at most `packet_size` bytes (0 means no limit), and the following ones none for
 * `delay_ms` milliseconds. A task waits with a timer. A rewind keeps the setting.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_multipart_throttle(afc_multipart *form, size_t packet_size, uint32_t delay_ms);

/**
 * Returns the number of parts.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_multipart_get_count(const afc_multipart *form);

/**
 * Returns the exact length of the form in bytes; AFC_LENGTH_UNKNOWN if the length of a part is unknown.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API int64_t afc_multipart_get_length(const afc_multipart *form);

/**
 * Returns the length of a part's body in bytes; AFC_LENGTH_UNKNOWN if it is unknown or `index` is invalid.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API int64_t afc_multipart_get_part_length(const afc_multipart *form, size_t index);

/**
 * Returns the boundary, without "--".
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AFC_API const char *afc_multipart_get_boundary(const afc_multipart *form);

/**
 * Returns the value for the request's Content-Type: "multipart/form-data; boundary=…". A task sends it
 * unless its request sets or removes Content-Type.
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AFC_API const char *afc_multipart_get_content_type(const afc_multipart *form);

/**
 * Reads the next bytes into `buffer`, at most `size`, which must not be 0. Returns their number or one of
 * AFC_READ_…. Files are read on the calling thread.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: AFC_READ_END after the last byte; AFC_READ_AGAIN if a reader has no data now, or while
 * afc_multipart_get_delay_us() isn't 0; AFC_READ_FAILED with AFC_EFILE or AFC_ESOURCE in `failure`, for every
 * read until a rewind.
 */
AFC_API ptrdiff_t afc_multipart_read(afc_multipart *form, void *buffer, size_t size,
                                     afc_failure *failure);

/**
 * Returns how long the throttle still holds back data, in microseconds; 0 if it doesn't.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API int64_t afc_multipart_get_delay_us(const afc_multipart *form);

/**
 * Reads the next bytes, at most `size`, which must not be 0, and writes them to a blocking descriptor: for
 * forms that are stored and sent later.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as afc_multipart_read(); also AFC_EFILE if writing fails. A pipe without a reader raises no SIGPIPE.
 */
AFC_API ptrdiff_t afc_multipart_write(afc_multipart *form, int descriptor, size_t size,
                                      afc_failure *failure);

/**
 * Returns whether afc_multipart_rewind() is possible. It isn't once data was read from a reader without
 * `rewind`.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_multipart_can_rewind(const afc_multipart *form);

/**
 * Returns to the first byte of the form, and calls the `rewind` of readers.
 *
 * Thread: owner.    Owns: nothing.    Fails: AFC_EREPLAY; the form can then no longer be read.
 */
AFC_API afc_status afc_multipart_rewind(afc_multipart *form, afc_failure *failure);

AFC_END_DECLS

#endif
