#include "message/route.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/sized.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"
#include "message/url.h"

#include <stdio.h>

enum {
    MAX_LIST = 4096,
    MAX_ADDRESSES = 64,
    MAX_LINK = 15 /* IFNAMSIZ is 16, with the NUL. */
};

/* ---- Overrides ----------------------------------------------------------------------------- */

static afc_status fail_override(afc_failure *failure, const char *text) {
    return afc__give_reason(failure, AFC_REASON_HOST_OVERRIDE,
                            afc__fail(failure, AFC_EINVAL, "%s", text));
}

static bool is_every_host(const char *host) {
    return strcmp(host, "*") == 0;
}

/** Appends the host in lower case, as libcurl's lookup expects it. */
static afc_status append_host(afc__buffer *text, afc_slice host, afc_failure *failure) {
    afc__authority authority;
    if (is_every_host(host.bytes)) {
        return afc__buffer_append(text, "*", 1) == AFC_OK ? AFC_OK : afc__fail_memory(failure);
    }
    host = afc__without_dot(host);
    bool is_name = afc__authority_split(&authority, host, NULL) == AFC_OK &&
                   authority.host.size == host.size && afc__is_ascii(host);
    if (is_name) {
        char written[AFC__HOST_MAX + 1];
        size_t size = afc__authority_write_host(&authority, written);
        return afc__buffer_append(text, written, size) == AFC_OK ? AFC_OK
                                                                 : afc__fail_memory(failure);
    }
    return fail_override(failure, "invalid host in a host override: expected an ASCII name");
}

static afc_status append_address(afc__buffer *text, afc_slice member, afc_failure *failure) {
    afc__ip ip;
    if (!afc__ip_parse(&ip, member)) {
        return afc__give_reason(failure, AFC_REASON_HOST_OVERRIDE,
                                afc__fail(failure, AFC_EINVAL,
                                          "invalid address \"%.*s\" in a host override",
                                          member.size < 64 ? (int)member.size : 64, member.bytes));
    }
    char *written;
    if (afc__buffer_extend(text, member.size + (ip.size == 16 ? 2 : 0), &written) != AFC_OK) {
        return afc__fail_memory(failure);
    }
    (void)afc__host_write(written, member);
    return AFC_OK;
}

static afc_status append_addresses(afc__buffer *text, const char *addresses, afc_failure *failure) {
    static const char too_many[] = "too many addresses in a host override";
    afc_slice list = afc_slice_of(addresses), member;
    if (list.size > MAX_LIST) return fail_override(failure, too_many);
    unsigned count = 0;
    while (afc__next_member(&list, &member)) {
        const char *mark = count == 0 ? ":" : ",";
        if (++count > MAX_ADDRESSES) return fail_override(failure, too_many);
        if (afc__buffer_append(text, mark, 1) != AFC_OK) return afc__fail_memory(failure);
        afc_status status = append_address(text, member, failure);
        if (status != AFC_OK) return status;
    }
    return AFC_OK;
}

afc_status afc__route_write_override(char **out, const afc_host_override *given, bool is_absolute,
                                     afc_failure *failure) {
    *out = NULL;
    afc_status checked = AFC__CHECK_RESERVED(given, "afc_host_override", failure);
    if (checked != AFC_OK) return checked;
    if (given->host == NULL || given->addresses == NULL) {
        return fail_override(failure, "a host override has no host or no addresses");
    }
    if (given->port == 0) return fail_override(failure, "a host override has no port");
    char port[8];
    afc__buffer text;
    afc__buffer_init(&text, 2 * MAX_LIST);
    const char *dot = is_absolute && !is_every_host(given->host) ? "." : "";
    int size = snprintf(port, sizeof port, "%s:%u", dot, (unsigned)given->port);
    afc_status status = append_host(&text, afc_slice_of(given->host), failure);
    if (status == AFC_OK && afc__buffer_append(&text, port, (size_t)size) != AFC_OK) {
        status = afc__fail_memory(failure);
    }
    if (status == AFC_OK) status = append_addresses(&text, given->addresses, failure);
    if (status == AFC_OK) {
        *out = afc__copy_text(afc__buffer_slice(&text));
        if (*out == NULL) status = afc__fail_memory(failure);
    }
    afc__buffer_clear(&text);
    return status;
}

