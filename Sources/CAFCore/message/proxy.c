#include "message/proxy.h"

#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/sized.h"
#include "base/text.h"
#include "message/encoding.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, SOCKS_PORT = 1080, MAX_LIST = 64 * 1024 };

/* ---- One proxy ----------------------------------------------------------------------------- */

static afc_status decode(char **out, afc_slice text, afc_failure *failure) {
    char *decoded = afc__copy_text(text);
    if (decoded == NULL) return afc__fail_memory(failure);
    size_t size = afc__percent_decode((unsigned char *)decoded, decoded);
    if (afc__has_control((afc_slice){decoded, size})) {
        afc__free_secret(decoded, text.size);
        return afc__fail(failure, AFC_EINVAL,
                         "the proxy's user or password contains a control character");
    }
    decoded[size] = '\0';
    *out = decoded;
    return AFC_OK;
}

static afc_status set_credentials(afc__proxy *proxy, afc_slice userinfo, afc_failure *failure) {
    if (userinfo.bytes == NULL) return AFC_OK;
    const char *colon = memchr(userinfo.bytes, ':', userinfo.size);
    size_t size = colon != NULL ? (size_t)(colon - userinfo.bytes) : userinfo.size;
    afc_slice password = {"", 0};
    if (colon != NULL) password = (afc_slice){colon + 1, userinfo.size - size - 1};
    afc_status status = decode(&proxy->user, (afc_slice){userinfo.bytes, size}, failure);
    if (status == AFC_OK) status = decode(&proxy->password, password, failure);
    /* An HTTP proxy gets them with Basic (RFC 7617 2). SOCKS allows a colon. */
    bool has_colon = status == AFC_OK && strchr(proxy->user, ':') != NULL;
    if (has_colon && afc__proxy_speaks_http(proxy)) {
        return afc__fail(failure, AFC_EINVAL,
                         "the proxy's user name contains a colon, which Basic doesn't allow: "
                         "use proxy_credentials for another scheme");
    }
    return status;
}

static afc_status read_scheme(afc__proxy *proxy, afc_slice *text, afc_failure *failure) {
    const char *mark = text->size >= 3 ? memmem(text->bytes, text->size, "://", 3) : NULL;
    proxy->kind = AFC__PROXY_HTTP;
    proxy->port = HTTP_PORT;
    if (mark == NULL) return AFC_OK;
    afc_slice scheme = {text->bytes, (size_t)(mark - text->bytes)};
    *text = (afc_slice){mark + 3, text->size - scheme.size - 3};
    if (afc__same_name(scheme, "http")) return AFC_OK;
    if (afc__same_name(scheme, "https")) {
        proxy->kind = AFC__PROXY_HTTPS;
        proxy->port = HTTPS_PORT;
        return AFC_OK;
    }
    bool is_socks5h = afc__same_name(scheme, "socks5h");
    if (!is_socks5h && !afc__same_name(scheme, "socks5")) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid proxy scheme: expected http, https, socks5 or socks5h");
    }
    proxy->kind = is_socks5h ? AFC__PROXY_SOCKS5H : AFC__PROXY_SOCKS5;
    proxy->port = SOCKS_PORT;
    return AFC_OK;
}

/**
 * Returns whether the address has a path. It isn't ignored: after socks5:// curl uses a path as that of a socket. A
 * slash in the password isn't a path.
 */
static bool has_path(afc_slice text) {
    const char *at = memrchr(text.bytes, '@', text.size);
    size_t start = at != NULL ? (size_t)(at - text.bytes) + 1 : 0;
    return text.size > start && memchr(text.bytes + start, '/', text.size - start) != NULL;
}

static afc_status split(afc__authority *out, afc_slice text, afc_failure *failure) {
    if (has_path(text)) return afc__fail(failure, AFC_EINVAL, "it has a path");
    return afc__authority_split(out, text, failure);
}

static afc_status parse(afc__proxy *proxy, afc_slice text, afc_failure *failure) {
    afc_status status = read_scheme(proxy, &text, failure);
    if (status != AFC_OK) return status;
    while (text.size > 0 && text.bytes[text.size - 1] == '/') text.size--;
    afc__authority authority;
    afc_failure reason;
    status = split(&authority, text, &reason);
    if (status != AFC_OK) {
        afc__fail(failure, status, "invalid proxy address (%s): expected [scheme://]host[:port]",
                  reason.text);
    }
    if (status == AFC_OK) status = set_credentials(proxy, authority.userinfo, failure);
    if (status != AFC_OK) return status;
    if (authority.port != 0) proxy->port = authority.port;
    char *host = afc__alloc(afc__authority_host_size(&authority) + 1);
    if (host == NULL) return afc__fail_memory(failure);
    host[afc__authority_write_host(&authority, host)] = '\0';
    proxy->host = host;
    return AFC_OK;
}

