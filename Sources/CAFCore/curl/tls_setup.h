/** Connections that are about to begin TLS, and whose policy goes for them. */
#ifndef AF_CURL_TLS_SETUP_H
#define AF_CURL_TLS_SETUP_H

#include "curl/driver_internal.h"

bool af__can_ask_proxies_over_tls(void);

/** Sets what libcurl needs for TLS to servers, once for each handle. */
CURLcode af__exchange_set_tls(af__exchange *exchange);

/** What libcurl has to know of TLS to proxies and of none of its requests. */
CURLcode af__exchange_set_proxy_tls(af__exchange *exchange);

/** CURLOPT_SSL_CTX_FUNCTION; the context is an exchange. */
CURLcode af__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context);

/** A connection from the pool was judged when it was made, by another exchange. */
void af__exchange_attach_peer(af__exchange *exchange);

#endif
