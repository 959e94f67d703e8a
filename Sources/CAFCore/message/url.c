#include "message/url.h"

#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/encoding.h"
#include "message/host.h"

#include <afcore/url.h>

/* ---- Parts --------------------------------------------------------------------------------- */

/** The parts of a URL that is built. */
typedef struct url_parts {
    bool is_https;
    afc__authority authority;
    /** Directory of the base, before `path`; empty if the path is absolute. */
    afc_slice directory;
    afc_slice path;
    afc_slice query;
} url_parts;

static afc_status check_octets(afc_slice text, afc_failure *failure) {
    if (text.size > AFC__URL_MAX) {
        return afc__fail(failure, AFC_EINVAL, "the URL exceeds the limit of %d bytes",
                         AFC__URL_MAX);
    }
    if (!afc__has_control(text)) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the URL contains a control character");
}

static afc_status read_scheme(bool *is_https, afc_slice scheme, afc_failure *failure) {
    if (scheme.size == 0)
        return afc__give_reason(failure, AFC_REASON_NO_SCHEME,
                                afc__fail(failure, AFC_EINVAL, "the URL has no scheme"));
    *is_https = afc__same_name(scheme, "https");
    if (*is_https || afc__same_name(scheme, "http")) return AFC_OK;
    int shown = scheme.size < 32 ? (int)scheme.size : 32;
    return afc__fail(failure, AFC_EINVAL, "the URL scheme \"%.*s\" is neither http nor https",
                     shown, scheme.bytes);
}

/** Returns the scheme of the handshake for a ws or wss URL (RFC 6455 3); NULL for another scheme or none. */
static const char *handshake_scheme(afc_slice scheme) {
    if (afc__same_name(scheme, "wss")) return "https";
    return afc__same_name(scheme, "ws") ? "http" : NULL;
}

static bool is_http_scheme(afc_slice scheme) {
    return afc__same_name(scheme, "http") || afc__same_name(scheme, "https");
}

afc_status afc_url_from_websocket(char *out, size_t capacity, size_t *size, afc_slice url,
                                  afc_failure *failure) {
    afc_url_parts parts;
    afc_url_split(&parts, url);
    const char *scheme = handshake_scheme(parts.scheme);
    *size = 0;
    afc__clear_failure(failure);
    if (scheme == NULL && parts.scheme.size != 0 && !is_http_scheme(parts.scheme)) {
        int shown = parts.scheme.size < 32 ? (int)parts.scheme.size : 32;
        return afc__fail(
            failure, AFC_EINVAL,
            "invalid URL scheme \"%.*s\" of a WebSocket: expected ws, wss, http or https", shown,
            parts.scheme.bytes);
    }
    size_t replaced = scheme != NULL ? parts.scheme.size : 0;
    size_t head = scheme != NULL ? strlen(scheme) : 0, rest = url.size - replaced;
    *size = head + rest;
    if (*size > capacity) return AFC_OK;
    if (head != 0) memcpy(out, scheme, head);
    if (rest != 0) memcpy(out + head, url.bytes + replaced, rest);
    return AFC_OK;
}

afc_status afc__url_from_websocket(char **out, afc_slice text) {
    afc_url_parts parts;
    *out = NULL;
    afc_url_split(&parts, text);
    if (handshake_scheme(parts.scheme) == NULL) return AFC_OK;
    size_t size, capacity = text.size + 2;
    char *url = afc__alloc(capacity + 1);
    if (url == NULL) return AFC_ENOMEM;
    afc_url_from_websocket(url, capacity, &size, text, NULL);
    url[size] = '\0';
    *out = url;
    return AFC_OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/**
 * Returns whether this octet must be percent-encoded. Brackets are kept: "a[]=1" isn't valid in RFC 3986, but widely
 * understood.
 */
static bool must_escape(char c) {
    switch (c) {
    case ' ':
    case '"':
    case '<':
    case '>':
    case '\\':
    case '^':
    case '`':
    case '{':
    case '|':
    case '}':
        return true;
    default:
        return (unsigned char)c > 127;
    }
}

static size_t escaped_size(afc_slice text) {
    size_t size = text.size;
    for (size_t i = 0; i < text.size; i++) {
        if (must_escape(text.bytes[i])) size += 2;
    }
    return size;
}

static char *write_bytes(char *at, const char *bytes, size_t size) {
    if (size != 0) memcpy(at, bytes, size);
    return at + size;
}

static char *write_escaped(char *at, afc_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (must_escape(text.bytes[i])) {
            at = afc__percent_put(at, text.bytes[i]);
        } else {
            *at++ = text.bytes[i];
        }
    }
    return at;
}