afc_status afc__proxy_parse(afc__proxy *out, afc_slice text, afc_failure *failure) {
    memset(out, 0, sizeof *out);
    if (text.size > AFC__URL_MAX)
        return afc__fail(failure, AFC_EINVAL, "the proxy address is too long");
    afc_status status = parse(out, text, failure);
    if (status != AFC_OK) afc__proxy_clear(out);
    return status;
}

void afc__proxy_write_address(char out[AFC__PROXY_ADDRESS_SIZE], const afc__proxy *proxy) {
    static const char *const schemes[] = {[AFC__PROXY_HTTP] = "http://",
                                          [AFC__PROXY_HTTPS] = "https://",
                                          [AFC__PROXY_SOCKS5] = "socks5://",
                                          [AFC__PROXY_SOCKS5H] = "socks5h://"};
    size_t size = strlen(schemes[proxy->kind]);
    memcpy(out, schemes[proxy->kind], size);
    char *end = afc__host_write(out + size, afc_slice_of(proxy->host));
    *afc__write_port(end, proxy->port) = '\0';
}

static void free_secret(char *text) {
    if (text != NULL) afc__free_secret(text, strlen(text));
}

void afc__proxy_clear(afc__proxy *proxy) {
    afc_free(proxy->host);
    free_secret(proxy->user);
    free_secret(proxy->password);
    memset(proxy, 0, sizeof *proxy);
}

/* ---- The settings of a session ------------------------------------------------------------- */

/** The name of a setting, for error messages, and its value: the URL of a proxy, or NULL or an empty text for none. */
typedef struct proxy_setting {
    const char *name, *text;
} proxy_setting;

static afc_status set_choice(afc__proxy_choice *choice, proxy_setting setting, bool is_given,
                             afc_failure *failure) {
    if (setting.text == NULL || setting.text[0] == '\0') return AFC_OK;
    afc_failure reason = {0}, found;
    afc_status status = afc__proxy_parse(&choice->proxy, afc_slice_of(setting.text), &reason);
    if (status == AFC_OK) return AFC_OK;
    afc__fail(&found, status, "%s: %s", setting.name, reason.text);
    if (is_given && status == AFC_EINVAL) found.reason = AFC_REASON_PROXY_URL;
    if (!is_given && status != AFC_ENOMEM) {
        choice->failure = afc__alloc(sizeof found);
        if (choice->failure != NULL) {
            *choice->failure = found;
            return AFC_OK;
        }
        status = afc__fail_memory(&found);
    }
    if (failure != NULL) *failure = found;
    return status;
}

static proxy_setting read_variable(afc__variable *variable, void *context, const char *small,
                                   const char *capital) {
    proxy_setting found = {small, variable(context, small)};
    if (found.text == NULL && capital != NULL)
        found = (proxy_setting){capital, variable(context, capital)};
    return found;
}

/** Reads the variables for http, https and all. */
static void read_environment(proxy_setting out[3], afc__variable *variable, void *context) {
    /* Under CGI a request's field "Proxy" arrives as HTTP_PROXY (CVE-2016-5385, "httpoxy"). */
    bool is_cgi = variable(context, "REQUEST_METHOD") != NULL;
    out[0] = read_variable(variable, context, "http_proxy", is_cgi ? NULL : "HTTP_PROXY");
    out[1] = read_variable(variable, context, "https_proxy", "HTTPS_PROXY");
    out[2] = read_variable(variable, context, "all_proxy", "ALL_PROXY");
}

static afc_status set_bypass(afc__proxies *proxies, const char *list, afc_failure *failure) {
    if (list == NULL) return AFC_OK;
    afc_slice text = afc_slice_of(list);
    if (text.size > MAX_LIST) {
        return afc__fail(failure, AFC_EINVAL, "the list of proxy bypasses is too long");
    }
    proxies->bypass = afc__copy_text(text);
    return proxies->bypass != NULL ? AFC_OK : afc__fail_memory(failure);
}

/**
 * Fails with AFC_EINVAL if a proxy is set that the source doesn't use: ignoring a configured proxy could reveal the
 * client's address.
 */
