#include "message/route.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"
#include "message/url.h"

#include <stdio.h>

enum {
    LONGEST_LIST = 4096,
    MOST_ADDRESSES = 64,
    LONGEST_LINK = 15 /* IFNAMSIZ is 16, with the NUL. */
};

static af_status out_of_memory(af_failure *failure) {
    return af__fail_memory(failure);
}

/* ---- Overrides ----------------------------------------------------------------------------- */

static bool is_every_host(const char *host) {
    return strcmp(host, "*") == 0;
}

/** In lower case, as libcurl's lookup expects. */
static af_status append_host(af__buffer *text, af_slice host, af_failure *failure) {
    af__authority authority;
    if (is_every_host(host.bytes)) {
        return af__buffer_append(text, "*", 1) == AF_OK ? AF_OK : out_of_memory(failure);
    }
    if (host.size > 1 && host.bytes[host.size - 1] == '.') host.size--;
    bool is_name = af__authority_split(&authority, host, NULL) == AF_OK &&
                   authority.host.size == host.size;
    for (size_t i = 0; i < host.size; i++) is_name = is_name && (unsigned char)host.bytes[i] < 128;
    if (is_name) {
        char written[AF__HOST_LONGEST + 1];
        size_t size = af__authority_write_host(&authority, written);
        return af__buffer_append(text, written, size) == AF_OK ? AF_OK : out_of_memory(failure);
    }
    return af__fail(failure, AF_EINVAL, "invalid host in a host override: expected an ASCII name");
}

static af_status append_address(af__buffer *text, af_slice member, af_failure *failure) {
    af__ip ip;
    if (!af__ip_parse(&ip, member)) {
        return af__fail(failure, AF_EINVAL, "invalid address \"%.*s\" in a host override",
                        member.size < 64 ? (int)member.size : 64, member.bytes);
    }
    bool is_ipv6 = ip.size == 16;
    bool is_complete = (!is_ipv6 || af__buffer_append(text, "[", 1) == AF_OK) &&
                       af__buffer_append(text, member.bytes, member.size) == AF_OK &&
                       (!is_ipv6 || af__buffer_append(text, "]", 1) == AF_OK);
    return is_complete ? AF_OK : out_of_memory(failure);
}

static af_status append_addresses(af__buffer *text, const char *addresses, af_failure *failure) {
    af_slice list = af_slice_of(addresses), member;
    if (list.size > LONGEST_LIST) {
        return af__fail(failure, AF_EINVAL, "too many addresses in a host override");
    }
    unsigned count = 0;
    while (af__next_member(&list, &member)) {
        const char *mark = count == 0 ? ":" : ",";
        if (++count > MOST_ADDRESSES) {
            return af__fail(failure, AF_EINVAL, "too many addresses in a host override");
        }
        if (af__buffer_append(text, mark, 1) != AF_OK) return out_of_memory(failure);
        af_status status = append_address(text, member, failure);
        if (status != AF_OK) return status;
    }
    return count != 0 ? AF_OK : af__fail(failure, AF_EINVAL, "a host override has no address");
}

af_status af__route_write_override(char **out, const af_host_override *given, bool is_absolute,
                                   af_failure *failure) {
    *out = NULL;
    if (given->host == NULL || given->addresses == NULL) {
        return af__fail(failure, AF_EINVAL, "a host override has no host or no addresses");
    }
    if (given->port == 0) return af__fail(failure, AF_EINVAL, "a host override has no port");
    char port[8];
    af__buffer text;
    af__buffer_init(&text, 2 * LONGEST_LIST);
    const char *dot = is_absolute && !is_every_host(given->host) ? "." : "";
    int size = snprintf(port, sizeof port, "%s:%u", dot, (unsigned)given->port);
    af_status status = append_host(&text, af_slice_of(given->host), failure);
    if (status == AF_OK && af__buffer_append(&text, port, (size_t)size) != AF_OK) {
        status = out_of_memory(failure);
    }
    if (status == AF_OK) status = append_addresses(&text, given->addresses, failure);
    if (status == AF_OK) {
        *out = af__copy_text((af_slice){text.bytes, text.size});
        if (*out == NULL) status = out_of_memory(failure);
    }
    af__buffer_clear(&text);
    return status;
}

