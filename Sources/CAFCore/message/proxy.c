#include "message/proxy.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"
#include "message/encoding.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, SOCKS_PORT = 1080, LONGEST_LIST = 64 * 1024 };

/* ---- One proxy ----------------------------------------------------------------------------- */

static af_status decode(char **out, af_slice text, af_failure *failure) {
    char *decoded = af__copy_text(text);
    if (decoded == NULL) return af__fail_memory(failure);
    size_t size = af__percent_decode((unsigned char *)decoded, decoded);
    if (af__has_control((af_slice){decoded, size})) {
        af__free_secret(decoded, text.size);
        return af__fail(failure, AF_EINVAL,
                        "the proxy's user or password contains a control character");
    }
    decoded[size] = '\0';
    *out = decoded;
    return AF_OK;
}

static af_status set_credentials(af__proxy *proxy, af_slice userinfo, af_failure *failure) {
    if (userinfo.bytes == NULL) return AF_OK;
    const char *colon = memchr(userinfo.bytes, ':', userinfo.size);
    size_t size = colon != NULL ? (size_t)(colon - userinfo.bytes) : userinfo.size;
    af_slice password = {"", 0};
    if (colon != NULL) password = (af_slice){colon + 1, userinfo.size - size - 1};
    af_status status = decode(&proxy->user, (af_slice){userinfo.bytes, size}, failure);
    if (status == AF_OK) status = decode(&proxy->password, password, failure);
    return status;
}

static af_status read_scheme(af__proxy *proxy, af_slice *text, af_failure *failure) {
    const char *mark = text->size >= 3 ? memmem(text->bytes, text->size, "://", 3) : NULL;
    proxy->kind = AF__PROXY_HTTP;
    proxy->port = HTTP_PORT;
    if (mark == NULL) return AF_OK;
    af_slice scheme = {text->bytes, (size_t)(mark - text->bytes)};
    *text = (af_slice){mark + 3, text->size - scheme.size - 3};
    if (af__same_name(scheme, "http")) return AF_OK;
    if (af__same_name(scheme, "https")) {
        proxy->kind = AF__PROXY_HTTPS;
        proxy->port = HTTPS_PORT;
        return AF_OK;
    }
    bool is_socks5h = af__same_name(scheme, "socks5h");
    if (!is_socks5h && !af__same_name(scheme, "socks5")) {
        return af__fail(failure, AF_EINVAL,
                        "invalid proxy scheme: expected http, https, socks5 or socks5h");
    }
    proxy->kind = is_socks5h ? AF__PROXY_SOCKS5H : AF__PROXY_SOCKS5;
    proxy->port = SOCKS_PORT;
    return AF_OK;
}

static af_status parse(af__proxy *proxy, af_slice text, af_failure *failure) {
    af_status status = read_scheme(proxy, &text, failure);
    if (status != AF_OK) return status;
    while (text.size > 0 && text.bytes[text.size - 1] == '/') text.size--;
    af__authority authority;
    af_failure reason;
    status = af__authority_split(&authority, text, &reason);
    if (status != AF_OK) {
        af__fail(failure, status, "invalid proxy address (%s): expected [scheme://]host[:port]",
                 reason.text);
    }
    if (status == AF_OK) status = set_credentials(proxy, authority.userinfo, failure);
    if (status != AF_OK) return status;
    if (authority.port != 0) proxy->port = authority.port;
    char *host = af__alloc(af__authority_host_room(&authority) + 1);
    if (host == NULL) return af__fail_memory(failure);
    host[af__authority_write_host(&authority, host)] = '\0';
    proxy->host = host;
    return AF_OK;
}

af_status af__proxy_parse(af__proxy *out, af_slice text, af_failure *failure) {
    memset(out, 0, sizeof *out);
    if (text.size > AF__URL_LONGEST)
        return af__fail(failure, AF_EINVAL, "the proxy address is too long");
    af_status status = parse(out, text, failure);
    if (status != AF_OK) af__proxy_clear(out);
    return status;
}

static void free_secret(char *text) {
    if (text != NULL) af__free_secret(text, strlen(text));
}

void af__proxy_clear(af__proxy *proxy) {
    af_free(proxy->host);
    free_secret(proxy->user);
    free_secret(proxy->password);
    memset(proxy, 0, sizeof *proxy);
}

/* ---- All of a session ---------------------------------------------------------------------- */

/** The name of a setting, for error messages, and its value, a proxy's URL; NULL or empty: none. */
typedef struct proxy_setting {
    const char *name, *text;
} proxy_setting;