/* ---- Interfaces ---------------------------------------------------------------------------- */

static bool is_link(afc_slice name) {
    if (name.size == 0 || name.size > MAX_LINK) return false;
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.bytes[i];
        if (c <= 0x20 || c >= 0x7f || c == '/' || c == ':' || c == '!') return false;
    }
    return true;
}

static afc_slice after(afc_slice text, const char *mark) {
    return (afc_slice){text.bytes + strlen(mark), text.size - strlen(mark)};
}

afc_status afc__route_write_interface(char **out, const char *given, afc_failure *failure) {
    afc__ip ip;
    afc_slice name = afc_slice_of(given);
    *out = NULL;
    bool is_named_link = afc__begins_with(name, "if!");
    bool is_named_address = afc__begins_with(name, "host!");
    if (is_named_link) name = after(name, "if!");
    if (is_named_address) name = after(name, "host!");
    bool is_address = !is_named_link && afc__ip_parse(&ip, name);
    if (is_named_address && !is_address) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid interface: expected an IP address after \"host!\"");
    }
    if (!is_address && !is_link(name)) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid interface: expected an IP address or the name of a link");
    }
    size_t size = name.size + sizeof "host!";
    *out = afc__alloc(size);
    if (*out == NULL) return afc__fail_memory(failure);
    snprintf(*out, size, "%s%s", is_address ? "host!" : "if!", name.bytes);
    return AFC_OK;
}

/* ---- DNS servers --------------------------------------------------------------------------- */

afc_status afc__route_check_servers(const char *given, afc_failure *failure) {
    afc_slice list = afc_slice_of(given), member;
    afc__authority authority;
    afc__ip ip;
    unsigned count = 0;
    while (list.size <= MAX_LIST && afc__next_member(&list, &member)) {
        bool is_good = afc__ip_parse(&ip, member) ||
                       (afc__authority_split(&authority, member, NULL) == AFC_OK &&
                        authority.userinfo.size == 0 && afc__ip_parse(&ip, authority.host));
        if (!is_good)
            return afc__fail(failure, AFC_EINVAL, "invalid DNS server: expected an IP address");
        count++;
    }
    if (count != 0) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "invalid DNS servers: the list is empty or too long");
}

afc_status afc__route_write_doh_server(char **out, uint16_t *port, const char *url,
                                       afc_failure *failure) {
    afc__url parsed = {0};
    *out = NULL;
    afc_status status = afc__url_parse(&parsed, afc_slice_of(url), failure);
    if (status != AFC_OK) status = afc__name_failure(failure, "the URL of DNS over HTTPS", status);
    if (status == AFC_OK && !parsed.is_https) {
        status = afc__fail(failure, AFC_EINVAL, "the URL of DNS over HTTPS: expected https");
    } else if (status == AFC_OK && parsed.userinfo != NULL) {
        status = afc__fail(failure, AFC_EINVAL, "the URL of DNS over HTTPS: a user isn't allowed");
    }
    if (status == AFC_EINVAL) afc__give_reason(failure, AFC_REASON_DOH_URL, status);
    *port = parsed.port;
    if (status == AFC_OK) {
        *out = afc__copy_text(parsed.host);
        if (*out == NULL) status = afc__fail_memory(failure);
    }
    afc__url_clear(&parsed);
    return status;
}

/* ---- Unix-domain sockets ------------------------------------------------------------------- */

afc_status afc__route_check_socket(const char *path, afc_failure *failure) {
    size_t size = strlen(path);
    if (size > AFC__SOCKET_PATH_MAX) {
        return afc__fail(failure, AFC_EINVAL, "the path of the Unix-domain socket exceeds %d bytes",
                         AFC__SOCKET_PATH_MAX);
    }
    if (size == 1 && path[0] == '@') {
        return afc__fail(failure, AFC_EINVAL, "the abstract Unix-domain socket has no name");
    }
    return AFC_OK;
}
