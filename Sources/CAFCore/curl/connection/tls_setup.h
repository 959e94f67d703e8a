/** Sets up TLS for new connections, with the policy of the server or proxy. */
#ifndef AFC_CURL_CONNECTION_TLS_SETUP_H
#define AFC_CURL_CONNECTION_TLS_SETUP_H

#include "curl/driver.h"

#include <curl/curl.h>

bool afc__can_ask_proxies_over_tls(void);

/** Sets libcurl's options for TLS to servers, once per handle. */
CURLcode afc__exchange_set_tls(afc__exchange *exchange);

/** Sets libcurl's options for TLS to proxies, which no request changes. */
CURLcode afc__exchange_set_proxy_tls(afc__exchange *exchange);

/** CURLOPT_SSL_CTX_FUNCTION; the context is an exchange. */
CURLcode afc__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context);

/** Attaches the peer of a pooled connection, which another exchange verified when it was made. */
void afc__exchange_attach_peer(afc__exchange *exchange);

#endif
