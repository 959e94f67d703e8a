/**
 * HTTP header fields and response heads (RFC 9110).
 */
#ifndef AFCORE_MESSAGE_H
#define AFCORE_MESSAGE_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

enum {
    /** The value is a secret: not sent after a redirect to another origin, and hidden in traces. */
    AF_HEADER_SECRET = 1u << 0,
    /** Don't send a field of this name, not even a default one; `value` is ignored. */
    AF_HEADER_REMOVE = 1u << 1
};

/**
 * A header field. Case, order, repetitions and octets above 127 are preserved. In a request the name must be
 * a token (RFC 9110 5.6.2), and the value must not contain control characters other than tabs.
 */
typedef struct af_header {
    af_slice name;
    af_slice value;
    unsigned flags; /**< AF_HEADER_… bits. */
} af_header;

/** The protocol version of a response. */
typedef enum af_http_version {
    AF_HTTP_UNKNOWN = 0,
    AF_HTTP_1_0 = 10,
    AF_HTTP_1_1 = 11,
    AF_HTTP_2 = 20,
    AF_HTTP_3 = 30
} af_http_version;

/** The head of a response. Its pointers are valid as long as the object that it was taken from. */
typedef struct af_head {
    int status; /**< Status code, 100 to 999. */
    af_http_version version;
    af_slice reason; /**< Reason phrase; empty over HTTP/2. */
    const af_header *headers;
    size_t header_count;
} af_head;

/**
 * Finds the first field with a name, ignoring ASCII case; NULL if there is none.
 *
 * Thread: any.    Owns: borrowed from `head`.    Fails: never.
 */
AF_API const af_header *af_head_find(const af_head *head, const char *name);

/** Maximum length of a suggested file name in bytes: leaves room for a suffix within the usual 255. */
#define AF_FILE_NAME_MAX 223

/**
 * Suggests a file name for a response body: from Content-Disposition (RFC 6266, RFC 8187), else the last
 * segment of the URL's path, else "download" with the usual extension of the Content-Type. `head` and
 * `url` may be NULL.
 *
 * The name is safe whatever the server sends: well-formed UTF-8 of 1 to AF_FILE_NAME_MAX bytes that is one
 * path component, without slashes, backslashes, control characters and bidirectional formatting
 * characters, without a dot or space at either end, and never a reserved device name. A file of that
 * name may exist already.
 *
 * Thread: any.    Owns: nothing; writes to `name`.    Fails: never.
 */
AF_API void af_suggest_file_name(char name[AF_FILE_NAME_MAX + 1], const af_head *head,
                                 const char *url);

AF_END_DECLS

#endif
