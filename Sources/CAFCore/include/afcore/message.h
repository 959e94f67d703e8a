/**
 * HTTP messages as values: header fields, requests' heads and responses' heads (RFC 9110).
 */
#ifndef AFCORE_MESSAGE_H
#define AFCORE_MESSAGE_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

enum {
    /** A credential of the caller's: dropped when a redirect leaves the origin, never shown. */
    AF_HEADER_SECRET = 1u << 0,
    /** Not a field to send but the wish to send none of this name; `value` is ignored. */
    AF_HEADER_REMOVE = 1u << 1
};

/**
 * One header field. Bytes are kept as they are: case, order, repeats and octets above 127.
 * In a request the name must be a token, and a value with a control character other than a tab is refused.
 */
typedef struct af_header {
    af_slice name;
    af_slice value;
    unsigned flags; /**< AF_HEADER_… */
} af_header;

typedef enum af_http_version {
    AF_HTTP_UNKNOWN = 0,
    AF_HTTP_1_0 = 10,
    AF_HTTP_1_1 = 11,
    AF_HTTP_2 = 20,
    AF_HTTP_3 = 30
} af_http_version;

/** The head of a response. Every pointer lives as long as the object that it came from. */
typedef struct af_head {
    int status;
    af_http_version version;
    af_slice reason; /**< The reason phrase; empty over HTTP/2. */
    const af_header *headers;
    size_t header_count;
} af_head;

/**
 * The first field of a name, compared without regard to ASCII case; NULL if there is none.
 *
 * Thread: any.    Owns: borrowed from `head`.    Fails: never.
 */
AF_API const af_header *af_head_find(const af_head *head, const char *name);

/** The longest suggested file name in bytes: short enough for a suffix, where file systems take 255. */
#define AF_FILE_NAME_MAX 223

/**
 * The name under which an answer's body may be kept: what Content-Disposition suggests (RFC 6266,
 * RFC 8187), else the last segment of the URL's path, else "download" with an extension by
 * Content-Type. Either of `head` and `url` may be NULL.
 *
 * Whatever the server says, the name is well-formed UTF-8, has 1 to AF_FILE_NAME_MAX bytes and is
 * one path component: no slash, backslash, control character or mark that turns the direction of
 * writing, no dot or space at its beginning or end, no name of a device. It may be one of a file
 * that exists.
 *
 * Thread: any.    Owns: nothing; `name` is yours.    Fails: never.
 */
AF_API void af_suggest_file_name(char name[AF_FILE_NAME_MAX + 1], const af_head *head,
                                 const char *url);

AF_END_DECLS

#endif
