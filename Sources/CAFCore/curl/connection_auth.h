/** NTLM and Negotiate, which authenticate a connection. */
#ifndef AF_CURL_CONNECTION_AUTH_H
#define AF_CURL_CONNECTION_AUTH_H

#include "curl/driver_internal.h"

/** Returns which of AF_AUTH_NTLM and AF_AUTH_NEGOTIATE this libcurl supports. */
unsigned af__connection_schemes(void);

/** Sets the credentials that libcurl authenticates the connection with, if there are any. */
void af__exchange_set_auth(af__exchange *exchange);

/**
 * Does the same for the chosen proxy, and sets its Proxy-Authorization field. AF_ENOMEM, AF_EAUTH.
 */
af_status af__exchange_set_proxy_auth(af__exchange *exchange, af_failure *failure);

/** Overwrites the credentials that were sent. */
void af__exchange_forget_fields(af__exchange *exchange);

#endif
