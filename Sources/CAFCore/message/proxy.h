/**
 * Which proxy is asked for a URL. Pure.
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
    char *host; /**< An IPv6 address without its brackets. NULL: there is no proxy. */
    uint16_t port;
    char *user, *password; /**< Decoded; NULL if there is none. Secrets. */
} af__proxy;

/** Is it asked by HTTP, over TLS or not? Only such a proxy makes a tunnel by CONNECT and says 407. */
static inline bool af__proxy_speaks_http(const af__proxy *proxy) {
    return proxy->kind == AF__PROXY_HTTP || proxy->kind == AF__PROXY_HTTPS;
}

/** A slot that may be empty, or hold what can't be used. */
typedef struct af__proxy_choice {
    af__proxy proxy;
    af_failure *failure; /**< NULL: it can be used. */
} af__proxy_choice;

typedef struct af__proxies {
    af__proxy_choice http, https, all;
    char *bypass; /**< NULL: none. */
    bool bypasses_loopback;
} af__proxies;

/** The value of a variable of the environment, or NULL. */
typedef const char *af__variable(void *context, const char *name);

/** AF_EINVAL, with a text that never shows the password; AF_ENOMEM. */
af_status af__proxy_parse(af__proxy *out, af_slice text, af_failure *failure);
void af__proxy_clear(af__proxy *proxy);

/** Fails as af__proxy_parse() for what was given; what the environment has is kept for later. */
af_status af__proxies_init(af__proxies *out, const af_proxies *given, af__variable *variable,
                           void *context, af_failure *failure);
void af__proxies_clear(af__proxies *proxies);

/** AF_OK and a proxy, or NULL to go directly; or the failure of one that can't be used. */
af_status af__proxies_choose(const af__proxies *proxies, const af__url *url, const af__proxy **out,
                             af_failure *failure);

/** Is this host, as in af__url, in a list as no_proxy has it? */
bool af__bypass_has(af_slice list, af_slice host, uint16_t port);

#endif
