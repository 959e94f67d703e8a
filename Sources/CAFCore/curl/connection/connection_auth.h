/** Authentication of connections: NTLM and Negotiate, which libcurl does. Loop thread only, unless stated otherwise. */
#ifndef AFC_CURL_CONNECTION_CONNECTION_AUTH_H
#define AFC_CURL_CONNECTION_CONNECTION_AUTH_H

#include "curl/driver.h"

/** Returns which of AFC_AUTH_NTLM and AFC_AUTH_NEGOTIATE this libcurl supports. Any thread. */
unsigned afc__connection_schemes(void);

/**
 * Sets the credentials that libcurl authenticates the connection to the server with, if the transfer has any for NTLM
 * or Negotiate.
 */
void afc__exchange_set_auth(afc__exchange *exchange);

/**
 * Does the same for the connection to the chosen proxy, and sets the Proxy-Authorization field. Fails with AFC_ENOMEM,
 * or AFC_EAUTH if the credentials can't be used.
 */
afc_status afc__exchange_set_proxy_auth(afc__exchange *exchange, afc_failure *failure);

#endif
