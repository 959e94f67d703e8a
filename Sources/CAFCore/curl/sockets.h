/** What libcurl asks of the loop. */
#ifndef AF_CURL_SOCKETS_H
#define AF_CURL_SOCKETS_H

#include "curl/driver_internal.h"

/** libcurl's callbacks for opening and closing sockets. */
curl_socket_t af__driver_open_socket(void *exchange, curlsocktype purpose,
                                     struct curl_sockaddr *address);
int af__driver_close_socket(void *driver, curl_socket_t descriptor);

/** Have libcurl use the loop of the driver. false: it refuses. */
bool af__driver_use_loop(af__driver *driver);

/** The exchange is about to be freed. */
void af__driver_forget_exchange(af__driver *driver, const af__exchange *exchange);

/** No socket belongs to an exchange any more: what is in it when it is closed is nobody's. */
void af__driver_forget_last(af__driver *driver);

/** libcurl has closed all of them. */
void af__driver_free_sockets(af__driver *driver);

#endif