static char *write_scheme(char *at, bool is_https) {
    return is_https ? write_bytes(at, "https://", 8) : write_bytes(at, "http://", 7);
}

/** Writes the port, unless it is the scheme's default. */
static char *write_port(char *at, uint16_t port, bool is_https) {
    return port == afc__default_port(is_https) ? at : afc__write_port(at, port);
}

static char *write_authority(char *at, afc__url *out, const afc__authority *authority) {
    if (authority->is_ipv6) *at++ = '[';
    out->host = (afc_slice){at, afc__authority_write_host(authority, at)};
    at += out->host.size;
    if (authority->is_ipv6) *at++ = ']';
    out->port = authority->port != 0 ? authority->port : afc__default_port(out->is_https);
    return write_port(at, out->port, out->is_https);
}

static char *write_path(char *at, afc__url *out, const url_parts *target) {
    char *path = at;
    at = write_escaped(at, target->directory);
    at = write_escaped(at, target->path);
    if (at == path) *at++ = '/';
    at = afc__remove_dot_segments(path, at);
    out->path = (afc_slice){path, (size_t)(at - path)};
    return at;
}

static char *write_query(char *at, afc__url *out, afc_slice query) {
    if (query.bytes == NULL) return at;
    *at++ = '?';
    char *start = at;
    at = write_escaped(at, query);
    out->query = (afc_slice){start, (size_t)(at - start)};
    return at;
}

/** Returns the maximum size of the URL, with its NUL. Removing dot segments makes it shorter. */
static size_t size_of(const url_parts *target) {
    static const char fixed[] = "https://[]:65535/?";
    return sizeof fixed + afc__authority_host_size(&target->authority) +
           escaped_size(target->directory) + escaped_size(target->path) +
           escaped_size(target->query);
}

static afc_status write_url(afc__url *out, const url_parts *target, afc_failure *failure) {
    afc__url url = {.is_https = target->is_https, .text = afc__alloc(size_of(target))};
    if (url.text == NULL) return afc__fail_memory(failure);
    char *at = write_scheme(url.text, url.is_https);
    at = write_authority(at, &url, &target->authority);
    at = write_path(at, &url, target);
    at = write_query(at, &url, target->query);
    *at = '\0';
    if (at - url.text > AFC__URL_MAX) {
        afc__url_clear(&url);
        return afc__fail(failure, AFC_EINVAL,
                         "the URL exceeds the limit of %d bytes after percent-encoding",
                         AFC__URL_MAX);
    }
    if (target->authority.userinfo.size != 0) {
        url.userinfo = afc__copy_text(target->authority.userinfo);
        if (url.userinfo == NULL) {
            afc__url_clear(&url);
            return afc__fail_memory(failure);
        }
    }
    *out = url;
    return AFC_OK;
}

/* ---- Parsing ------------------------------------------------------------------------------- */

/** Reads a URL, or a reference with a scheme, an authority or both. */
static afc_status read_own(url_parts *out, bool is_https, const afc_url_parts *parts,
                           afc_failure *failure) {
    *out = (url_parts){.is_https = is_https, .path = parts->path, .query = parts->query};
    if (parts->authority.bytes == NULL)
        return afc__fail(failure, AFC_EINVAL, "the URL has no host");
    return afc__authority_split(&out->authority, parts->authority, failure);
}

/** Reads a reference without an authority. */
static void read_below(url_parts *out, const afc__url *base, const afc_url_parts *parts) {
    *out = (url_parts){.is_https = base->is_https, .path = parts->path, .query = parts->query};
    out->authority = (afc__authority){
        .userinfo = afc_slice_of(base->userinfo),
        .host = base->host,
        .is_ipv6 = memchr(base->host.bytes, ':', base->host.size) != NULL,
        .port = base->port,
    };
    if (!afc__ip_parse(&out->authority.ip, base->host)) out->authority.ip.size = 0;
    if (parts->path.size == 0) {
        out->path = base->path;
        if (parts->query.bytes == NULL) out->query = base->query;
    } else if (parts->path.bytes[0] != '/') {
        out->directory = afc__url_directory(base->path);
    }
}

