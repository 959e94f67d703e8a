/** NTLM and Negotiate, which authenticate a connection. */
#ifndef AF_CURL_CONNECTION_AUTH_H
#define AF_CURL_CONNECTION_AUTH_H

#include "curl/driver_internal.h"

/** Which of AF_AUTH_NTLM and AF_AUTH_NEGOTIATE this libcurl has. */
unsigned af__connection_schemes(void);

/** Tell libcurl for whom to authenticate the connection, if for anybody. */
void af__exchange_set_auth(af__exchange *exchange);

/** The same for the proxy, which was chosen, and its field. AF_ENOMEM, AF_EAUTH. */
af_status af__exchange_set_proxy_auth(af__exchange *exchange, af_failure *failure);

/** Overwrite what was sent of credentials. */
void af__exchange_forget_fields(af__exchange *exchange);

#endif
