/**
 * Selects the proxy for a URL. Pure functions.
 */
#ifndef AFC_MESSAGE_PROXY_H
#define AFC_MESSAGE_PROXY_H

#include "message/url.h"

#include <afcore/proxy.h>

typedef enum afc__proxy_kind {
    AFC__PROXY_HTTP,
    AFC__PROXY_HTTPS, /**< HTTP over TLS. */
    /** The client resolves the name of the server. */
    AFC__PROXY_SOCKS5,
    /** The proxy resolves the name of the server. */
    AFC__PROXY_SOCKS5H
} afc__proxy_kind;

typedef struct afc__proxy {
    afc__proxy_kind kind;
    char *host; /**< An IPv6 address has no brackets. NULL if there is no proxy. */
    uint16_t port;
    char *user, *password; /**< Decoded; NULL if missing. Secrets. */
} afc__proxy;

/** Returns whether a proxy uses HTTP, with or without TLS. Only those support CONNECT and send 407. */
static inline bool afc__proxy_speaks_http(const afc__proxy *proxy) {
    return proxy->kind == AFC__PROXY_HTTP || proxy->kind == AFC__PROXY_HTTPS;
}

/** A setting: empty, a proxy, or a failure. */
typedef struct afc__proxy_choice {
    afc__proxy proxy;
    afc_failure *failure; /**< NULL if the setting is valid. */
} afc__proxy_choice;

typedef struct afc__proxies {
    afc__proxy_choice http, https, all;
    char *bypass; /**< The list of exceptions, in the format of no_proxy; NULL if there is none. */
    bool is_environment; /**< From environment variables: loopback servers are reached directly. */
} afc__proxies;

/** Returns the value of an environment variable, or NULL. */
typedef const char *afc__variable(void *context, const char *name);

/** Parses a proxy URL. Fails with AFC_EINVAL, whose text never shows the password, or AFC_ENOMEM. */
afc_status afc__proxy_parse(afc__proxy *out, afc_slice text, afc_failure *failure);
void afc__proxy_clear(afc__proxy *proxy);

/** Size of the longest address of a proxy, with its NUL. */
enum { AFC__PROXY_ADDRESS_SIZE = AFC__HOST_MAX + 32 };

/** Writes scheme, host and port, without user and password. */
void afc__proxy_write_address(char out[AFC__PROXY_ADDRESS_SIZE], const afc__proxy *proxy);

/**
 * Reads all settings. Fails as afc__proxy_parse() does if a field of `given` is invalid. The failure of an invalid
 * environment variable is stored, and reported for the requests to which the variable applies.
 */
afc_status afc__proxies_init(afc__proxies *out, const afc_proxies *given, afc__variable *variable,
                             void *context, afc_failure *failure);
void afc__proxies_clear(afc__proxies *proxies);

/**
 * Returns whether libcurl would choose a proxy for an https URL from the environment, as it does for a handle without
 * proxy options. Entries of no_proxy that only some versions of libcurl understand are ignored.
 */
bool afc__libcurl_has_proxy(const afc__url *url, afc__variable *variable, void *context);

/** Selects a proxy; `*out` is NULL for a direct connection. Returns the stored failure if the setting is invalid. */
afc_status afc__proxies_choose(const afc__proxies *proxies, const afc__url *url,
                               const afc__proxy **out, afc_failure *failure);

/** Returns whether a host, written as in afc__url, matches a list in the format of no_proxy. Declared for tests. */
bool afc__bypass_has(afc_slice list, afc_slice host, uint16_t port);

#endif
