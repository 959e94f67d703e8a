/**
 * Selects the proxy for a URL. Pure functions.
 */
#ifndef AF_MESSAGE_PROXY_H
#define AF_MESSAGE_PROXY_H

#include "message/url.h"

#include <afcore/proxy.h>

typedef enum af__proxy_kind {
    AF__PROXY_HTTP,
    AF__PROXY_HTTPS, /**< As HTTP, over TLS. */
    AF__PROXY_SOCKS5,
    AF__PROXY_SOCKS5H
} af__proxy_kind;

typedef struct af__proxy {
    af__proxy_kind kind;
    char *host; /**< An IPv6 address without brackets. NULL: no proxy. */
    uint16_t port;
    char *user, *password; /**< Decoded; NULL: none. Secrets. */
} af__proxy;

/** Returns whether a proxy uses HTTP, with or without TLS. Only those support CONNECT and send 407. */
static inline bool af__proxy_speaks_http(const af__proxy *proxy) {
    return proxy->kind == AF__PROXY_HTTP || proxy->kind == AF__PROXY_HTTPS;
}

/** A setting: empty, a proxy, or a failure. */
typedef struct af__proxy_choice {
    af__proxy proxy;
    af_failure *failure; /**< NULL: valid. */
} af__proxy_choice;

typedef struct af__proxies {
    af__proxy_choice http, https, all;
    char *bypass; /**< NULL: none. */
    bool bypasses_loopback;
} af__proxies;

/** Returns the value of an environment variable, or NULL. */
typedef const char *af__variable(void *context, const char *name);

/** Parses a proxy URL. AF_EINVAL, with a text that never shows the password; AF_ENOMEM. */
af_status af__proxy_parse(af__proxy *out, af_slice text, af_failure *failure);
void af__proxy_clear(af__proxy *proxy);

/**
 * Reads all settings. Fails as af__proxy_parse() for given fields; failures of environment variables are stored
 * for the requests that they apply to.
 */
af_status af__proxies_init(af__proxies *out, const af_proxies *given, af__variable *variable,
                           void *context, af_failure *failure);
void af__proxies_clear(af__proxies *proxies);

/** Selects a proxy; NULL: direct. Returns the stored failure if the setting is invalid. */
af_status af__proxies_choose(const af__proxies *proxies, const af__url *url, const af__proxy **out,
                             af_failure *failure);

/** Returns whether a host, as in af__url, matches a list in the format of no_proxy. */
bool af__bypass_has(af_slice list, af_slice host, uint16_t port);

#endif
