/**
 * Sets up TLS for new connections, with the trust policy for servers or proxies, and finds the TLS peer of pooled ones.
 * Loop thread only.
 */
#ifndef AFC_CURL_CONNECTION_TLS_SETUP_H
#define AFC_CURL_CONNECTION_TLS_SETUP_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Returns whether libcurl supports https proxies. */
bool afc__can_ask_proxies_over_tls(void);

/** Sets libcurl's options for TLS to servers, once per handle. */
CURLcode afc__exchange_set_tls(afc__exchange *exchange);

/** Sets libcurl's options for TLS to proxies, which no request changes. */
CURLcode afc__exchange_set_proxy_tls(afc__exchange *exchange);

/** CURLOPT_SSL_CTX_FUNCTION, whose context is an exchange. */
CURLcode afc__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context);

/**
 * Sets exchange->peer to the TLS peer of the hop's connection, also of a pooled one, whose chain was verified when
 * another exchange made it, and whether the connection is multiplexed.
 */
void afc__exchange_attach_peer(afc__exchange *exchange);

#endif
