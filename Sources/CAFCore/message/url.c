#include "message/url.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/host.h"

#include <afcore/url.h>

/* ---- Taking apart -------------------------------------------------------------------------- */

/** The parts of the URL that is being built. */
typedef struct url_parts {
    bool is_https;
    af__authority authority;
    af_slice directory; /**< Directory of the base, before `path`; empty if the path is absolute. */
    af_slice path;
    af_slice query;
} url_parts;

static af_status check_octets(af_slice text, af_failure *failure) {
    if (text.size > AF__URL_LONGEST) {
        return af__fail(failure, AF_EINVAL, "the URL exceeds the limit of %d bytes",
                        AF__URL_LONGEST);
    }
    if (!af__has_control(text)) return AF_OK;
    return af__fail(failure, AF_EINVAL, "the URL contains a control character");
}

static af_status read_scheme(bool *is_https, af_slice scheme, af_failure *failure) {
    if (scheme.size == 0) return af__fail(failure, AF_EINVAL, "the URL has no scheme");
    *is_https = af__same_name(scheme, "https");
    if (*is_https || af__same_name(scheme, "http")) return AF_OK;
    int shown = scheme.size < 32 ? (int)scheme.size : 32;
    return af__fail(failure, AF_EINVAL, "the URL scheme \"%.*s\" is neither http nor https", shown,
                    scheme.bytes);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/** Octets that must be percent-encoded. Brackets are kept: "a[]=1" isn't valid in RFC 3986 but widely understood. */
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

static size_t escaped_size(af_slice text) {
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

static char *write_escaped(char *at, af_slice text) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (must_escape(text.bytes[i])) {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
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
    if (port == af__default_port(is_https)) return at;
    *at++ = ':';
    char digits[5];
    size_t size = 0;
    for (unsigned rest = port; rest != 0; rest /= 10) digits[size++] = (char)('0' + rest % 10);
    while (size > 0) *at++ = digits[--size];
    return at;
}

static char *write_authority(char *at, af__url *out, const af__authority *authority) {
    if (authority->is_ipv6) *at++ = '[';
    out->host = (af_slice){at, af__authority_write_host(authority, at)};
    at += out->host.size;
    if (authority->is_ipv6) *at++ = ']';
    out->port = authority->port != 0 ? authority->port : af__default_port(out->is_https);
    return write_port(at, out->port, out->is_https);
}

static char *write_path(char *at, af__url *out, const url_parts *target) {
    char *path = at;
    at = write_escaped(at, target->directory);
    at = write_escaped(at, target->path);
    if (at == path) *at++ = '/';
    at = af__remove_dot_segments(path, at);
    out->path = (af_slice){path, (size_t)(at - path)};
    return at;
}

static char *write_query(char *at, af__url *out, af_slice query) {
    if (query.bytes == NULL) return at;
    *at++ = '?';
    char *start = at;
    at = write_escaped(at, query);
    out->query = (af_slice){start, (size_t)(at - start)};
    return at;
}

/** Returns the maximum size of the URL, with a NUL; dot segments make it shorter. */
static size_t room_of(const url_parts *target) {
    static const char fixed[] = "https://[]:65535/?";
    return sizeof fixed + af__authority_host_room(&target->authority) +
           escaped_size(target->directory) + escaped_size(target->path) +
           escaped_size(target->query);
}

static af_status write_url(af__url *out, const url_parts *target, af_failure *failure) {
    af__url url = {.is_https = target->is_https, .text = af__alloc(room_of(target))};
    if (url.text == NULL) return af__fail_memory(failure);
    char *at = write_scheme(url.text, url.is_https);
    at = write_authority(at, &url, &target->authority);
    at = write_path(at, &url, target);
    at = write_query(at, &url, target->query);
    *at = '\0';
    if (at - url.text > AF__URL_LONGEST) {
        af__url_clear(&url);
        return af__fail(failure, AF_EINVAL,
                        "the URL exceeds the limit of %d bytes after percent-encoding",
                        AF__URL_LONGEST);
    }
    if (target->authority.userinfo.size != 0) {
        url.userinfo = af__copy_text(target->authority.userinfo);
        if (url.userinfo == NULL) {
            af__url_clear(&url);
            return af__fail_memory(failure);
        }
    }
    *out = url;
    return AF_OK;
}

/* ---- The door ------------------------------------------------------------------------------ */

/** Reads a URL, or a reference with a scheme, an authority or both. */
static af_status read_own(url_parts *out, bool is_https, const af_url_parts *parts,
                          af_failure *failure) {
    *out = (url_parts){.is_https = is_https, .path = parts->path, .query = parts->query};
    if (parts->authority.bytes == NULL) return af__fail(failure, AF_EINVAL, "the URL has no host");
    return af__authority_split(&out->authority, parts->authority, failure);
}

/** Reads a reference without an authority. */
static void read_below(url_parts *out, const af__url *base, const af_url_parts *parts) {
    *out = (url_parts){.is_https = base->is_https, .path = parts->path, .query = parts->query};
    out->authority = (af__authority){
        .userinfo = af_slice_of(base->userinfo),
        .host = base->host,
        .is_ipv6 = memchr(base->host.bytes, ':', base->host.size) != NULL,
        .port = base->port,
    };
    if (!af__ip_parse(&out->authority.ip, base->host)) out->authority.ip.size = 0;
    if (parts->path.size == 0) {
        out->path = base->path;
        if (parts->query.bytes == NULL) out->query = base->query;
    } else if (parts->path.bytes[0] != '/') {
        out->directory = af__url_directory(base->path);
    }
}

/** `base` is NULL if the text must be absolute. */
static af_status read_target(url_parts *out, const af__url *base, af_slice text,
                             af_failure *failure) {
    af_status status = check_octets(text, failure);
    if (status != AF_OK) return status;
    af_url_parts parts;
    af_url_split(&parts, text);
    bool is_https = base != NULL && base->is_https;
    if (base == NULL || parts.scheme.bytes != NULL) {
        status = read_scheme(&is_https, parts.scheme, failure);
        return status == AF_OK ? read_own(out, is_https, &parts, failure) : status;
    }
    if (parts.authority.bytes != NULL) return read_own(out, is_https, &parts, failure);
    read_below(out, base, &parts);
    return AF_OK;
}

af_status af__url_parse(af__url *out, af_slice text, af_failure *failure) {
    return af__url_resolve(out, NULL, text, failure);
}

af_status af__url_resolve(af__url *out, const af__url *base, af_slice text, af_failure *failure) {
    url_parts target;
    *out = (af__url){0};
    af_status status = read_target(&target, base, text, failure);
    return status == AF_OK ? write_url(out, &target, failure) : status;
}

af_status af_url_check(af_slice text, af_failure *failure) {
    url_parts target;
    af_status status = read_target(&target, NULL, text, failure);
    if (status != AF_OK || room_of(&target) <= AF__URL_LONGEST) return status;
    /* The size is known only after writing. */
    af__url url;
    status = write_url(&url, &target, failure);
    if (status == AF_OK) af__url_clear(&url);
    return status;
}

/** Of several dots none is cut off: of ".6.." that would leave what ends in a number, and is no host. */
static af_slice without_dot(af_slice host) {
    size_t size = host.size;
    if (size > 1 && host.bytes[size - 1] == '.' && host.bytes[size - 2] != '.') host.size--;
    return host;
}

bool af__url_same_origin(const af__url *a, const af__url *b) {
    af_slice host = without_dot(a->host), other = without_dot(b->host);
    return a->is_https == b->is_https && a->port == b->port && host.size == other.size &&
           memcmp(host.bytes, other.bytes, host.size) == 0;
}

size_t af__url_write_origin(const af__url *url, char out[AF_URL_ORIGIN_ROOM]) {
    af_slice host = without_dot(url->host);
    bool is_ipv6 = memchr(host.bytes, ':', host.size) != NULL;
    char *at = write_scheme(out, url->is_https);
    if (is_ipv6) *at++ = '[';
    at = write_bytes(at, host.bytes, host.size);
    if (is_ipv6) *at++ = ']';
    at = write_port(at, url->port, url->is_https);
    *at = '\0';
    return (size_t)(at - out);
}

/** Replaces the URL by another text, but keeps the userinfo. On failure `url` is unchanged. */
static af_status replace_text(af__url *url, af_slice text, af_failure *failure) {
    af__url other = {0};
    af_status status = af__url_parse(&other, text, failure);
    if (status != AF_OK) return status;
    other.userinfo = url->userinfo;
    url->userinfo = NULL;
    af__url_clear(url);
    *url = other;
    return AF_OK;
}

/** Replaces the text between `start` and `end`. */
static af_status replace_part(af__url *url, const char *start, const char *end, af_slice part,
                              af_failure *failure) {
    size_t before = (size_t)(start - url->text), behind = strlen(end);
    char *text = af__alloc(before + part.size + behind);
    if (text == NULL) return af__fail_memory(failure);
    char *at = write_bytes(text, url->text, before);
    at = write_bytes(at, part.bytes, part.size);
    at = write_bytes(at, end, behind);
    af_status status = replace_text(url, (af_slice){text, (size_t)(at - text)}, failure);
    af_free(text);
    return status;
}

af_status af__url_upgrade(af__url *url, af_failure *failure) {
    static const size_t old_size = sizeof "http" - 1;
    return replace_part(url, url->text, url->text + old_size, af_slice_of("https"), failure);
}

af_status af__url_set_host(af__url *url, af_slice host, af_failure *failure) {
    const char *start = url->host.bytes;
    /* Of an "@" or a slash in it the URL would get another part. */
    if (!af__is_dns_name(host)) {
        return af__fail(failure, AF_EINVAL, "\"%.*s\" is not a valid host name", (int)host.size,
                        host.bytes);
    }
    return replace_part(url, start, start + url->host.size, host, failure);
}

af_status af__url_use_a_labels(af__url *url, af__to_ascii *to_ascii, af_failure *failure) {
    char host[AF__HOST_LONGEST + 1];
    if (to_ascii == NULL || af__is_ascii(url->host)) return AF_OK;
    if (!to_ascii(host, sizeof host, url->host)) return AF_OK;
    return af__url_set_host(url, af_slice_of(host), failure);
}

void af__url_clear(af__url *url) {
    af_free(url->text);
    if (url->userinfo != NULL) af__free_secret(url->userinfo, strlen(url->userinfo));
    *url = (af__url){0};
}
