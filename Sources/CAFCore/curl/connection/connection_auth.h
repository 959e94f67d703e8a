/** NTLM and Negotiate, which authenticate a connection. */
#ifndef AFC_CURL_CONNECTION_CONNECTION_AUTH_H
#define AFC_CURL_CONNECTION_CONNECTION_AUTH_H

#include "curl/driver.h"

/** Returns which of AFC_AUTH_NTLM and AFC_AUTH_NEGOTIATE this libcurl supports. */
unsigned afc__connection_schemes(void);

/** Sets the credentials that libcurl authenticates the connection with, if there are any. */
void afc__exchange_set_auth(afc__exchange *exchange);

/**
 * Does the same for the chosen proxy, and sets its Proxy-Authorization field. AFC_ENOMEM, AFC_EAUTH.
 */
afc_status afc__exchange_set_proxy_auth(afc__exchange *exchange, afc_failure *failure);

#endif
