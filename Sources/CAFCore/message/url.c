#include "message/url.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/octets.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* ---- Taking apart -------------------------------------------------------------------------- */

/** A reference as RFC 3986 appendix B splits it; what is absent has no bytes. */
typedef struct reference {
    af_slice scheme, authority, path, query;
} reference;

/** The parts of the URL to be written. */
typedef struct target {
    bool is_https;
    af__authority authority;
    af_slice directory; /**< Of the base: stands before `path`; empty if the path is absolute. */
    af_slice path;
    af_slice query;
} target;

/** The number of bytes before the first `stop` or `other`, or all. */
static size_t span_until(af_slice text, char stop, char other) {
    size_t size = 0;
    while (size < text.size && text.bytes[size] != stop && text.bytes[size] != other) size++;
    return size;
}

/** Cut `size` bytes off the front. */
static af_slice take(af_slice *text, size_t size) {
    af_slice taken = {text->bytes, size};
    *text = (af_slice){text->bytes + size, text->size - size};
    return taken;
}

/** The length of a scheme before its colon; 0 if `text` begins with none. */
static size_t scheme_size(af_slice text) {
    size_t size = 0;
    while (size < text.size) {
        char c = text.bytes[size];
        if (c == ':') return size;
        bool is_inner = af__is_digit(c) || c == '+' || c == '-' || c == '.';
        if (!af__is_letter(c) && (size == 0 || !is_inner)) return 0;
        size++;
    }
    return 0;
}

static reference split(af_slice text) {
    reference parts = {0};
    if (text.size == 0) text.bytes = "";
    text.size = span_until(text, '#', '#');
    size_t size = scheme_size(text);
    if (size != 0) {
        parts.scheme = take(&text, size);
        take(&text, 1);
    }
    if (text.size >= 2 && text.bytes[0] == '/' && text.bytes[1] == '/') {
        take(&text, 2);
        parts.authority = take(&text, span_until(text, '/', '?'));
    }
    parts.path = take(&text, span_until(text, '?', '?'));
    if (text.size != 0) {
        take(&text, 1);
        parts.query = text;
    }
    return parts;
}

static af_status check_octets(af_slice text, af_failure *failure) {
    if (text.size > AF__URL_LONGEST) {
        return af__fail(failure, AF_EINVAL, "the URL is longer than %d bytes", AF__URL_LONGEST);
    }
    if (!af__has_control(text)) return AF_OK;
    return af__fail(failure, AF_EINVAL, "the URL has a control character");
}

