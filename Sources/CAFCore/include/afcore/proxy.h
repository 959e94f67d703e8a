/**
 * Proxies between a session and its servers.
 */
#ifndef AFCORE_PROXY_H
#define AFCORE_PROXY_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

typedef enum AF_OPEN_ENUM af_proxy_source {
    /**
     * The variables http_proxy, https_proxy, all_proxy and no_proxy as they are when the session is
     * made; in small letters first, then in capitals. HTTP_PROXY is ignored under CGI, where a client
     * can set it (REQUEST_METHOD is set), and all are in a program with set-user-ID. Servers on this
     * very host are reached directly. A variable that can't be used is an error of the requests
     * that it is for.
     */
    AF_PROXIES_ENVIRONMENT = 0,
    AF_PROXIES_GIVEN = 1, /**< The fields of af_proxies. */
    AF_PROXIES_NONE = 2
} af_proxy_source;

/**
 * Which proxy is asked for which URL; chosen anew for every hop. A proxy is written
 * `[http|https|socks5|socks5h]://[user[:password]@]host[:port]`; without a scheme it is http. Ports are
 * 80, 443 and 1080 unless named. With socks5 names are looked up here, with socks5h by the proxy. To https servers
 * an http proxy makes a tunnel. User and password (percent-encoded) go to the proxy alone. An https
 * proxy is asked over TLS, and its chain is judged by af_session_options.proxy_trust before it hears of any
 * request: AF_EUNTRUSTED, with a text that says that it was the proxy.
 */
typedef struct af_proxies {
    af_proxy_source source;
    /* GIVEN; `bypass` with ENVIRONMENT, too, instead of no_proxy. Each may be NULL. Copied. */
    const char *http;  /**< For URLs that begin with http. */
    const char *https; /**< For those with https. */
    const char *all;   /**< For those of either that has none of its own. */
    /**
     * Hosts to be reached directly, separated by commas or spaces: a name with everything below it
     * (`example.org`, `.example.org`), an address, a network (`10.0.0.0/8`, `fd00::/8`), any of them
     * with a port (`example.org:8080`, `[::1]:8080`), or `*` for all.
     */
    const char *bypass;
} af_proxies;

#define AF_PROXIES_INIT                                                                            \
    { AF_PROXIES_ENVIRONMENT, NULL, NULL, NULL, NULL }

AF_END_DECLS

#endif