static afc_status check_unused(const afc_proxies *given, afc_failure *failure) {
    const proxy_setting settings[] = {
        {"http", given->http}, {"https", given->https}, {"all", given->all}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].text == NULL || settings[i].text[0] == '\0') continue;
        return afc__fail(
            failure, AFC_EINVAL,
            "proxies.%s is set but proxies.source isn't AFC_PROXIES_GIVEN: set it to that",
            settings[i].name);
    }
    return AFC_OK;
}

afc_status afc__proxies_init(afc__proxies *out, const afc_proxies *given, afc__variable *variable,
                             void *context, afc_failure *failure) {
    memset(out, 0, sizeof *out);
    afc_status checked = AFC__CHECK_RESERVED(given, "afc_proxies", failure);
    if (checked != AFC_OK) return checked;
    bool is_given = given->source == AFC_PROXIES_GIVEN, is_none = given->source == AFC_PROXIES_NONE;
    if (!is_given && !is_none && given->source != AFC_PROXIES_ENVIRONMENT) {
        return afc__fail(failure, AFC_EINVAL, "invalid source of proxies: %d", (int)given->source);
    }
    checked = is_given ? AFC_OK : check_unused(given, failure);
    if (checked != AFC_OK || is_none) return checked;
    proxy_setting settings[] = {{"the proxy for http", given->http},
                                {"the proxy for https", given->https},
                                {"the proxy for all", given->all}};
    const char *bypass = given->bypass;
    if (!is_given) {
        /* The only given field that applies is `bypass`. */
        read_environment(settings, variable, context);
        if (bypass == NULL) bypass = read_variable(variable, context, "no_proxy", "NO_PROXY").text;
    }
    out->is_environment = !is_given;
    afc_status status = set_choice(&out->http, settings[0], is_given, failure);
    if (status == AFC_OK) status = set_choice(&out->https, settings[1], is_given, failure);
    if (status == AFC_OK) status = set_choice(&out->all, settings[2], is_given, failure);
    if (status == AFC_OK) status = set_bypass(out, bypass, failure);
    if (status != AFC_OK) afc__proxies_clear(out);
    return status;
}

static void clear_choice(afc__proxy_choice *choice) {
    afc__proxy_clear(&choice->proxy);
    afc_free(choice->failure);
}

void afc__proxies_clear(afc__proxies *proxies) {
    clear_choice(&proxies->http);
    clear_choice(&proxies->https);
    clear_choice(&proxies->all);
    afc_free(proxies->bypass);
    memset(proxies, 0, sizeof *proxies);
}

/* ---- Bypass list --------------------------------------------------------------------------- */

static bool read_number(afc_slice text, unsigned limit, unsigned *out) {
    uint64_t number = 0;
    bool is_number = afc__parse_number(text, limit, &number);
    *out = (unsigned)number;
    return is_number;
}

static bool network_has(afc_slice entry, const char *slash, const afc__ip *ip) {
    afc__ip network;
    unsigned prefix;
    size_t size = (size_t)(slash - entry.bytes);
    return afc__ip_parse(&network, (afc_slice){entry.bytes, size}) &&
           read_number((afc_slice){slash + 1, entry.size - size - 1}, 128, &prefix) &&
           prefix <= network.size * 8u && afc__ip_is_in(ip, &network, prefix);
}

/**
 * Removes the port from an entry such as "name:1" or "[::1]:1"; `*port` is 0 if it has none. Returns false if the entry
 * is malformed.
 */
static bool split_port(afc_slice *entry, unsigned *port) {
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
        *entry = (afc_slice){entry->bytes + 1, (size_t)(bracket - entry->bytes) - 1};
    } else if (colon != NULL && memchr(entry->bytes, ':', (size_t)(colon - entry->bytes)) != NULL) {
        colon = NULL; /* An IPv6 address without brackets. */
    } else if (colon != NULL) {
        entry->size = (size_t)(colon - entry->bytes);
    }
    return colon == NULL ||
           read_number((afc_slice){colon + 1, (size_t)(end - colon) - 1}, UINT16_MAX, port);
}

static bool entry_has(afc_slice entry, afc_slice host, const afc__ip *ip, uint16_t port) {
    unsigned own_port;
    if (entry.size == 1 && entry.bytes[0] == '*') return true;
    if (!split_port(&entry, &own_port)) return false;
    if (own_port != 0 && own_port != port) return false;
    const char *slash = entry.size > 0 ? memchr(entry.bytes, '/', entry.size) : NULL;
    if (slash != NULL) return ip != NULL && network_has(entry, slash, ip);
    afc__ip own;
    entry = afc__without_dot(entry);
    if (ip != NULL) {
        return afc__ip_read_host(&own, entry) == AFC__HOST_ADDRESS &&
               afc__ip_is_in(ip, &own, own.size * 8u);
    }
    if (entry.size > 1 && entry.bytes[0] == '*' && entry.bytes[1] == '.') {
        entry = (afc_slice){entry.bytes + 1, entry.size - 1};
    }
    while (entry.size > 0 && entry.bytes[0] == '.') {
        entry = (afc_slice){entry.bytes + 1, entry.size - 1};
    }
    return afc__is_in_domain(host, entry);
}

static bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\t';
}

/** Takes the next entry from the list; an entry is never empty. Returns false at the end. */
static bool next_entry(afc_slice *list, afc_slice *entry) {
    size_t start = 0, end;
    while (start < list->size && is_separator(list->bytes[start])) start++;
    for (end = start; end < list->size && !is_separator(list->bytes[end]);) end++;
    *entry = (afc_slice){list->bytes + start, end - start};
    *list = (afc_slice){list->bytes + end, list->size - end};
    return entry->size > 0;
}

bool afc__bypass_has(afc_slice list, afc_slice host, uint16_t port) {
    afc__ip ip;
    afc_slice entry;
    host = afc__without_dot(host);
    bool is_ip = afc__ip_parse(&ip, host);
    while (next_entry(&list, &entry)) {
        if (entry_has(entry, host, is_ip ? &ip : NULL, port)) return true;
    }
    return false;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static bool is_loopback(afc_slice host) {
    afc__ip ip;
    host = afc__without_dot(host);
    if (afc__ip_parse(&ip, host)) return afc__ip_is_loopback(&ip);
    return afc__is_in_domain(host, afc_slice_of("localhost"));
}

static bool is_empty(const afc__proxy_choice *choice) {
    return choice->proxy.host == NULL && choice->failure == NULL;
}

afc_status afc__proxies_choose(const afc__proxies *proxies, const afc__url *url,
                               const afc__proxy **out, afc_failure *failure) {
    *out = NULL;
    const afc__proxy_choice *choice = url->is_https ? &proxies->https : &proxies->http;
    if (is_empty(choice)) choice = &proxies->all;
    if (is_empty(choice)) return AFC_OK;
    if (proxies->is_environment && is_loopback(url->host)) return AFC_OK;
    if (proxies->bypass != NULL &&
        afc__bypass_has(afc_slice_of(proxies->bypass), url->host, url->port)) {
        return AFC_OK;
    }
    if (choice->failure != NULL) {
        if (failure != NULL) *failure = *choice->failure;
        return choice->failure->status;
    }
    *out = &choice->proxy;
    return AFC_OK;
}

/* ---- libcurl's choice ---------------------------------------------------------------------- */

/** Returns the first variable that is set. An empty variable is ignored, as by curl_getenv(). */
static const char *first_set(const char *const *names, size_t count, afc__variable *variable,
                             void *context) {
    for (size_t i = 0; i < count; i++) {
        const char *text = variable(context, names[i]);
        if (text != NULL && text[0] != '\0') return text;
    }
    return NULL;
}

static bool plain_entry_has(afc_slice entry, afc_slice host, const afc__ip *ip) {
    const char *slash = memchr(entry.bytes, '/', entry.size);
    if (ip != NULL && slash != NULL) return network_has(entry, slash, ip);
    if (ip != NULL) {
        afc__ip own;
        return afc__ip_parse(&own, entry) && afc__ip_is_in(ip, &own, own.size * 8u);
    }
    if (entry.bytes[0] == '.') entry = (afc_slice){entry.bytes + 1, entry.size - 1};
    return afc__is_in_domain(host, entry);
}

bool afc__libcurl_has_proxy(const afc__url *url, afc__variable *variable, void *context) {
    /* The variables of Curl_detect_proxy() and Curl_check_noproxy(), in their order. */
    static const char *const proxies[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const bypasses[] = {"no_proxy", "NO_PROXY"};
    if (first_set(proxies, sizeof proxies / sizeof *proxies, variable, context) == NULL)
        return false;
    const char *list = first_set(bypasses, sizeof bypasses / sizeof *bypasses, variable, context);
    if (list == NULL) return true;
    if (strcmp(list, "*") == 0) return false;
    afc__ip ip;
    afc_slice host = afc__without_dot(url->host), rest = afc_slice_of(list), entry;
    bool is_ip = afc__ip_parse(&ip, host);
    while (next_entry(&rest, &entry)) {
        if (plain_entry_has(entry, host, is_ip ? &ip : NULL)) return false;
    }
    return true;
}