static af_status read_scheme(bool *is_https, af_slice scheme, af_failure *failure) {
    if (scheme.size == 0) return af__fail(failure, AF_EINVAL, "the URL has no scheme");
    *is_https = af__same_name(scheme, "https");
    if (*is_https || af__same_name(scheme, "http")) return AF_OK;
    int shown = scheme.size < 32 ? (int)scheme.size : 32;
    return af__fail(failure, AF_EINVAL, "the scheme \"%.*s\" is not http or https", shown,
                    scheme.bytes);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/** Octets that no URL has. Brackets stay: "a[]=1" is not in RFC 3986 but widely understood. */
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

static char *write_port(char *at, uint16_t port) {
    char digits[5];
    size_t size = 0;
    for (unsigned rest = port; rest != 0; rest /= 10) digits[size++] = (char)('0' + rest % 10);
    while (size > 0) *at++ = digits[--size];
    return at;
}

/** RFC 3986 5.2.4, in place. `path` begins with "/"; returns its new end. */
static char *remove_dot_segments(char *path, const char *end) {
    char *out = path;
    for (const char *in = path; in < end;) {
        const char *next = memchr(in + 1, '/', (size_t)(end - in) - 1);
        bool is_last = next == NULL;
        if (is_last) next = end;
        size_t size = (size_t)(next - in);
        bool is_dot = size == 2 && in[1] == '.';
        bool is_dots = size == 3 && in[1] == '.' && in[2] == '.';
        if (is_dots) {
            while (out > path && *--out != '/') continue;
        }
        if (!is_dot && !is_dots) {
            memmove(out, in, size);
            out += size;
        } else if (is_last) {
            *out++ = '/';
        }
        in = next;
    }
    return out;
}

static char *write_authority(char *at, af__url *out, const af__authority *authority) {
    if (authority->is_ipv6) *at++ = '[';
    out->host = (af_slice){at, af__authority_write_host(authority, at)};
    at += out->host.size;
    if (authority->is_ipv6) *at++ = ']';
    uint16_t usual = out->is_https ? PORT_HTTPS : PORT_HTTP;
    out->port = authority->port != 0 ? authority->port : usual;
    if (out->port != usual) {
        *at++ = ':';
        at = write_port(at, out->port);
    }
    return at;
}

static char *write_path(char *at, af__url *out, const target *target) {
    char *path = at;
    at = write_escaped(at, target->directory);
    at = write_escaped(at, target->path);
    if (at == path) *at++ = '/';
    at = remove_dot_segments(path, at);
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

static af_status write_url(af__url *out, const target *target, af_failure *failure) {
    static const char fixed[] = "https://[]:65535/?";
    size_t room = sizeof fixed + af__authority_host_room(&target->authority) +
                  escaped_size(target->directory) + escaped_size(target->path) +
                  escaped_size(target->query);
    af__url url = {.is_https = target->is_https, .text = af__alloc(room)};
    if (url.text == NULL) return af__fail_memory(failure);
    char *at = url.is_https ? write_bytes(url.text, "https://", 8)
                            : write_bytes(url.text, "http://", 7);
    at = write_authority(at, &url, &target->authority);
    at = write_path(at, &url, target);
    at = write_query(at, &url, target->query);
    *at = '\0';
    if (at - url.text > AF__URL_LONGEST) {
        af__url_clear(&url);
        return af__fail(failure, AF_EINVAL, "the URL is longer than %d bytes once it is escaped",
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

/** For references that bring a scheme, an authority or both. */
static af_status write_own(af__url *out, bool is_https, const reference *parts,
                           af_failure *failure) {
    target target = {.is_https = is_https, .path = parts->path, .query = parts->query};
    if (parts->authority.bytes == NULL) return af__fail(failure, AF_EINVAL, "the URL has no host");
    af_status status = af__authority_split(&target.authority, parts->authority, failure);
    return status == AF_OK ? write_url(out, &target, failure) : status;
}

/** For references that name a place on the base's server. */
static af_status write_below(af__url *out, const af__url *base, const reference *parts,
                             af_failure *failure) {
    target target = {.is_https = base->is_https, .path = parts->path, .query = parts->query};
    target.authority = (af__authority){
        .userinfo = af_slice_of(base->userinfo),
        .host = base->host,
        .is_ipv6 = memchr(base->host.bytes, ':', base->host.size) != NULL,
        .port = base->port,
    };
    if (!af__ip_parse(&target.authority.ip, base->host)) target.authority.ip.size = 0;
    if (parts->path.size == 0) {
        target.path = base->path;
        if (parts->query.bytes == NULL) target.query = base->query;
    } else if (parts->path.bytes[0] != '/') {
        const char *slash = memrchr(base->path.bytes, '/', base->path.size);
        target.directory = (af_slice){base->path.bytes, (size_t)(slash - base->path.bytes) + 1};
    }
    return write_url(out, &target, failure);
}

af_status af__url_parse(af__url *out, af_slice text, af_failure *failure) {
    *out = (af__url){0};
    af_status status = check_octets(text, failure);
    if (status != AF_OK) return status;
    reference parts = split(text);
    bool is_https = false;
    status = read_scheme(&is_https, parts.scheme, failure);
    return status == AF_OK ? write_own(out, is_https, &parts, failure) : status;
}

af_status af__url_resolve(af__url *out, const af__url *base, af_slice text, af_failure *failure) {
    *out = (af__url){0};
    af_status status = check_octets(text, failure);
    if (status != AF_OK) return status;
    reference parts = split(text);
    bool is_https = base->is_https;
    if (parts.scheme.size != 0) {
        status = read_scheme(&is_https, parts.scheme, failure);
        if (status != AF_OK) return status;
        return write_own(out, is_https, &parts, failure);
    }
    if (parts.authority.bytes != NULL) return write_own(out, is_https, &parts, failure);
    return write_below(out, base, &parts, failure);
}

static af_slice without_dot(af_slice host) {
    if (host.size > 1 && host.bytes[host.size - 1] == '.') host.size--;
    return host;
}

bool af__url_same_origin(const af__url *a, const af__url *b) {
    af_slice host = without_dot(a->host), other = without_dot(b->host);
    return a->is_https == b->is_https && a->port == b->port && host.size == other.size &&
           memcmp(host.bytes, other.bytes, host.size) == 0;
}

af_status af__url_upgrade(af__url *url, af_failure *failure) {
    static const size_t old_size = sizeof "http" - 1, new_size = sizeof "https" - 1;
    size_t size = strlen(url->text) - old_size;
    char *text = af__alloc(new_size + size + 1);
    if (text == NULL) return af__fail_memory(failure);
    memcpy(text, "https", new_size);
    memcpy(text + new_size, url->text + old_size, size + 1);
    af__url upgraded = {0};
    af_status status = af__url_parse(&upgraded, (af_slice){text, new_size + size}, failure);
    af_free(text);
    if (status != AF_OK) return status;
    upgraded.userinfo = url->userinfo;
    url->userinfo = NULL;
    af__url_clear(url);
    *url = upgraded;
    return AF_OK;
}

void af__url_clear(af__url *url) {
    af_free(url->text);
    if (url->userinfo != NULL) af__free_secret(url->userinfo, strlen(url->userinfo));
    *url = (af__url){0};
}
