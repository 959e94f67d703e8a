/**
 * HTTP header fields and response heads (RFC 9110).
 */
#ifndef AFCORE_MESSAGE_H
#define AFCORE_MESSAGE_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

enum {
    /** The value is a secret: not sent after a redirect to another origin, and hidden in traces. */
    AFC_HEADER_SECRET = 1u << 0,
    /** Don't send a field of this name, not even a default one; `value` is ignored. */
    AFC_HEADER_REMOVE = 1u << 1
};

/**
 * A header field. Case, order, repetitions and octets above 127 are preserved. In a request the name must be
 * a token (RFC 9110 5.6.2), and the value must not contain control characters other than tabs. A request has at most
 * one Host field (RFC 9112 3.2).
 */
typedef struct afc_header {
    afc_slice name;
    afc_slice value;
    unsigned flags; /**< AFC_HEADER_… bits; others are AFC_EINVAL. */
} afc_header;

/** The protocol version of a response. */
typedef enum AFC_OPEN_ENUM afc_http_version {
    AFC_HTTP_UNKNOWN = 0,
    AFC_HTTP_1_0 = 10,
    AFC_HTTP_1_1 = 11,
    AFC_HTTP_2 = 20,
    AFC_HTTP_3 = 30
} afc_http_version;

/** The head of a response. Its pointers are valid as long as the object that it was taken from. */
typedef struct afc_head {
    int status; /**< Status code, 100 to 999. */
    afc_http_version version;
    afc_slice reason; /**< Reason phrase; empty over HTTP/2. */
    const afc_header *headers;
    size_t header_count;
} afc_head;

/**
 * Finds the first field with a name, ignoring ASCII case; NULL if there is none.
 *
 * Thread: any.    Owns: borrowed from `head`.    Fails: never.
 */
AFC_API const afc_header *afc_head_find(const afc_head *head, const char *name);

/**
 * Finds the next field with a name after `previous`, which must be a field of the head; if it is NULL, finds the first
 * one. For fields that may be repeated, such as Set-Cookie.
 *
 * Thread: any.    Owns: borrowed from `head`.    Fails: never; NULL if there is no other one.
 */
AFC_API const afc_header *afc_head_find_next(const afc_head *head, const char *name,
                                             const afc_header *previous);

/**
 * Returns the size of the token (RFC 9110, section 5.6.2) that `text` starts with; 0 if it doesn't start with one.
 * Methods and header names are tokens.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_token_size(afc_slice text);

/**
 * Returns whether a header name, in any case, is one of those whose values are credentials: Authorization,
 * Proxy-Authorization, Cookie, Set-Cookie, Cookie2 and Set-Cookie2; the names of keys and tokens that end with Token,
 * Secret, Password, ApiKey, Api-Key, Access-Key, Application-Key, Auth-Key, Functions-Key, Master-Key, Secret-Key or
 * Subscription-Key, such as X-Api-Key, X-CSRFToken and Private-Token; Fastly-Key and X-Authorization. They are treated
 * as if they had AFC_HEADER_SECRET.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_header_is_credential(afc_slice name);

/**
 * Checks a request header: the name must be a token, the value must have no control character other than a tab (RFC
 * 9110, section 5.5). Content-Length and Transfer-Encoding are refused: they are computed from the body. With
 * AFC_HEADER_REMOVE the value is ignored. A slice with a size but no bytes, and unknown flags are refused.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL with a text that names the header but never shows its value.
 */
AFC_API afc_status afc_header_check(const afc_header *header, afc_failure *failure);

/**
 * Parses an HTTP date (RFC 9110, section 5.6.7) in any of its three forms:
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
 *     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850
 *     Sun Nov  6 08:49:37 1994          asctime()
 *
 * `now` and `*seconds` are seconds since 1970. A two-digit year is the latest one that makes the date at most 50
 * years later than `now`. The weekday isn't compared with the date. A leap second counts as the first second of the
 * next minute.
 *
 * Thread: any.    Owns: nothing.
 * Fails: returns false for any other text, such as another time zone, a day that isn't in the month, or a year before
 * 1900.
 */
AFC_API bool afc_date_parse(afc_slice text, int64_t now, int64_t *seconds);

/** Size of a written date in bytes, with the NUL. */
#define AFC_DATE_SIZE 30

/**
 * Writes seconds since 1970 as an IMF-fixdate, the form that senders must use.
 *
 * Thread: any.    Owns: nothing.    Fails: returns false for years before 1900 and after 9999; `out` is then empty.
 */
AFC_API bool afc_date_write(char out[AFC_DATE_SIZE], int64_t seconds);

/**
 * Returns the media type for a file name extension, given without its dot and in any case; NULL if it is
 * unknown. Example: "cer" returns "application/x-x509-ca-cert".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_media_type_of_extension(afc_slice extension);

/** Maximum length of a suggested file name in bytes: leaves room for a suffix within the usual 255. */
#define AFC_FILE_NAME_MAX 223

/**
 * Suggests a file name for a response body: from Content-Disposition (RFC 6266, RFC 8187), else the last
 * segment of the URL's path, else "download" with the usual extension of the Content-Type. `head` and
 * `url` may be NULL.
 *
 * The name is safe whatever the server sends: well-formed UTF-8 of 1 to AFC_FILE_NAME_MAX bytes that is one
 * path component, without slashes, backslashes, control characters and bidirectional formatting
 * characters, without a dot or space at either end, and never a reserved device name. A longer name is
 * shortened before its extension and gets a hash of the whole, so that names with the same beginning stay
 * different. A file of that name may exist already.
 *
 * Thread: any.    Owns: nothing; writes to `name`.    Fails: never.
 */
AFC_API void afc_suggest_file_name(char name[AFC_FILE_NAME_MAX + 1], const afc_head *head,
                                   const char *url);

AFC_END_DECLS

#endif