static af_status set_choice(af__proxy_choice *choice, proxy_setting setting, bool is_given,
                            af_failure *failure) {
    if (setting.text == NULL || setting.text[0] == '\0') return AF_OK;
    af_failure reason = {0}, found;
    af_status status = af__proxy_parse(&choice->proxy, af_slice_of(setting.text), &reason);
    if (status == AF_OK) return AF_OK;
    af__fail(&found, status, "%s: %s", setting.name, reason.text);
    if (!is_given && status != AF_ENOMEM) {
        choice->failure = af__alloc(sizeof found);
        if (choice->failure != NULL) {
            *choice->failure = found;
            return AF_OK;
        }
        status = af__fail_memory(&found);
    }
    if (failure != NULL) *failure = found;
    return status;
}

static proxy_setting read_variable(af__variable *variable, void *context, const char *small,
                                   const char *capital) {
    proxy_setting found = {small, variable(context, small)};
    if (found.text == NULL && capital != NULL)
        found = (proxy_setting){capital, variable(context, capital)};
    return found;
}

/** Reads the variables for http, https and all. */
static void read_environment(proxy_setting out[3], af__variable *variable, void *context) {
    /* Under CGI a request's field "Proxy" arrives as HTTP_PROXY (CVE-2016-5385, "httpoxy"). */
    bool is_cgi = variable(context, "REQUEST_METHOD") != NULL;
    out[0] = read_variable(variable, context, "http_proxy", is_cgi ? NULL : "HTTP_PROXY");
    out[1] = read_variable(variable, context, "https_proxy", "HTTPS_PROXY");
    out[2] = read_variable(variable, context, "all_proxy", "ALL_PROXY");
}

static af_status set_bypass(af__proxies *proxies, const char *list, af_failure *failure) {
    if (list == NULL) return AF_OK;
    af_slice text = af_slice_of(list);
    if (text.size > LONGEST_LIST) {
        return af__fail(failure, AF_EINVAL, "the list of proxy bypasses is too long");
    }
    proxies->bypass = af__copy_text(text);
    return proxies->bypass != NULL ? AF_OK : af__fail_memory(failure);
}

af_status af__proxies_init(af__proxies *out, const af_proxies *given, af__variable *variable,
                           void *context, af_failure *failure) {
    memset(out, 0, sizeof *out);
    bool is_given = given->source == AF_PROXIES_GIVEN;
    if (given->source == AF_PROXIES_NONE) return AF_OK;
    if (!is_given && given->source != AF_PROXIES_ENVIRONMENT) {
        return af__fail(failure, AF_EINVAL, "invalid source of proxies: %d", (int)given->source);
    }
    proxy_setting settings[] = {{"the proxy for http", given->http},
                                {"the proxy for https", given->https},
                                {"the proxy for all", given->all}};
    const char *bypass = given->bypass;
    if (!is_given) {
        /* Of the given fields only `bypass` applies. */
        read_environment(settings, variable, context);
        if (bypass == NULL) bypass = read_variable(variable, context, "no_proxy", "NO_PROXY").text;
    }
    out->bypasses_loopback = !is_given;
    af_status status = set_choice(&out->http, settings[0], is_given, failure);
    if (status == AF_OK) status = set_choice(&out->https, settings[1], is_given, failure);
    if (status == AF_OK) status = set_choice(&out->all, settings[2], is_given, failure);
    if (status == AF_OK) status = set_bypass(out, bypass, failure);
    if (status != AF_OK) af__proxies_clear(out);
    return status;
}

static void clear_choice(af__proxy_choice *choice) {
    af__proxy_clear(&choice->proxy);
    af_free(choice->failure);
}

void af__proxies_clear(af__proxies *proxies) {
    clear_choice(&proxies->http);
    clear_choice(&proxies->https);
    clear_choice(&proxies->all);
    af_free(proxies->bypass);
    memset(proxies, 0, sizeof *proxies);
}

/* ---- The list of those without ------------------------------------------------------------- */

static af_slice without_dots(af_slice name) {
    while (name.size > 0 && name.bytes[name.size - 1] == '.') name.size--;
    return name;
}

/** Returns whether a host is `name` or a subdomain of it. */
static bool is_below(af_slice host, af_slice name) {
    if (name.size == 0 || name.size > host.size) return false;
    size_t above = host.size - name.size;
    if (!af__same_text(host.bytes + above, name.bytes, name.size)) return false;
    return above == 0 || host.bytes[above - 1] == '.';
}

