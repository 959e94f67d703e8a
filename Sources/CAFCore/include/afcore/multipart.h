/**
 * Forms as request bodies: multipart/form-data (RFC 7578), written as the WHATWG says and read
 * piece by piece, so that a form with a file of any size takes no more memory than its headers.
 *
 * A form is filled, then either given to a request (af_body, AF_BODY_MULTIPART) or read by hand.
 * It has one user at a time, on any thread.
 *
 * On the wire a part is "--boundary", Content-Disposition, Content-Type, its further headers, an
 * empty line and its body. In names and file names a quote becomes %22, everything else is kept as
 * it is; control characters other than tabs are refused wherever they could end up in a header.
 */
#ifndef AFCORE_MULTIPART_H
#define AFCORE_MULTIPART_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>
#include <afcore/task.h>

AF_BEGIN_DECLS

enum {
    AF_MULTIPART_PARTS_MAX = 10000,    /**< Parts of a form. */
    AF_MULTIPART_HEAD_MAX = 64 * 1024, /**< Bytes of the headers of one part. */
    AF_MULTIPART_BOUNDARY_MAX = 70     /**< Characters of a boundary, RFC 2046 5.1.1. */
};

/** What stands in front of a part's body. Start from AF_PART_INIT. Everything is copied. */
typedef struct af_part {
    size_t size;        /**< sizeof(af_part), for growth. */
    af_slice name;      /**< The field's name; may be empty. */
    af_slice file_name; /**< `bytes` NULL: none, but for a file the last component of its path. */
    af_slice content_type; /**< Empty: none, but for a file what its path's extension stands for. */
    /** Further headers, in their order. */
    const af_header *headers;
    size_t header_count;
} af_part;

