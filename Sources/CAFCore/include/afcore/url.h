/**
 * URLs as text (RFC 3986): splitting, checking, resolving, encoding, adding a query, comparing origins.
 *
 * Functions that only split, join or encode never fail and never normalise, so they also work for text that isn't a
 * valid URL. afc_url_check() checks whether a request accepts a URL.
 */
#ifndef AFCORE_URL_H
#define AFCORE_URL_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <afcore/message.h>

AFC_BEGIN_DECLS

/** The parts of a URL or relative reference, as slices of its text. The `bytes` of an absent part are NULL. */
typedef struct afc_url_parts {
    afc_slice scheme;    /**< Without the colon, in its original case. */
    afc_slice authority; /**< Between "//" and the path: user information, host and port. */
    afc_slice userinfo;  /**< Before the last "@" of the authority. May be a secret. */
    afc_slice host;  /**< As written; an IPv6 address has no brackets. Absent without authority. */
    afc_slice port;  /**< The text after the host's colon; may be empty, or not a number. */
    afc_slice path;  /**< Never absent; may be empty. */
    afc_slice query; /**< Without "?". */
    afc_slice fragment; /**< Without "#". */
} afc_url_parts;

/**
 * Splits a URL or a relative reference (RFC 3986, appendix B).
 *
 * Thread: any.    Owns: nothing; the parts point into `url`.    Fails: never.
 */
AFC_API void afc_url_split(afc_url_parts *out, afc_slice url);

/**
 * Returns the URL's port, or, if it has none, the default of its scheme: 80 for http, 443 for https.
 *
 * Thread: any.    Owns: nothing.
 * Fails: returns 0 if the port isn't a number from 1 to 65535, or if it is missing and the scheme is another one.
 */
AFC_API uint16_t afc_url_port(const afc_url_parts *parts);

/**
 * Checks that a request accepts this URL: scheme http or https, a valid host, a port from 1 to 65535, no control
 * characters, at most 65536 bytes. Internationalised hosts are converted and checked when the request is sent.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL with a text that names the invalid part and never shows user information; AFC_ENOMEM, only near the
 * maximum size.
 */
AFC_API afc_status afc_url_check(afc_slice url, afc_failure *failure);

/**
 * Resolves a reference against a base (RFC 3986, section 5.2, strict). Removes dot segments, escapes nothing, keeps
 * user information and the fragment. A reference with a scheme is returned unchanged.
 *
 * Returns the size of the result, which has no NUL. While it is made, `out` also holds the dot segments. If these don't
 * fit, the contents of `out` are undefined, and the returned size exceeds `capacity` and is one that is enough;
 * base.size + reference.size + 2 bytes are always enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_url_resolve(char *out, size_t capacity, afc_slice base, afc_slice reference);

/**
 * Percent-encodes a text, which may be any octets, for use in a path, a query or a fragment: all but letters, digits
 * and "-._~" (RFC 3986, section 2.3). "a b/c" becomes "a%20b%2Fc".
 *
 * Returns the size of the result, which has no NUL. If the size exceeds `capacity`, the contents of `out` are
 * undefined; 3 * text.size bytes are always enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_url_encode(char *out, size_t capacity, afc_slice text);

/**
 * Decodes a percent-encoded text: "%" with two hexadecimal digits becomes that octet; everything else stays unchanged,
 * also "+" and invalid escapes (WHATWG URL, section 1.3). The result may be any octets, NUL included. `out` may be
 * `text.bytes`.
 *
 * Returns the size of the result, which has no NUL. If the size exceeds `capacity`, the contents of `out` are
 * undefined; text.size bytes are always enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_url_decode(char *out, size_t capacity, afc_slice text);

/** A field of a form. */
typedef struct afc_url_field {
    afc_slice name;  /**< Any octets; UTF-8 is usual. */
    afc_slice value; /**< As `name`. */
} afc_url_field;

