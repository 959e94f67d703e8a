/**
 * http and https URLs (RFC 3986): parsed, normalised for sending, resolved and compared. Pure functions.
 */
#ifndef AFC_MESSAGE_URL_H
#define AFC_MESSAGE_URL_H

#include <afcore/url.h>

enum {
    /** Maximum size of a URL in bytes, as given and normalised. */
    AFC__URL_MAX = 64 * 1024,
    /** Maximum size of a host name in bytes (DNS). */
    AFC__HOST_MAX = 255
};

/** A parsed URL. A zeroed one is empty, and may be passed to afc__url_clear(). The slices point into `text`. */
typedef struct afc__url {
    char *text; /**< Absolute URL for sending, without userinfo and fragment; NUL-terminated. */
    bool is_https;
    afc_slice host;  /**< In lower case; addresses normalised, IPv6 without brackets. */
    uint16_t port;   /**< As in the URL, or the scheme's default, which `text` omits. */
    afc_slice path;  /**< At least "/". */
    afc_slice query; /**< Without "?"; `bytes` is NULL if missing. */
    char *userinfo;  /**< As written, percent-encoded; NULL if missing. A secret. */
} afc__url;

/**
 * Parses an absolute URL: scheme http or https in any case, a host, a port from 1 to 65535 (empty: the default). In
 * path and query, octets that URLs can't contain (space, above 127, `"<>\^{|}` and the backtick) are percent-encoded;
 * existing escapes are kept, even invalid ones. Dot segments are removed, an empty path becomes "/", the fragment is
 * removed. A host that libcurl and resolvers treat as an IP address (`127.1`, `0x7f.0.0.1`) is normalised to one, so
 * that cookies, proxies, trust and the connection use the same host.
 *
 * Fails with AFC_EINVAL, whose text names the invalid part but never shows userinfo, for control characters, a
 * backslash in the authority, another scheme, a missing host, a host with invalid characters, without its closing
 * bracket, or that ends in a number but isn't an address, an invalid port, or a URL that is too long. Fails with
 * AFC_ENOMEM. `*out` is then empty.
 */
afc_status afc__url_parse(afc__url *out, afc_slice text, afc_failure *failure);

/**
 * Writes the http or https URL for a ws or wss URL (RFC 6455 3). The caller frees it with afc_free(). `*out` is NULL if
 * `text` has another scheme, and on AFC_ENOMEM.
 */
afc_status afc__url_from_websocket(char **out, afc_slice text);

/**
 * Resolves a reference (Location) against a base (RFC 3986 5.2, strict). Fails as afc__url_parse() does. A reference
 * without an authority keeps the base's userinfo. `out` must not be `base`.
 */
afc_status afc__url_resolve(afc__url *out, const afc__url *base, afc_slice reference,
                            afc_failure *failure);

/** Returns whether scheme, host (ignoring one trailing dot) and port are equal. */
bool afc__url_same_origin(const afc__url *a, const afc__url *b);

/** Writes the origin as text (RFC 6454 6.2). Returns its size. */
size_t afc__url_write_origin(const afc__url *url, char out[AFC_URL_ORIGIN_SIZE]);

/** Returns the default port of a scheme. */
static inline uint16_t afc__default_port(bool is_https) {
    return is_https ? 443 : 80;
}

/** Returns a path up to its last slash, or "/" if it has none: the base of relative references (RFC 3986 5.2.3). */
afc_slice afc__url_directory(afc_slice path);

/** Removes dot segments in place (RFC 3986 5.2.4). `path` starts with "/". Returns its new end. */
char *afc__remove_dot_segments(char *path, const char *end);

/**
 * Replaces the host by `host`, its A-labels; keeps the userinfo. Fails with AFC_ENOMEM or AFC_EINVAL, as
 * afc__url_parse() does; the URL is then unchanged.
 */
afc_status afc__url_set_host(afc__url *url, afc_slice host, afc_failure *failure);

/**
 * Writes a host as A-labels, NUL-terminated and without a trailing dot. Returns false if it is invalid, or if
 * conversion isn't supported.
 */
typedef bool afc__to_ascii(char *out, size_t size, afc_slice host);

/** Converts an internationalised host to A-labels; other hosts are unchanged. `to_ascii` may be NULL. */
afc_status afc__url_use_a_labels(afc__url *url, afc__to_ascii *to_ascii, afc_failure *failure);

/**
 * Upgrades an http URL to https (RFC 6797 8.3): port 80 becomes 443; other ports and the userinfo are kept. Fails with
 * AFC_ENOMEM, or AFC_EINVAL if the URL becomes too long; the URL is then unchanged.
 */
afc_status afc__url_upgrade(afc__url *url, afc_failure *failure);

/** Frees the URL's memory and makes it empty. */
void afc__url_clear(afc__url *url);

#endif