#define AF_PART_INIT                                                                               \
    { sizeof(af_part), {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL, 0 }

/** A file, or a range of one, as the body of a part. Start from AF_PART_FILE_INIT. */
typedef struct af_part_file {
    const char *path;
    int64_t offset; /**< Of the first byte. */
    int64_t length; /**< In bytes; AF_LENGTH_UNKNOWN: up to the end of the file. */
    /**
     * The size that the file must have, now and when it is read. AF_LENGTH_UNKNOWN: what it has
     * now; with a `length`, any that reaches to the end of the range.
     */
    int64_t size;
} af_part_file;

#define AF_PART_FILE_INIT                                                                          \
    { NULL, 0, AF_LENGTH_UNKNOWN, AF_LENGTH_UNKNOWN }

/**
 * Make an empty form.
 *
 * `boundary`: NULL for 128 random bits. A given one has 1 to 70 letters, digits and '+_-. and must
 * not occur, after "--", in parts of bytes; in files and readers it is not looked for.
 *
 * Thread: any.    Owns: `*out` is yours, af_multipart_free() or a request.
 * Fails: AF_EINVAL (the boundary), AF_ENOMEM, AF_EINTERNAL (no random bits); `*out` is then NULL.
 * `failure` may be NULL, here and below.
 */
AF_API af_status af_multipart_new(af_multipart **out, const char *boundary, af_failure *failure);

/**
 * Don't look for a given boundary in parts added from now on: it has enough random bits.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API void af_multipart_trust_boundary(af_multipart *form);

/**
 * Free a form that no request took. NULL is fine.
 *
 * Thread: owner.    Owns: takes `form`; what its parts borrow is given back.    Fails: never.
 */
AF_API void af_multipart_free(af_multipart *form);

/**
 * Add a part of bytes: copied, unless `release` is set; then borrowed until release(context).
 *
 * Thread: owner.    Owns: takes what is borrowed, also when it fails.
 * Fails: AF_EINVAL (the text names what: a control character, an invalid header name, the boundary in
 * the bytes, a form that was read from), AF_ETOOBIG (see AF_MULTIPART_…_MAX), AF_ENOMEM. The form is
 * then as it was.
 */
AF_API af_status af_multipart_add_bytes(af_multipart *form, const af_part *part, af_slice bytes,
                                        void (*release)(void *context), void *context,
                                        af_failure *failure);

/**
 * Add a part of a regular file, which is opened again when its turn comes. If it has vanished,
 * shrunk or grown by then, reading fails with AF_EFILE: the body is never of another length.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as af_multipart_add_bytes(); AF_EFILE (`system_error` says why) if it can't be read now.
 */
AF_API af_status af_multipart_add_file(af_multipart *form, const af_part *part,
                                       const af_part_file *file, af_failure *failure);

/**
 * Add a part of `length` bytes, or AF_LENGTH_UNKNOWN, that are pulled from a reader. One that gives
 * fewer fails the form with AF_ESOURCE; it is not asked for more.
 *
 * Thread: owner.    Owns: takes the reader, also when it fails.    Fails: as af_multipart_add_bytes().
 */
AF_API af_status af_multipart_add_reader(af_multipart *form, const af_part *part,
                                         const af_reader *reader, int64_t length,
                                         af_failure *failure);

/**
 * Add a part of nothing but the given headers, in their order, and bytes (see
 * af_multipart_add_bytes()). Without headers it has only the empty line in front of its body.
 *
 * Thread: owner.    Owns: takes what is borrowed, also when it fails.
 * Fails: as af_multipart_add_bytes().
 */
AF_API af_status af_multipart_add_raw(af_multipart *form, const af_header *headers,
                                      size_t header_count, af_slice bytes,
                                      void (*release)(void *context), void *context,
                                      af_failure *failure);

/**
 * Slow reading down: at most `packet_size` bytes at once (0: no limit), then nothing for `delay_ms`.
 * A task's loop waits that long with a timer. Kept across a rewind.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API void af_multipart_throttle(af_multipart *form, size_t packet_size, uint32_t delay_ms);

/**
 * The number of parts.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API size_t af_multipart_get_count(const af_multipart *form);

/**
 * The exact number of bytes of the whole form; AF_LENGTH_UNKNOWN if a part has no length.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_length(const af_multipart *form);

/**
 * The number of bytes of one part's body; AF_LENGTH_UNKNOWN if it has none, or there is no such part.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_part_length(const af_multipart *form, size_t index);

/**
 * The boundary.
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AF_API const char *af_multipart_get_boundary(const af_multipart *form);

/**
 * The value of the request's Content-Type: "multipart/form-data; boundary=…". A task sends it by
 * itself if its request says nothing about Content-Type.
 *
 * Thread: owner.    Owns: borrowed, lives with `form`.    Fails: never.
 */
AF_API const char *af_multipart_get_content_type(const af_multipart *form);

/**
 * Read the next bytes straight into `buffer`, at most `size`, which must not be 0. Files are read
 * in the calling thread.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: the number of bytes, or AF_READ_…: END after the last byte; AGAIN if a reader has nothing,
 * or for af_multipart_get_delay_us(); FAILED with the reason in `failure`, AF_EFILE or AF_ESOURCE,
 * and the same again until a rewind.
 */
AF_API ptrdiff_t af_multipart_read(af_multipart *form, void *buffer, size_t size,
                                   af_failure *failure);

/**
 * How long the throttle gives nothing yet, in microseconds; 0: it does not hold back.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API int64_t af_multipart_get_delay_us(const af_multipart *form);

/**
 * Read the next bytes, at most `size`, which must not be 0, and write them to a descriptor that
 * blocks: a form as a file to be sent later.
 *
 * Thread: owner.    Owns: nothing.
 * Fails: as af_multipart_read(); AF_EFILE also if they can't be written.
 */
AF_API ptrdiff_t af_multipart_write(af_multipart *form, int descriptor, size_t size,
                                    af_failure *failure);

/**
 * Could af_multipart_rewind() succeed? Not if a reader was read from that can be read only once.
 *
 * Thread: owner.    Owns: nothing.    Fails: never.
 */
AF_API bool af_multipart_can_rewind(const af_multipart *form);

/**
 * Back to the first byte: bytes and files by themselves, readers through their own rewind.
 *
 * Thread: owner.    Owns: nothing.    Fails: AF_EREPLAY; the form can then not be read any more.
 */
AF_API af_status af_multipart_rewind(af_multipart *form, af_failure *failure);

/**
 * The media type that a file name's extension, without its dot and whatever its case, stands for;
 * NULL if it is not known. "cer" gives "application/x-x509-ca-cert".
 *
 * Thread: any.    Owns: borrowed, lives forever.    Fails: never.
 */
AF_API const char *af_media_type_of_extension(af_slice extension);

AF_END_DECLS

#endif