/** Reads a URL, or a reference to be resolved against `base`. `base` is NULL if the text must be an absolute URL. */
static afc_status read_target(url_parts *out, const afc__url *base, afc_slice text,
                              afc_failure *failure) {
    afc_status status = check_octets(text, failure);
    if (status != AFC_OK) return status;
    afc_url_parts parts;
    afc_url_split(&parts, text);
    bool is_https = base != NULL && base->is_https;
    if (base == NULL || parts.scheme.bytes != NULL) {
        status = read_scheme(&is_https, parts.scheme, failure);
        return status == AFC_OK ? read_own(out, is_https, &parts, failure) : status;
    }
    if (parts.authority.bytes != NULL) return read_own(out, is_https, &parts, failure);
    read_below(out, base, &parts);
    return AFC_OK;
}

afc_status afc__url_parse(afc__url *out, afc_slice text, afc_failure *failure) {
    return afc__url_resolve(out, NULL, text, failure);
}

afc_status afc__url_resolve(afc__url *out, const afc__url *base, afc_slice text,
                            afc_failure *failure) {
    url_parts target;
    *out = (afc__url){0};
    afc_status status = read_target(&target, base, text, failure);
    return status == AFC_OK ? write_url(out, &target, failure) : status;
}

afc_status afc_url_check(afc_slice text, afc_failure *failure) {
    url_parts target;
    afc__clear_failure(failure);
    afc_status status = read_target(&target, NULL, text, failure);
    if (status != AFC_OK || size_of(&target) <= AFC__URL_MAX) return status;
    /* The estimate is too long, but the URL may not be: its size is known only after writing. */
    afc__url url;
    status = write_url(&url, &target, failure);
    if (status == AFC_OK) afc__url_clear(&url);
    return status;
}

bool afc__url_same_origin(const afc__url *a, const afc__url *b) {
    return a->is_https == b->is_https && a->port == b->port &&
           afc__is_same(afc__without_dot(a->host), afc__without_dot(b->host));
}

size_t afc__url_write_origin(const afc__url *url, char out[AFC_URL_ORIGIN_SIZE]) {
    char *at = write_scheme(out, url->is_https);
    at = afc__host_write(at, afc__without_dot(url->host));
    at = write_port(at, url->port, url->is_https);
    *at = '\0';
    return (size_t)(at - out);
}

/** Replaces the URL by another text, but keeps the userinfo. On failure `url` is unchanged. */
static afc_status replace_text(afc__url *url, afc_slice text, afc_failure *failure) {
    afc__url other = {0};
    afc_status status = afc__url_parse(&other, text, failure);
    if (status != AFC_OK) return status;
    other.userinfo = url->userinfo;
    url->userinfo = NULL;
    afc__url_clear(url);
    *url = other;
    return AFC_OK;
}

/** Replaces the text between `start` and `end`. */
static afc_status replace_part(afc__url *url, const char *start, const char *end, afc_slice part,
                               afc_failure *failure) {
    size_t before = (size_t)(start - url->text), behind = strlen(end);
    char *text = afc__alloc(before + part.size + behind);
    if (text == NULL) return afc__fail_memory(failure);
    char *at = write_bytes(text, url->text, before);
    at = write_bytes(at, part.bytes, part.size);
    at = write_bytes(at, end, behind);
    afc_status status = replace_text(url, (afc_slice){text, (size_t)(at - text)}, failure);
    afc_free(text);
    return status;
}

afc_status afc__url_upgrade(afc__url *url, afc_failure *failure) {
    static const size_t old_size = sizeof "http" - 1;
    return replace_part(url, url->text, url->text + old_size, afc_slice_of("https"), failure);
}

afc_status afc__url_set_host(afc__url *url, afc_slice host, afc_failure *failure) {
    const char *start = url->host.bytes;
    /* An "@" or a slash in the host would begin another part of the URL. */
    if (!afc__is_dns_name(host)) {
        return afc__fail(failure, AFC_EINVAL, "\"%.*s\" is not a valid host name", (int)host.size,
                         host.bytes);
    }
    return replace_part(url, start, start + url->host.size, host, failure);
}

afc_status afc__url_use_a_labels(afc__url *url, afc__to_ascii *to_ascii, afc_failure *failure) {
    char host[AFC__HOST_MAX + 1];
    if (to_ascii == NULL || afc__is_ascii(url->host)) return AFC_OK;
    if (!to_ascii(host, sizeof host, url->host)) return AFC_OK;
    return afc__url_set_host(url, afc_slice_of(host), failure);
}

void afc__url_clear(afc__url *url) {
    afc_free(url->text);
    if (url->userinfo != NULL) afc__free_secret(url->userinfo, strlen(url->userinfo));
    *url = (afc__url){0};
}
