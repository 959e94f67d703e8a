/**
 * Which exchanges a socket names, and which sockets name an exchange: so that neither a new connection nor the end of a
 * handle looks at every socket of the session.
 */
#ifndef AFC_CURL_SOCKET_LINKS_H
#define AFC_CURL_SOCKET_LINKS_H

#include "curl/driver_internal.h"

/* They set afc__socket.exchange, .last and .opener; NULL: none. */
void afc__socket_set_exchange(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_last(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_opener(afc__socket *socket, afc__exchange *exchange);

/** Removes an exchange from all sockets, before it is freed. */
void afc__exchange_forget_sockets(afc__exchange *exchange);

#endif
