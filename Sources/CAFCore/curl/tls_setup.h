/** Sets up TLS for new connections, with the policy of the server or proxy. */
#ifndef AF_CURL_TLS_SETUP_H
#define AF_CURL_TLS_SETUP_H

#include "curl/driver_internal.h"

bool af__can_ask_proxies_over_tls(void);

/** Sets libcurl's options for TLS to servers, once per handle. */
CURLcode af__exchange_set_tls(af__exchange *exchange);

/** Sets libcurl's options for TLS to proxies, which no request changes. */
CURLcode af__exchange_set_proxy_tls(af__exchange *exchange);

/** CURLOPT_SSL_CTX_FUNCTION; the context is an exchange. */
CURLcode af__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context);

/** Attaches the peer of a pooled connection, which another exchange verified when it was made. */
void af__exchange_attach_peer(af__exchange *exchange);

#endif