static bool read_number(af_slice text, unsigned limit, unsigned *out) {
    uint64_t number = 0;
    bool is_number = af__parse_number(text, limit, &number);
    *out = (unsigned)number;
    return is_number;
}

static bool network_has(af_slice entry, const char *slash, const af__ip *ip) {
    af__ip network;
    unsigned prefix;
    size_t size = (size_t)(slash - entry.bytes);
    return af__ip_parse(&network, (af_slice){entry.bytes, size}) &&
           read_number((af_slice){slash + 1, entry.size - size - 1}, 128, &prefix) &&
           prefix <= network.size * 8u && af__ip_is_in(ip, &network, prefix);
}

/** Splits off a port, "name:1" or "[::1]:1"; 0: none. false: malformed. */
static bool split_port(af_slice *entry, unsigned *port) {
    *port = 0;
    const char *end = entry->bytes + entry->size;
    const char *colon = memrchr(entry->bytes, ':', entry->size);
    if (entry->bytes[0] == '[') {
        const char *bracket = memchr(entry->bytes, ']', entry->size);
        if (bracket == NULL) return false;
        if (bracket + 1 == end)
            colon = NULL;
        else if (colon != bracket + 1)
            return false;
        *entry = (af_slice){entry->bytes + 1, (size_t)(bracket - entry->bytes) - 1};
    } else if (colon != NULL && memchr(entry->bytes, ':', (size_t)(colon - entry->bytes)) != NULL) {
        colon = NULL; /* An IPv6 address without brackets. */
    } else if (colon != NULL) {
        entry->size = (size_t)(colon - entry->bytes);
    }
    return colon == NULL ||
           read_number((af_slice){colon + 1, (size_t)(end - colon) - 1}, UINT16_MAX, port);
}

static bool entry_has(af_slice entry, af_slice host, const af__ip *ip, uint16_t port) {
    unsigned own_port;
    if (entry.size == 1 && entry.bytes[0] == '*') return true;
    if (!split_port(&entry, &own_port)) return false;
    if (own_port != 0 && own_port != port) return false;
    const char *slash = entry.size > 0 ? memchr(entry.bytes, '/', entry.size) : NULL;
    if (slash != NULL) return ip != NULL && network_has(entry, slash, ip);
    af__ip own;
    entry = without_dots(entry);
    if (ip != NULL) {
        return af__ip_read_host(&own, entry) == AF__HOST_ADDRESS &&
               af__ip_is_in(ip, &own, own.size * 8u);
    }
    if (entry.size > 1 && entry.bytes[0] == '*' && entry.bytes[1] == '.') {
        entry = (af_slice){entry.bytes + 1, entry.size - 1};
    }
    while (entry.size > 0 && entry.bytes[0] == '.') {
        entry = (af_slice){entry.bytes + 1, entry.size - 1};
    }
    return is_below(host, entry);
}

static bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\t';
}

bool af__bypass_has(af_slice list, af_slice host, uint16_t port) {
    af__ip ip;
    host = without_dots(host);
    bool is_ip = af__ip_parse(&ip, host);
    size_t at = 0;
    while (at < list.size) {
        while (at < list.size && is_separator(list.bytes[at])) at++;
        size_t start = at;
        while (at < list.size && !is_separator(list.bytes[at])) at++;
        if (at == start) break;
        af_slice entry = {list.bytes + start, at - start};
        if (entry_has(entry, host, is_ip ? &ip : NULL, port)) return true;
    }
    return false;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static bool is_loopback(af_slice host) {
    af__ip ip;
    host = without_dots(host);
    if (af__ip_parse(&ip, host)) return af__ip_is_loopback(&ip);
    return is_below(host, af_slice_of("localhost"));
}

static bool is_empty(const af__proxy_choice *choice) {
    return choice->proxy.host == NULL && choice->failure == NULL;
}

af_status af__proxies_choose(const af__proxies *proxies, const af__url *url, const af__proxy **out,
                             af_failure *failure) {
    *out = NULL;
    const af__proxy_choice *choice = url->is_https ? &proxies->https : &proxies->http;
    if (is_empty(choice)) choice = &proxies->all;
    if (is_empty(choice)) return AF_OK;
    if (proxies->bypasses_loopback && is_loopback(url->host)) return AF_OK;
    if (proxies->bypass != NULL &&
        af__bypass_has(af_slice_of(proxies->bypass), url->host, url->port)) {
        return AF_OK;
    }
    if (choice->failure != NULL) {
        if (failure != NULL) *failure = *choice->failure;
        return choice->failure->status;
    }
    *out = &choice->proxy;
    return AF_OK;
}
