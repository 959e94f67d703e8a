#include "message/host.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/url.h"

/** Returns whether a host name may have this octet: also "_", and those of internationalised names. */
static bool is_host_octet(char c) {
    return afc__is_letter(c) || afc__is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
           (unsigned char)c > 127;
}

bool afc__is_dns_name(afc_slice text) {
    char before = '.';
    for (size_t i = 0; i < text.size; i++) {
        char c = text.bytes[i];
        bool is_inner = is_host_octet(c) && c != '~' && (unsigned char)c < 128;
        if (!is_inner || (c == '.' && before == '.')) return false;
        before = c;
    }
    return before != '.' && text.size <= AFC__HOST_MAX;
}

bool afc__is_ipv6(afc_slice text) {
    afc__ip ip;
    return afc__ip_parse(&ip, text) && ip.size == 16;
}

bool afc__port_parse(uint16_t *out, afc_slice text) {
    uint64_t port;
    if (!afc__parse_number(text, UINT16_MAX, &port) || port == 0) return false;
    *out = (uint16_t)port;
    return true;
}

static const char *find(afc_slice text, char wanted) {
    return text.size != 0 ? memchr(text.bytes, wanted, text.size) : NULL;
}

/** Returns the text before `end`. */
static afc_slice before(afc_slice text, const char *end) {
    return (afc_slice){text.bytes, (size_t)(end - text.bytes)};
}

static afc_slice after(afc_slice text, const char *mark) {
    size_t size = (size_t)(mark - text.bytes) + 1;
    return (afc_slice){mark + 1, text.size - size};
}

void afc__authority_cut(afc__authority_text *out, afc_slice text) {
    *out = (afc__authority_text){0};
    const char *at = text.size != 0 ? memrchr(text.bytes, '@', text.size) : NULL;
    if (at != NULL) {
        out->userinfo = before(text, at);
        text = after(text, at);
    }
    bool has_bracket = text.size != 0 && text.bytes[0] == '[';
    const char *bracket = has_bracket ? find(text, ']') : NULL;
    out->host = text;
    if (bracket != NULL) {
        out->is_bracketed = true;
        out->host = (afc_slice){text.bytes + 1, (size_t)(bracket - text.bytes) - 1};
        text = after(text, bracket);
    }
    const char *colon = find(text, ':');
    afc_slice *rest = bracket != NULL ? &out->excess : &out->host;
    if (colon == NULL) {
        *rest = text;
        return;
    }
    *rest = before(text, colon);
    out->port = after(text, colon);
}

static afc_status read_host(afc__authority *authority, afc_failure *failure) {
    afc_slice host = authority->host;
    if (!authority->is_ipv6 && host.size != 0 && host.bytes[0] == '[') {
        return afc__fail(failure, AFC_EINVAL, "the URL's host has no closing bracket");
    }
    if (authority->is_ipv6) {
        if (afc__ip_parse(&authority->ip, host) && authority->ip.size == 16) return AFC_OK;
        if (find(host, '%') != NULL) {
            /* RFC 9844 obsoletes RFC 6874, which allowed zones in URLs; the URL Standard never did. */
            return afc__give_reason(
                failure, AFC_REASON_IPV6_ZONE,
                afc__fail(failure, AFC_EINVAL,
                          "URLs have no IPv6 zones (RFC 9844): set the session's interface"));
        }
        return afc__fail(failure, AFC_EINVAL, "the URL's host in brackets isn't an IPv6 address");
    }
    if (host.size == 0) return afc__fail(failure, AFC_EINVAL, "the URL has no host");
    if (host.size > AFC__HOST_MAX) {
        return afc__fail(failure, AFC_EINVAL, "the URL's host exceeds the limit of %d bytes",
                         AFC__HOST_MAX);
    }
    for (size_t i = 0; i < host.size; i++) {
        if (is_host_octet(host.bytes[i])) continue;
        return afc__fail(failure, AFC_EINVAL, "'%c' is not allowed in the host of a URL",
                         host.bytes[i]);
    }
    switch (afc__ip_read_host(&authority->ip, host)) {
    case AFC__HOST_NAME:
        authority->ip = (afc__ip){.size = 0};
        return AFC_OK;
    case AFC__HOST_ADDRESS:
        return AFC_OK;
    case AFC__HOST_INVALID:
        break;
    }
    return afc__fail(failure, AFC_EINVAL,
                     "the URL's host ends in a number but isn't an IPv4 address");
}

size_t afc__authority_write_host(const afc__authority *authority, char *out) {
    char address[AFC__IP_SIZE];
    if (authority->ip.size != 0) {
        size_t size = afc__ip_write(&authority->ip, address);
        memcpy(out, address, size);
        return size;
    }
    for (size_t i = 0; i < authority->host.size; i++) out[i] = afc__lower(authority->host.bytes[i]);
    return authority->host.size;
}

afc_status afc__authority_split(afc__authority *out, afc_slice text, afc_failure *failure) {
    *out = (afc__authority){0};
    if (find(text, '\\') != NULL) {
        return afc__fail(failure, AFC_EINVAL, "the URL contains a backslash before its path");
    }
    afc__authority_text parts;
    afc__authority_cut(&parts, text);
    if (parts.excess.size != 0) {
        return afc__fail(failure, AFC_EINVAL,
                         "unexpected characters after the bracket of the URL's host");
    }
    out->userinfo = parts.userinfo;
    out->host = parts.host;
    out->is_ipv6 = parts.is_bracketed;
    afc_status status = read_host(out, failure);
    if (status != AFC_OK || parts.port.size == 0) return status;
    if (afc__port_parse(&out->port, parts.port)) return AFC_OK;
    /* The port isn't shown: in "name:secret/rest@host" it is the start of a password. */
    return afc__fail(failure, AFC_EINVAL,
                     "invalid port in the URL: expected a number from 1 to 65535");
}

char *afc__host_write(char *at, afc_slice host) {
    bool is_ipv6 = host.size != 0 && memchr(host.bytes, ':', host.size) != NULL;
    if (is_ipv6) *at++ = '[';
    if (host.size != 0) memcpy(at, host.bytes, host.size);
    at += host.size;
    if (is_ipv6) *at++ = ']';
    return at;
}