/**
 * Encodes fields as application/x-www-form-urlencoded (WHATWG URL, section 5.2), such as "q=a+b&n=1": for the query of
 * a URL, see afc_url_append_query(), or for a body of that Content-Type. Without fields the result is empty.
 *
 * Returns the size of the result, which has no NUL. If the size exceeds `capacity`, the contents of `out` are
 * undefined; for each field, three times the bytes of name and value, and 2, are always enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_url_encode_form(char *out, size_t capacity, const afc_url_field *fields,
                                   size_t count);

/**
 * Reads the next field of a query or of a body that is application/x-www-form-urlencoded (WHATWG URL, section 5.1).
 * Fields are separated by "&", and empty ones are skipped. The name ends at the first "="; without one the value is
 * empty. "+" is decoded as a space, and "%" with two hexadecimal digits as that octet; invalid escapes stay unchanged.
 *
 * `*rest` is the text that wasn't read yet: begin with afc_url_parts.query. Writes the decoded name and value to
 * `text`, and `out` points to them there; neither has a NUL. rest->size bytes are always enough for `text`.
 *
 * Returns false at the end, where `*rest` is empty, and if `capacity` is too small, where `*rest` begins with the field
 * that wasn't read.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API bool afc_query_next(afc_slice *rest, afc_url_field *out, char *text, size_t capacity);

/**
 * Adds a percent-encoded query (afc_url_encode_form()) to the URL, before its fragment. It is separated by "?",
 * or by "&" if the URL has a query that isn't empty and doesn't end in "&". An empty query changes nothing.
 *
 * Returns the size of the result, which has no NUL. If the size exceeds `capacity`, the contents of `out` are
 * undefined; url.size + query.size + 1 bytes are always enough.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_url_append_query(char *out, size_t capacity, afc_slice url, afc_slice query);

/**
 * Writes the http or https URL of the handshake that opens a WebSocket (RFC 6455, section 3): ws becomes http, wss
 * becomes https. URLs with http or https and relative references are unchanged. afc_websocket_open() accepts the same
 * schemes.
 *
 * `*size` is the size of the result, which has no NUL. If it exceeds `capacity`, nothing is written to `out`;
 * url.size + 2 bytes are always enough.
 *
 * Thread: any.    Owns: nothing.
 * Fails: AFC_EINVAL with a text that names the scheme if it is another one; `*size` is then 0.
 */
AFC_API afc_status afc_url_from_websocket(char *out, size_t capacity, size_t *size, afc_slice url,
                                          afc_failure *failure);

/** Maximum size of an origin in bytes, with the NUL. */
#define AFC_URL_ORIGIN_SIZE 272

/**
 * Writes the origin of a URL (RFC 6454, section 6.2), such as "https://example.org:8443". The host is in lower case,
 * without a trailing dot; addresses are normalised, internationalised names are A-labels; a default port is left out.
 * Two URLs have the same origin, and may share credentials, if and only if these texts are equal.
 *
 * Thread: any.    Owns: nothing.
 * Fails: as afc_url_check(); AFC_EINVAL if an internationalised host is invalid, AFC_EUNSUPPORTED if this libcurl has
 * no IDN, AFC_ENOMEM. `out` is then empty.
 */
AFC_API afc_status afc_url_write_origin(char out[AFC_URL_ORIGIN_SIZE], afc_slice url,
                                        afc_failure *failure);

/**
 * Writes the file name at the end of a URL's path, decoded, and as safe as those of afc_suggest_file_name(). Trailing
 * dots and spaces are removed. A hidden name, or one with a separator or a control character, is refused.
 *
 * Thread: any.    Owns: nothing; writes to `name`.
 * Fails: AFC_EINVAL with the reason: the last segment of the path is empty, missing (text without a slash may be a
 * host), refused as above, not UTF-8 or too long. `name` is then empty.
 */
AFC_API afc_status afc_url_file_name(char name[AFC_FILE_NAME_MAX + 1], afc_slice url,
                                     afc_failure *failure);

AFC_END_DECLS

#endif
