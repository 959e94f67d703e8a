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
 * In a request CR, LF and NUL are refused in both parts, and the name must be a token.
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

AF_END_DECLS

#endif
