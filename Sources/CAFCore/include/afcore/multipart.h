/**
 * Multipart forms as request bodies: multipart/form-data (RFC 7578), encoded as the WHATWG HTML standard
 * specifies. A form is read piece by piece, so that files of any size need no memory.
 *
 * Add parts to a form, then either pass it to a request (af_body, AF_BODY_MULTIPART) or read it directly.
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

AF_BEGIN_DECLS

enum {
    AF_MULTIPART_PARTS_MAX = 10000,    /**< Maximum number of parts of a form. */
    AF_MULTIPART_HEAD_MAX = 64 * 1024, /**< Maximum size of a part's headers, in bytes. */
    AF_MULTIPART_BOUNDARY_MAX = 70     /**< Maximum length of a boundary (RFC 2046 5.1.1). */
};

/** The headers of a part. Start from AF_PART_INIT. All are copied. */
typedef struct af_part {
    size_t size;        /**< sizeof(af_part), for growth. */
    af_slice name;      /**< Name of the form field; may be empty. */
    af_slice file_name; /**< `bytes` NULL: for a file the last component of its path, else none. */
    af_slice content_type; /**< Empty: for a file by its extension, else none. */
    /** Other headers, sent in this order. */
    const af_header *headers;
    size_t header_count;
} af_part;

