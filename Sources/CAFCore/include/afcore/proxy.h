/**
 * Proxies between a session and its servers (CURLOPT_PROXY).
 */
#ifndef AFCORE_PROXY_H
#define AFCORE_PROXY_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** Where proxy settings come from. */
typedef enum AFC_OPEN_ENUM afc_proxy_source {
    /**
     * The variables http_proxy, https_proxy, all_proxy and no_proxy, read when the session is created; the
     * lower-case name takes precedence over the upper-case one. HTTP_PROXY is ignored if REQUEST_METHOD is
     * set, because under CGI a client can set it. A set-user-ID program ignores all of them. Loopback
     * servers are reached directly. An invalid variable fails the requests that it applies to.
     */
    AFC_PROXIES_ENVIRONMENT = 0,
    AFC_PROXIES_GIVEN = 1, /**< The other fields of afc_proxies. */
    AFC_PROXIES_NONE = 2   /**< No proxy. */
} afc_proxy_source;

/**
 * Which proxy is used for which URL; selected for each hop. The format is
 * `[http|https|socks5|socks5h]://[user[:password]@]host[:port]`. The default scheme is http; the default
 * ports are 80, 443 and 1080. With socks5 this library resolves host names, with socks5h the proxy does. An
 * http or https proxy tunnels to https servers (CONNECT). User and password are percent-encoded and sent to
 * the proxy only. The connection to an https proxy uses TLS; afc_session_options.proxy_trust verifies its
 * certificate chain before any request is sent. If it is refused, the task fails with AFC_EUNTRUSTED and a
 * text that names the proxy.
 */
typedef struct afc_proxies {
    afc_proxy_source source; /**< Must be AFC_PROXIES_GIVEN if one of the next three is set. */
    /* Used with GIVEN; `bypass` also with ENVIRONMENT, where it replaces no_proxy. Each may be NULL. Copied. With
     * another source, setting http, https or all is AFC_EINVAL. */
    const char *http;  /**< Proxy for http URLs. */
    const char *https; /**< Proxy for https URLs. */
    const char *all;   /**< Proxy for URLs whose own proxy above is NULL. */
    /**
     * Hosts that are reached directly, separated by commas or spaces: a name, which includes its subdomains
     * (`example.org`, `.example.org`), an address, a network (`10.0.0.0/8`, `fd00::/8`), any of them
     * with a port (`example.org:8080`, `[::1]:8080`), or `*` for all.
     */
    const char *bypass;
    uint64_t reserved[4]; /**< 0. */
} afc_proxies;

/** The environment's proxies. */
#define AFC_PROXIES_INIT                                                                           \
    {                                                                                              \
        AFC_PROXIES_ENVIRONMENT, NULL, NULL, NULL, NULL, {                                         \
            0                                                                                      \
        }                                                                                          \
    }

AFC_END_DECLS

#endif
