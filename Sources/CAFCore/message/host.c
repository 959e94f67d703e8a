#include "message/host.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/octets.h"
#include "message/url.h"

/** What a name in DNS may have, "_" and octets of internationalised names among them. */
static bool is_host_octet(char c) {
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || af__is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
           (unsigned char)c > 127;
}

bool af__is_dns_name(af_slice text) {
    char before = '.';
    for (size_t i = 0; i < text.size; i++) {
        char c = text.bytes[i];
        bool is_inner = is_host_octet(c) && c != '~' && (unsigned char)c < 128;
        if (!is_inner || (c == '.' && before == '.')) return false;
        before = c;
    }
    return before != '.' && text.size <= AF__HOST_LONGEST;
}

bool af__is_ipv6(af_slice text) {
    af__ip ip;
    return af__ip_parse(&ip, text) && ip.size == 16;
}

static af_status read_port(uint16_t *out, af_slice text, af_failure *failure) {
    uint32_t port = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!af__is_digit(text.bytes[i])) {
            return af__fail(failure, AF_EINVAL, "the port of the URL is not a number");
        }
        port = port * 10 + (uint32_t)(text.bytes[i] - '0');
        if (port > UINT16_MAX) break;
    }
    if (text.size != 0 && (port == 0 || port > UINT16_MAX)) {
        return af__fail(failure, AF_EINVAL, "the port of the URL is not one of 1 to 65535");
    }
    *out = (uint16_t)port;
    return AF_OK;
}

static const char *find(af_slice text, char wanted) {
    return text.size != 0 ? memchr(text.bytes, wanted, text.size) : NULL;
}

/** Split "[address]" or "name" from what follows it, which is nothing or begins with a colon. */
static af_status split_host(af__authority *out, af_slice text, af_slice *rest,
                            af_failure *failure) {
    out->is_ipv6 = text.size != 0 && text.bytes[0] == '[';
    const char *end = find(text, out->is_ipv6 ? ']' : ':');
    if (!out->is_ipv6) {
        size_t size = end != NULL ? (size_t)(end - text.bytes) : text.size;
        out->host = (af_slice){text.bytes, size};
        *rest = (af_slice){text.bytes + size, text.size - size};
        return AF_OK;
    }
    if (end == NULL) {
        return af__fail(failure, AF_EINVAL, "the URL's host lacks its closing bracket");
    }
    out->host = (af_slice){text.bytes + 1, (size_t)(end - text.bytes) - 1};
    *rest = (af_slice){end + 1, text.size - out->host.size - 2};
    if (rest->size != 0 && rest->bytes[0] != ':') {
        return af__fail(failure, AF_EINVAL, "something follows the bracket of the URL's host");
    }
    return AF_OK;
}

static af_status read_host(af__authority *authority, af_failure *failure) {
    af_slice host = authority->host;
    if (authority->is_ipv6) {
        if (af__ip_parse(&authority->ip, host) && authority->ip.size == 16) return AF_OK;
        if (find(host, '%') != NULL) {
            /* RFC 9844 has taken back RFC 6874, which let URLs have them; the URL Standard never did. */
            return af__fail(failure, AF_EINVAL,
                            "URLs have no IPv6 zones: name the link as the session's interface");
        }
        return af__fail(failure, AF_EINVAL, "the URL's host in brackets is not an IPv6 address");
    }
    if (host.size == 0) return af__fail(failure, AF_EINVAL, "the URL has no host");
    if (host.size > AF__HOST_LONGEST) {
        return af__fail(failure, AF_EINVAL, "the URL's host is longer than %d bytes",
                        AF__HOST_LONGEST);
    }
    for (size_t i = 0; i < host.size; i++) {
        if (is_host_octet(host.bytes[i])) continue;
        return af__fail(failure, AF_EINVAL, "'%c' is not allowed in the host of a URL",
                        host.bytes[i]);
    }
    switch (af__ip_read_host(&authority->ip, host)) {
    case AF__HOST_NAME:
        authority->ip = (af__ip){.size = 0};
        return AF_OK;
    case AF__HOST_ADDRESS:
        return AF_OK;
    case AF__HOST_INVALID:
        break;
    }
    return af__fail(failure, AF_EINVAL,
                    "the URL's host ends in a number but is not an IPv4 address");
}

size_t af__authority_write_host(const af__authority *authority, char *out) {
    char address[AF__IP_ROOM];
    if (authority->ip.size != 0) {
        size_t size = af__ip_write(&authority->ip, address);
        memcpy(out, address, size);
        return size;
    }
    for (size_t i = 0; i < authority->host.size; i++) out[i] = af__lower(authority->host.bytes[i]);
    return authority->host.size;
}

af_status af__authority_split(af__authority *out, af_slice text, af_failure *failure) {
    *out = (af__authority){0};
    if (find(text, '\\') != NULL) {
        return af__fail(failure, AF_EINVAL, "the URL has a backslash before its path");
    }
    /* The last "@": what precedes it can then not be taken for the host by anyone. */
    const char *at = text.size == 0 ? NULL : memrchr(text.bytes, '@', text.size);
    if (at != NULL) {
        out->userinfo = (af_slice){text.bytes, (size_t)(at - text.bytes)};
        text = (af_slice){at + 1, text.size - out->userinfo.size - 1};
    }
    af_slice rest = {NULL, 0};
    af_status status = split_host(out, text, &rest, failure);
    if (status == AF_OK) status = read_host(out, failure);
    if (status != AF_OK || rest.size == 0) return status;
    return read_port(&out->port, (af_slice){rest.bytes + 1, rest.size - 1}, failure);
}