#define AF_PART_INIT                                                                               \
    { sizeof(af_part), {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL, 0 }

/** A file, or a range of it, as the body of a part. Start from AF_PART_FILE_INIT. */
typedef struct af_part_file {
    const char *path;
    int64_t offset; /**< Offset of the first byte. Default: 0. */
    int64_t length; /**< In bytes; AF_LENGTH_UNKNOWN: to the end of the file. */
    /**
     * Size in bytes that the file must have, both now and when it is read. AF_LENGTH_UNKNOWN: its present
     * size; if `length` is set, any size that includes the range.
     */
    int64_t size;
} af_part_file;

#define AF_PART_FILE_INIT                                                                          \
    { NULL, 0, AF_LENGTH_UNKNOWN, AF_LENGTH_UNKNOWN }

/**
 * Creates an empty form.
 *
 * `boundary`: NULL for 128 random bits. Otherwise 1 to 70 letters, digits and '+_-. that must not occur,
 * after "--", in the bytes of a part. Parts from files and readers are not scanned for it.
 *
 * Thread: any.    Owns: `*out` is yours, af_multipart_free() or a request.
 * Fails: AF_EINVAL (invalid boundary), AF_ENOMEM, AF_EINTERNAL (no random bytes); `*out` is then NULL.
 * `failure` may be NULL, here and below.
 */
AF_API af_status af_multipart_new(af_multipart **out, const char *boundary, af_failure *failure);

/**
 * Skips the boundary scan for parts added from now on: the caller guarantees that the boundary is random.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API void af_multipart_trust_boundary(af_multipart *form);

/**
 * Frees a form that was not passed to a request. NULL is allowed.
 *
 * Thread: owner.    Owns: takes `form`; borrowed bytes and readers are released.    Fails: never.
 */
AF_API void af_multipart_free(af_multipart *form);

/**
 * Adds a part from bytes. They are copied, or, if `release` is not NULL, borrowed until release(context) is
 * called.
 *
 * Thread: owner.    Owns: takes borrowed bytes, also on failure.
 * Fails: AF_EINVAL, `failure` says why: a control character, an invalid header name, the boundary in the
 * bytes, or the form was already read from; AF_ETOOBIG (see AF_MULTIPART_…_MAX), AF_ENOMEM. The form is
 * then unchanged.
 */
AF_API af_status af_multipart_add_bytes(af_multipart *form, const af_part *part, af_slice bytes,
                                        void (*release)(void *context), void *context,
                                        af_failure *failure);

/**
 * Adds a part from a regular file. The file is opened again when the part is read. If it is missing or has
 * another size by then, reading fails with AF_EFILE: the length of the body never changes.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as af_multipart_add_bytes(); AF_EFILE (the file can't be read now; see `system_error`).
 */
AF_API af_status af_multipart_add_file(af_multipart *form, const af_part *part,
                                       const af_part_file *file, af_failure *failure);

/**
 * Adds a part of `length` bytes, or AF_LENGTH_UNKNOWN, from a reader. If the reader ends early, reading the
 * form fails with AF_ESOURCE. It is not read beyond `length`.
 *
 * Thread: owner.    Owns: takes the reader, also on failure.    Fails: as af_multipart_add_bytes().
 */
AF_API af_status af_multipart_add_reader(af_multipart *form, const af_part *part,
                                         const af_reader *reader, int64_t length,
                                         af_failure *failure);

/**
 * Adds a part with exactly the given headers, in this order, and bytes (see af_multipart_add_bytes()).
 * Without headers, the part starts with the empty line.
 *
 * Thread: owner.    Owns: takes borrowed bytes, also on failure.
 * Fails: as af_multipart_add_bytes().
 */
AF_API af_status af_multipart_add_raw(af_multipart *form, const af_header *headers,
                                      size_t header_count, af_slice bytes,
                                      void (*release)(void *context), void *context,
                                      af_failure *failure);

/**
 * Throttles reading: each read returns at most `packet_size` bytes (0: no limit), then none for `delay_ms`
 * milliseconds. A task waits with a timer. A rewind keeps the setting.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API void af_multipart_throttle(af_multipart *form, size_t packet_size, uint32_t delay_ms);

/**
 * Returns the number of parts.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API size_t af_multipart_get_count(const af_multipart *form);

/**
 * Returns the exact length of the form in bytes; AF_LENGTH_UNKNOWN if the length of a part is unknown.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_length(const af_multipart *form);

/**
 * Returns the length of a part's body in bytes; AF_LENGTH_UNKNOWN if it is unknown or `index` is invalid.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_part_length(const af_multipart *form, size_t index);

/**
 * Returns the boundary, without "--".
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AF_API const char *af_multipart_get_boundary(const af_multipart *form);

/**
 * Returns the value for the request's Content-Type: "multipart/form-data; boundary=…". A task sends it
 * unless its request sets or removes Content-Type.
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AF_API const char *af_multipart_get_content_type(const af_multipart *form);

/**
 * Reads the next bytes into `buffer`, at most `size`, which must not be 0. Returns their number or one of
 * AF_READ_…. Files are read on the calling thread.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: AF_READ_END after the last byte; AF_READ_AGAIN if a reader has no data now, or while
 * af_multipart_get_delay_us() isn't 0; AF_READ_FAILED with AF_EFILE or AF_ESOURCE in `failure`, for every
 * read until a rewind.
 */
AF_API ptrdiff_t af_multipart_read(af_multipart *form, void *buffer, size_t size,
                                   af_failure *failure);

/**
 * Returns how long the throttle still holds back data, in microseconds; 0 if it doesn't.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_delay_us(const af_multipart *form);

/**
 * Reads the next bytes, at most `size`, which must not be 0, and writes them to a blocking descriptor: for
 * forms that are stored and sent later.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as af_multipart_read(); also AF_EFILE if writing fails.
 */
AF_API ptrdiff_t af_multipart_write(af_multipart *form, int descriptor, size_t size,
                                    af_failure *failure);

/**
 * Returns whether af_multipart_rewind() is possible. It isn't once data was read from a reader without
 * `rewind`.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API bool af_multipart_can_rewind(const af_multipart *form);

/**
 * Returns to the first byte of the form, and calls the `rewind` of readers.
 *
 * Thread: owner.    Owns: nothing.    Fails: AF_EREPLAY; the form can then no longer be read.
 */
AF_API af_status af_multipart_rewind(af_multipart *form, af_failure *failure);

/**
 * Returns the media type for a file name extension, given without its dot and in any case; NULL if it is
 * unknown. Example: "cer" returns "application/x-x509-ca-cert".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AF_API const char *af_media_type_of_extension(af_slice extension);

AF_END_DECLS

#endif
