/**
 * http and https URLs (RFC 3986): taken apart, made fit for the wire, resolved, compared. Pure.
 */
#ifndef AF_MESSAGE_URL_H
#define AF_MESSAGE_URL_H

#include <afcore/url.h>

enum {
    /** Bytes of a URL, as given and as normalised. */
    AF__URL_LONGEST = 64 * 1024,
    /** Bytes of a host name: what DNS can hold. */
    AF__HOST_LONGEST = 255
};

/** Zeroed it is empty; af__url_clear() is then harmless. Slices point into `text`. */
typedef struct af__url {
    char *text; /**< Absolute, without userinfo and fragment, ends in NUL; for the wire. */
    bool is_https;
    af_slice host;  /**< Lower case; an address in its usual form, of IPv6 without its brackets. */
    uint16_t port;  /**< Explicit or the scheme's, which is left out of `text`. */
    af_slice path;  /**< At least "/". */
    af_slice query; /**< Without "?"; bytes is NULL if there is none. */
    char *userinfo; /**< As written, still escaped; NULL if there was none. A secret. */
} af__url;

/**
 * Take an absolute URL apart: scheme http or https (any case), a host, a port 1–65535 (empty: the
 * default). In path and query, octets that a URL can't hold (space, above 127, and
 * `"<>\^{|}` and the backtick) are percent-encoded; escapes are kept as they are, invalid ones too.
 * Dot segments are removed, an empty path becomes "/", a fragment is dropped. A host that libcurl and
 * resolvers would take for an IP address (`127.1`, `0x7f.0.0.1`) is written as one, so that cookies, proxies,
 * trust and the connection see the same host.
 *
 * AF_EINVAL, with a text that names what is wrong but never shows userinfo: control characters
 * anywhere, a backslash in the authority, another scheme, no host, one with characters that no host
 * name has, without its bracket, or that ends in a number and is no address, a bad port, too long. AF_ENOMEM. `*out` is then empty.
 */
af_status af__url_parse(af__url *out, af_slice text, af_failure *failure);

/**
 * A reference (Location) against a base, RFC 3986 5.2, strict. Fails as af__url_parse(). The base's
 * userinfo stays with a reference that has no authority of its own. `out` must not be `base`.
 */
af_status af__url_resolve(af__url *out, const af__url *base, af_slice reference,
                          af_failure *failure);

/** Scheme, host (one trailing dot aside) and port are the same. */
bool af__url_same_origin(const af__url *a, const af__url *b);

/** The text that stands for that, RFC 6454 6.2, and its size. */
size_t af__url_write_origin(const af__url *url, char out[AF_URL_ORIGIN_ROOM]);

/** Of a URL of one of the two schemes that names no port. */
static inline uint16_t af__default_port(bool is_https) {
    return is_https ? 443 : 80;
}

/** A path up to its last slash, "/" if it has none: where relative references begin (RFC 3986 5.2.3). */
af_slice af__url_directory(af_slice path);

/** RFC 3986 5.2.4, in place. `path` begins with "/"; returns its new end. */
char *af__remove_dot_segments(char *path, const char *end);

/**
 * Another host, as a URL has it: the A-labels of this one. Its userinfo stays. AF_ENOMEM, AF_EINVAL as
 * af__url_parse(): it is as it was.
 */
af_status af__url_set_host(af__url *url, af_slice host, af_failure *failure);

/** A host in A-labels, that ends in NUL and in no dot. false: it has none, or nobody knows them. */
typedef bool af__to_ascii(char *out, size_t size, af_slice host);

/** The same for a host in another script that has A-labels, and nothing for others. `to_ascii` may be NULL. */
af_status af__url_use_a_labels(af__url *url, af__to_ascii *to_ascii, af_failure *failure);

/**
 * An http URL becomes the https one of the same host: port 80 becomes 443, others stay. Its userinfo
 * stays. AF_ENOMEM, AF_EINVAL if it gets too long: it is as it was.
 */
af_status af__url_upgrade(af__url *url, af_failure *failure);

/** Free what it holds; it is empty afterwards. */
void af__url_clear(af__url *url);

#endif