/* ---- The way out --------------------------------------------------------------------------- */

static bool is_link(af_slice name) {
    if (name.size == 0 || name.size > LONGEST_LINK) return false;
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.bytes[i];
        if (c <= 0x20 || c >= 0x7f || c == '/' || c == ':' || c == '!') return false;
    }
    return true;
}

static af_slice after(af_slice text, const char *mark) {
    return (af_slice){text.bytes + strlen(mark), text.size - strlen(mark)};
}

af_status af__route_write_interface(char **out, const char *given, af_failure *failure) {
    af__ip ip;
    af_slice name = af_slice_of(given);
    *out = NULL;
    bool is_named_link = af__begins_with(name, "if!");
    bool is_named_address = af__begins_with(name, "host!");
    if (is_named_link) name = after(name, "if!");
    if (is_named_address) name = after(name, "host!");
    bool is_address = !is_named_link && af__ip_parse(&ip, name);
    if (is_named_address && !is_address) {
        return af__fail(failure, AF_EINVAL,
                        "invalid interface: expected an IP address after \"host!\"");
    }
    if (!is_address && !is_link(name)) {
        return af__fail(failure, AF_EINVAL,
                        "invalid interface: expected an IP address or the name of a link");
    }
    size_t size = name.size + sizeof "host!";
    *out = af__alloc(size);
    if (*out == NULL) return out_of_memory(failure);
    snprintf(*out, size, "%s%s", is_address ? "host!" : "if!", name.bytes);
    return AF_OK;
}

/* ---- Who is asked for names ---------------------------------------------------------------- */

af_status af__route_check_servers(const char *given, af_failure *failure) {
    af_slice list = af_slice_of(given), member;
    af__authority authority;
    af__ip ip;
    unsigned count = 0;
    while (list.size <= LONGEST_LIST && af__next_member(&list, &member)) {
        bool is_good = af__ip_parse(&ip, member) ||
                       (af__authority_split(&authority, member, NULL) == AF_OK &&
                        authority.userinfo.size == 0 && af__ip_parse(&ip, authority.host));
        if (!is_good)
            return af__fail(failure, AF_EINVAL, "invalid DNS server: expected an IP address");
        count++;
    }
    if (count != 0) return AF_OK;
    return af__fail(failure, AF_EINVAL, "invalid DNS servers: the list is empty or too long");
}

af_status af__route_write_doh_host(char **out, const char *url, af_failure *failure) {
    af__url parsed = {0};
    *out = NULL;
    af_status status = af__url_parse(&parsed, af_slice_of(url), failure);
    if (status != AF_OK) return status;
    if (!parsed.is_https) {
        status = af__fail(failure, AF_EINVAL, "invalid DNS-over-HTTPS URL: expected https");
    } else if (parsed.userinfo != NULL) {
        status = af__fail(failure, AF_EINVAL, "invalid DNS-over-HTTPS URL: a user isn't allowed");
    } else {
        *out = af__copy_text(parsed.host);
        if (*out == NULL) status = out_of_memory(failure);
    }
    af__url_clear(&parsed);
    return status;
}

/* ---- Sockets of this machine --------------------------------------------------------------- */

af_status af__route_check_socket(const char *path, af_failure *failure) {
    size_t size = strlen(path);
    if (size > AF__SOCKET_PATH_LONGEST) {
        return af__fail(failure, AF_EINVAL, "the path of the Unix-domain socket exceeds %d bytes",
                        AF__SOCKET_PATH_LONGEST);
    }
    if (size == 1 && path[0] == '@') {
        return af__fail(failure, AF_EINVAL, "the abstract Unix-domain socket has no name");
    }
    return AF_OK;
}
